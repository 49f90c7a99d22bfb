"""Black boxes with imperfect answers: success, queries, certificates; beside a passive student and the paper's method.

Each row is one setting, measured on fresh networks (slopes 1 to 3, offsets N(0, 1), |weights| 0.3 to 1). `right` counts
runs with the right number of units and all directions within the target; `certified wrong` counts certificates on the
others. The passive student gets as many random inputs, N(0, 4), as the method asked, the right number of units and the
noise; it is the same student, without levers. The last table has the paper's value-oracle estimator on one setting:
queries until its best directions are within 0.1, on a doubling schedule up to a limit.

Run with one BLAS thread: ``OMP_NUM_THREADS=1 python benchmarks/black_box_noisy.py --runs 20 --save``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import gradsift as gs
from gradsift.activations import get_activation
from gradsift.identify import Identification
from gradsift.identify.bounded import identify_bounded
from gradsift.identify.imperfect import identify_imperfect
from gradsift.identify.imperfect.fit import Noise
from gradsift.identify.imperfect.student import study
from record import save


@dataclass(frozen=True)
class Cell:
    """One setting; `answers` is a standard deviation, a number of decimals, "float32", "labels" or "exact"."""

    name: str
    k: int
    d: int
    answers: float | str
    target: float
    decimals: int | None = None
    bounds: tuple[float, float] | None = None
    passive: bool = False


CELLS = [
    Cell("sd .1 k3d20 .1", 3, 20, 0.1, 0.1, passive=True),
    Cell("sd .1 k3d20 .01", 3, 20, 0.1, 0.01, passive=True),
    Cell("sd .1 k3d20 .001", 3, 20, 0.1, 1e-3, passive=True),
    Cell("sd .1 k3d20 1e-6", 3, 20, 0.1, 1e-6),
    Cell("sd .1 k2d10 .1", 2, 10, 0.1, 0.1, passive=True),
    Cell("sd .1 k5d20 .1", 5, 20, 0.1, 0.1, passive=True),
    Cell("sd .1 k5d50 .1", 5, 50, 0.1, 0.1),
    Cell("sd .1 k8d20 .1", 8, 20, 0.1, 0.1),
    Cell("float32 k3d10", 3, 10, "float32", 1e-5),
    Cell("5 decimals k3d10", 3, 10, "rounded", 5e-4, decimals=5),
    Cell("4 decimals k3d10", 3, 10, "rounded", 5e-3, decimals=4),
    Cell("2 decimals k5d20", 5, 20, "rounded", 0.01, decimals=2),
    Cell("labels k2d10", 2, 10, "labels", 0.1),
    Cell("box 5 k3d10", 3, 10, "exact", 1e-8, bounds=(-5, 5)),
    Cell("box 5 k8d10", 8, 10, "exact", 1e-8, bounds=(-5, 5)),
    Cell("box 5 k3d10 sd .1", 3, 10, 0.1, 0.1, bounds=(-5, 5)),
]


def teacher(cell: Cell, rng: np.random.Generator) -> gs.SigmoidCombination:
    """Draw a network; for labels its weights sum to one in absolute value."""
    units = rng.standard_normal((cell.k, cell.d))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    weights = rng.choice([-1.0, 1.0], cell.k) * rng.uniform(0.3, 1, cell.k)
    slopes = np.exp(rng.uniform(0, np.log(3), cell.k))
    if cell.answers == "labels":
        return gs.SigmoidCombination(units, weights / np.abs(weights).sum(), slopes, 0.5 * rng.standard_normal(cell.k))
    return gs.SigmoidCombination(units, weights, slopes, rng.standard_normal(cell.k), rng.standard_normal())


def answering(cell: Cell, model: gs.SigmoidCombination, rng: np.random.Generator) -> Callable[[Any], Any]:
    """Return the oracle's function."""

    def function(X: Any) -> Any:
        r = model.predict(X)
        if cell.answers == "labels":
            return np.where(rng.random(len(r)) < 0.5 * (1 + r), 1.0, -1.0)
        if cell.answers == "float32":
            return r.astype(np.float32)
        if cell.decimals is not None:
            return np.round(r, cell.decimals)
        return r if cell.answers == "exact" else r + float(cell.answers) * rng.standard_normal(len(r))

    return function


def identify(cell: Cell, oracle: gs.Oracle, seed: int) -> Identification:
    """Run the method that suits the oracle."""
    method = identify_imperfect if cell.bounds is None else identify_bounded
    return method(oracle, "tanh", seed, accuracy=None if cell.answers in ("exact", "float32") else cell.target)


def passive_error(cell: Cell, model: gs.SigmoidCombination, n: int, seed: int) -> float:
    """Return the largest direction error of a student that knows k and the noise and draws its n inputs at random."""
    rng = np.random.default_rng([5, seed])
    X = 2 * rng.standard_normal((n, cell.d))
    y = model.predict(X) + float(cell.answers) * rng.standard_normal(n)
    lesson = study(X, y, Noise(float(cell.answers)), get_activation("tanh"), cell.k + 3, 2.0, rng)
    return gs.match_units(lesson.fitted.theta.A, model.units).max_error


