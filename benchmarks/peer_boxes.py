"""Exact black boxes, ours beside the peers that may query: queries per unknown, success, worst error, CPU time.

    python benchmarks/peer_boxes.py [--seeds 10] [--sizes 5,2 10,3 ...] [--only TEXT] [--more FOLDER] [--tune]
                                    [--jobs 1] [--save]

Random tanh networks with offsets and slopes of 2. Peers are the files of benchmarks/rivals that take a box; they are
told the number of units, gradsift is not. A run succeeds if every unit is within 0.01 of its match (0.6 degrees).
--tune compares the options that a peer names on seeds from 1000 on; the table uses seeds from 0.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

import gradsift as gs
from gradsift.simulate import random_combination
from record import save_parts
from rivals import Peer, peers

SIZES = ((5, 2), (10, 3), (10, 10), (20, 5), (20, 10), (50, 10))
SUCCESS = 0.01
PUBLISHED = [
    {"method": "ReLU extraction (Carlini, Jagielski and Mironov 2020)", "network": "784-32-1", "queries": "2^19.2"},
    {"method": "ReLU extraction (Carlini, Jagielski and Mironov 2020)", "network": "784-128-1", "queries": "2^21.5"},
    {"method": "Expand-and-Cluster (Martinelli et al. 2024)", "network": "150 tasks", "success": "80%"},
    {"method": "Sequencing the Neurome", "success": "about two thirds, without telling when"},
]  # fmt: skip


class Run(NamedTuple):
    """One method on one box."""

    error: float
    queries: int
    seconds: float


def ours(ask, d, k, rng):
    """Return the units that `recover` certifies, none where it does not; k is not used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = gs.recover(gs.Oracle(ask, d), random_state=rng)
        except gs.errors.GradsiftError:
            return np.empty((0, d))
    return found.model.units if found.certified else np.empty((0, d))


def run_one(peer: Peer, d: int, k: int, seed: int, options: dict[str, Any]) -> Run:
    """Ask one box; network and method have streams of their own."""
    model = random_combination(d, k, slope=2.0, offsets=True, rng=np.random.default_rng([seed, d, k, 1]))
    asked = 0

    def ask(X: np.ndarray) -> np.ndarray:
        nonlocal asked
        asked += len(X)
        return model.predict(X)

    start = time.process_time()
    units = peer.run(ask, d, k, np.random.default_rng([seed, d, k, 2]), **options)
    seconds = time.process_time() - start
    error = gs.match_units(units, model.units).max_error if len(units) else np.inf
    return Run(error, asked, seconds)


def measured(runs: list[Run], d: int, k: int) -> dict[str, Any]:
    """Return what a row tells of some runs."""
    errors = np.array([run.error for run in runs])
    return {
        "success": f"{int(np.sum(errors <= SUCCESS))} of {len(runs)}",
        "queries per unknown": round(float(np.median([run.queries for run in runs])) / (k * (d + 2) + 1), 2),
        "median error": float(f"{np.median(errors):.1e}"), "worst error": float(f"{errors.max():.1e}"),
        "CPU seconds": round(float(np.median([run.seconds for run in runs])), 2),
    }  # fmt: skip


def table(methods: list[Peer], sizes: list[tuple[int, int]], seeds: range, jobs: int) -> list[dict[str, Any]]:
    """Return one row for each size and method; ours beside the best peer, by successes and then by queries."""
    rows = []
    for d, k in sizes:
        mine = []
        for peer in methods:
            row: dict[str, Any] = {"inputs": d, "units": k, "method": peer.name}
            if peer.missing:
                row["not installed"] = ", ".join(peer.missing)
            else:
                runs = Parallel(jobs)(delayed(run_one)(peer, d, k, seed, {}) for seed in seeds)
                row |= measured(runs, d, k)
                mine.append(row)
            rows.append(row)
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
        others = [row for row in mine if row["method"] != "ours"]
        own = next((row for row in mine if row["method"] == "ours"), None)
        if own and others:
            best = min(others, key=lambda row: (-int(row["success"].split()[0]), row["queries per unknown"]))
            own |= {"best peer": best["method"]}
            for name in ("queries per unknown", "CPU seconds"):
                own[f"{name}, over best peer's"] = float(f"{own[name] / best[name]:.2g}") if best[name] else None
    return rows


def tune(methods: list[Peer], sizes: list[tuple[int, int]], seeds: range, jobs: int) -> list[dict[str, Any]]:
    """Return the successes of every set of options that a peer names, over all sizes."""
    rows = []
    for peer in methods:
        for options in () if peer.missing else peer.tries:
            tasks = [(peer, d, k, seed, options) for d, k in sizes for seed in seeds]
            runs = Parallel(jobs)(delayed(run_one)(*task) for task in tasks)
            good = sum(run.error <= SUCCESS for run in runs)
            cost = float(np.mean([run.queries / (k * (d + 2) + 1) for run, (_, d, k, *_) in zip(runs, tasks)]))
            rows.append({"method": peer.name, **options, "success": f"{good} of {len(runs)}",
                         "queries per unknown": round(cost, 1)})  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--sizes", nargs="*", default=[f"{d},{k}" for d, k in SIZES], metavar="D,K")
    parser.add_argument("--only", default="", help="methods whose name contains this")
    parser.add_argument("--more", type=Path, nargs="*", default=[], metavar="FOLDER", help="further peers")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    if options.more and options.jobs > 1:
        parser.error("--more goes with one job: other processes do not know the folder.")
    sizes = [tuple(map(int, size.split(","))) for size in options.sizes]
    methods = [p for p in (*peers("box", *options.more), Peer("ours", ours, takes="box")) if options.only in p.name]
    if options.tune:
        result = {"tuning": tune(methods, sizes, range(1000, 1000 + options.seeds), options.jobs)}
    else:
        result = {"rows": table(methods, sizes, range(options.seeds), options.jobs), "published": PUBLISHED}
    if options.save:
        print(save_parts("peer_boxes", result))


if __name__ == "__main__":
    main()
