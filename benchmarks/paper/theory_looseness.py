"""How far the theorems' sample sizes are from what is measured, and from what any method needs.

For orthonormal units, equal mixture weights and labels -1, +1 (the noisiest responses that M = 1 allows):
theorem 1 as repaired, theorem 1 with our exact parameters, theorems for Gaussian rows, the queries that the paper's
value-oracle estimator was seen to need, and the Cramer-Rao bound.

    python -m benchmarks.paper.theory_looseness [--quick] [--out FILE]
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
from pathlib import Path

import numpy as np
import scipy

import gradsift as gs
from benchmarks.record import COMMITTED, commit
from gradsift.geometry import normalize_rows

RHO, POINT_SCALE, N_POINTS = 0.5, 40.0, 1000


def literal_error(k: int, d: int, beta: float, n0: int, rng: np.random.Generator) -> float:
    """Largest unit error of one run of voestimate and the norm filter, clusters assigned with the truth in hand.

    Assigning by the truth is kind to the method: what it needs is a floor for the whole pipeline.
    """
    units, points = np.eye(d)[:k], POINT_SCALE * rng.standard_normal((N_POINTS, d))
    estimates = np.empty((N_POINTS, d))
    for i, point in enumerate(points):
        g = rng.standard_normal((n0, d))
        r = np.tanh(beta * (point + g) @ units.T).mean(axis=1)
        estimates[i] = np.where(rng.random(n0) < 0.5 * (1 + r), 1.0, -1.0) @ g / n0
    longest = np.argsort(-np.linalg.norm(estimates, axis=1))[: 10 * k]
    kept = estimates[longest]
    nearest = (normalize_rows(kept) @ units.T).argmax(axis=1)
    errors = []
    for unit in range(k):
        mine = kept[nearest == unit]
        if not len(mine):
            return math.inf
        errors.append(float(np.linalg.norm(normalize_rows(mine.sum(axis=0)[None])[0] - units[unit])))
    return max(errors)


def measured_queries(k: int, d: int, beta: float, target: float, seeds: range, most: int) -> int | None:
    """Queries in all at which the median error over the seeds first reaches the target, n0 doubling; None beyond."""
    n0 = 25
    while n0 <= most:
        errors = [literal_error(k, d, beta, n0, np.random.default_rng([seed, n0])) for seed in seeds]
        if float(np.median(errors)) <= target:
            return n0 * N_POINTS
        n0 *= 2
    return None


def row(d: int, k: int, beta: float, delta: float, seeds: range, most: int) -> dict[str, float | int | None]:
    """One problem: decimal logarithms of every sample size."""
    problem = gs.Problem(d=d, k=k, beta=beta, kappa=1.0, u0=1 / k, M=1.0)
    sizes: dict[str, float | int | None] = {"d": d, "k": k, "beta": beta, "delta": delta}
    for scheme in ("oracle", "gaussian", "projected"):
        for form in ("repaired", "exact"):
            sizes[f"{scheme}_{form}"] = gs.plan(problem, scheme, delta=delta, rho=RHO, form=form).n.log10
    plan = gs.plan(problem, delta=delta, rho=RHO)
    queries = measured_queries(k, d, beta, plan.radius, seeds, most)
    sizes["measured"] = None if queries is None else math.log10(queries)
    sizes["cramer_rao"] = plan.practical.log10
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one small problem")
    parser.add_argument("--out", type=Path, default=COMMITTED / "theory_looseness.json")
    options = parser.parse_args()
    cases = [(5, 2, 1.0)] if options.quick else [(10, 2, 0.5), (10, 2, 1.0), (10, 2, 3.0), (10, 3, 1.0), (40, 2, 1.0)]
    seeds, most = (range(100, 102), 400) if options.quick else (range(100, 109), 6400)
    rows = [row(d, k, beta, 0.05, seeds, most) for d, k, beta in cases]
    print("decimal logarithms; delta = 0.05, so units within 0.3; measured: median of", len(seeds), "runs")
    for r in rows:
        print("  ".join(f"{name} {'-' if v is None else f'{v:.6g}'}" for name, v in r.items()))
    report = {
        "rows": rows,
        "settings": {"rho": RHO, "point_scale": POINT_SCALE, "n_points": N_POINTS, "seeds": list(seeds)},
        "machine": {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()},
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
        "date": datetime.date.today().isoformat(),
    }
    options.out.write_text(json.dumps({"commit": commit(), **report}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
