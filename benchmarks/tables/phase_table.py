"""Where a table holds enough rows: success over the number of rows n and of units k, ours beside scikit-learn's MLP.

    python -m benchmarks.tables.phase_table [--rows 200 500 ...] [--units 1 2 ...] [--seeds 20] [--jobs 1] [--save]

Random units of slope 3 in 10 dimensions, noise half as large as the signal. gradsift finds the number of units
itself; the MLP (tanh, L-BFGS, best of 5 starts) is told it. Success: the right number of units, each within 0.2 of its
match (11 degrees). Wrong: certified with another number of units. Model, rows and methods have streams of their own.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

import gradsift as gs
from benchmarks.peers.methods.sklearn_mlp import sklearn_mlp
from benchmarks.record import save
from gradsift.errors import UncertifiedWarning

ROWS = (100, 200, 500, 1000, 2000, 5000, 10_000)
UNITS = (1, 2, 3, 4, 6, 8, 10)
INPUTS, SLOPE, NOISE, FOUND = 10, 3.0, 0.5, 0.2  # noise: over the standard deviation of the signal


class Run(NamedTuple):
    """One table, ours and the peer's."""

    ours: bool
    peer: bool
    certified: bool
    wrong: bool
    seconds: float
    peer_seconds: float


def run_one(n: int, k: int, seed: int) -> Run:
    """Draw a table and fit it both ways."""
    model = gs.simulate.random_combination(INPUTS, k, slope=SLOPE, rng=np.random.default_rng([seed, n, k, 1]))
    signal = model.sample(5000, None, rng=np.random.default_rng([seed, n, k, 5]))[1]
    X, y = model.sample(n, NOISE * float(signal.std()), rng=np.random.default_rng([seed, n, k, 2]))
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)
        try:
            found = gs.recover((X, y), random_state=np.random.default_rng([seed, n, k, 3]))
        except gs.errors.GradsiftError:
            found = None
    seconds = time.process_time() - start
    units = found.model.units if found is not None else np.empty((0, INPUTS))
    certified = found is not None and found.certified
    start = time.process_time()
    peer = sklearn_mlp(X, y, k, np.random.default_rng([seed, n, k, 4]))
    peer_seconds = time.process_time() - start
    return Run(reached(units, model.units), reached(peer, model.units), certified,
               certified and len(units) != k, seconds, peer_seconds)  # fmt: skip


def reached(units: np.ndarray, truth: np.ndarray) -> bool:
    """Whether there are as many units as there should be, each near its own."""
    return len(units) == len(truth) and gs.match_units(units, truth).max_error <= FOUND


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[*ROWS])
    parser.add_argument("--units", type=int, nargs="*", default=[*UNITS])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    cells = [(n, k) for k in options.units for n in options.rows]
    tasks = [(n, k, seed) for n, k in cells for seed in range(options.seeds)]
    runs = Parallel(options.jobs, return_as="generator")(delayed(run_one)(*task) for task in tasks)
    rows: list[dict[str, Any]] = []
    for n, k in cells:
        mine = [next(runs) for _ in range(options.seeds)]
        rows.append({
            "n": n, "k": k, "tables": options.seeds, "ours": sum(r.ours for r in mine),
            "scikit-learn's MLP": sum(r.peer for r in mine), "certified": sum(r.certified for r in mine),
            "certified but wrong": sum(r.wrong for r in mine), "seconds": float(np.mean([r.seconds for r in mine])),
            "MLP's seconds": float(np.mean([r.peer_seconds for r in mine])),
        })  # fmt: skip
        print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    if options.save:
        print(save("phase_table", {"rows": rows}))


if __name__ == "__main__":
    main()