def measure(cell: Cell, runs: int, seed: int) -> dict[str, Any]:
    """Run one cell on fresh networks."""
    right = lies = covered = passive_right = failed = 0
    queries, errors, passive_errors = [], [], []
    started = time.process_time()
    for run in range(runs):
        rng = np.random.default_rng([seed, run, cell.k, cell.d])
        model = teacher(cell, rng)
        function = answering(cell, model, np.random.default_rng(rng.integers(2**62)))
        oracle = gs.Oracle(function, cell.d, bounds=cell.bounds, max_queries=200_000)
        try:
            found = identify(cell, oracle, run)
        except gs.errors.GradsiftError:
            failed += 1
            continue
        match = gs.match_units(found.model.units, model.units)
        good = found.model.n_units == cell.k and match.max_error <= cell.target
        right += good
        lies += bool(found.certified and not good)
        queries.append(oracle.n_queries)
        errors.append(match.max_error)
        if found.model.n_units == cell.k:
            covered += bool((match.errors[np.argsort(match.order)] <= found.error_bounds).all())
        if cell.passive:
            passive_errors.append(passive_error(cell, model, oracle.n_queries, run))
            passive_right += passive_errors[-1] <= cell.target
    unknowns = cell.k * (cell.d + 2) + 1
    return {
        "name": cell.name, "runs": runs, "right": right, "certified_wrong": lies, "raised": failed,
        "median_queries": float(np.median(queries)) if queries else None, "most_queries": max(queries, default=None),
        "queries_per_unknown": float(np.median(queries)) / unknowns if queries else None,
        "median_error": float(np.median(errors)) if errors else None, "cones_held": covered,
        "passive_right": passive_right if cell.passive else None,
        "passive_median_error": float(np.median(passive_errors)) if passive_errors else None,
        "cpu_seconds": (time.process_time() - started) / runs,
    }  # fmt: skip


def paper_queries(k: int, d: int, limit: int, seed: int) -> dict[str, Any]:
    """Double the queries of the paper's method until its directions are within 0.1, or until a limit."""
    cell = Cell("paper", k, d, 0.1, 0.1)
    rng = np.random.default_rng([seed, k, d])
    model = teacher(cell, rng)
    per_point = 250
    error = np.inf
    while 200 * per_point <= limit:
        oracle = gs.Oracle(answering(cell, model, rng), d)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = gs.recover(
                    oracle, k, method="paper", random_state=0, n_points=200, n_queries_per_point=per_point,
                    point_scale=4.0 * np.sqrt(d), top=20 * k,
                )  # fmt: skip
                error = gs.match_units(found.model.units, model.units).max_error
            except gs.errors.GradsiftError:
                error = np.inf
        if error <= 0.1:
            break
        per_point *= 2
    return {"k": k, "d": d, "queries": oracle.n_queries, "error": float(error), "reached": bool(error <= 0.1)}


def show(row: dict[str, Any]) -> None:
    """Print one line of the table."""
    passive = "" if row["passive_right"] is None else f"{row['passive_right']:>3} {row['passive_median_error']:9.2g}"
    queries = "-" if row["median_queries"] is None else f"{row['median_queries']:.0f}"
    error = "-" if row["median_error"] is None else f"{row['median_error']:.2g}"
    per = "-" if row["queries_per_unknown"] is None else f"{row['queries_per_unknown']:.2f}"
    print(
        f"{row['name']:<20} {row['right']:>3}/{row['runs']:<3} {row['certified_wrong']:>5} {queries:>8} {per:>6} "
        f"{error:>9} {row['cones_held']:>5} {row['cpu_seconds']:6.1f}  {passive}",
        flush=True,
    )


def main() -> None:
    """Measure, print, and save on request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=2026, help="reporting seed; tuning used 1 to 11")
    parser.add_argument("--cells", nargs="*", help="only cells whose name contains one of these")
    parser.add_argument("--paper-limit", type=int, default=1_000_000)
    parser.add_argument("--save", action="store_true")
    arguments = parser.parse_args()
    chosen = [c for c in CELLS if not arguments.cells or any(part in c.name for part in arguments.cells)]
    print(
        f"{'setting':<20} {'right':>7} {'lies':>5} {'queries':>8} {'per N':>6} {'error':>9} {'held':>5} {'cpu s':>6}"
        "  passive right, error"
    )
    rows = []
    for cell in chosen:
        rows.append(measure(cell, arguments.runs, arguments.seed))
        show(rows[-1])
    paper = paper_queries(3, 10, arguments.paper_limit, arguments.seed)
    outcome = "reached 0.1" if paper["reached"] else f"error {paper['error']:.2f}, 0.1 not reached"
    print(f"the paper's value oracle, sd .1 k3d10: {paper['queries']} queries, {outcome}")
    if arguments.save:
        save("black_box_noisy", {"seed": arguments.seed, "rows": rows, "paper": paper})


if __name__ == "__main__":
    main()
