"""Theorem 1 carried out under the value oracle with the exact sizes (C = C' = 1): promises, queries, angles.

    python -m benchmarks.paper.theorem_run [--d 3 --delta 0.16] [--d 10 --delta 0.3] [--beta 1] [--rho 0.5] [--seeds 1]
                                     [--jobs 1] [--save]

A row is one run of ``gradsift paper run --d D --delta DELTA --seed SEED``.
"""

from __future__ import annotations

import argparse
from typing import Any

from joblib import Parallel, delayed

from benchmarks.record import save
from gradsift.paper.method.theorem_run import run_theorem
from gradsift.paper.theory import Problem


def run(d: int, delta: float, beta: float, rho: float, seed: int) -> dict[str, Any]:
    """Return one row."""
    done = run_theorem(Problem(d, 2, beta, 1.0, 0.5), delta=delta, rho=rho, seed=seed)
    claims = {c.what: c for c in done.report.claims}
    return {
        "d": d, "k": 2, "beta": beta, "delta": delta, "rho": rho, "seed": seed,
        "queries": done.n_queries, "promises kept": done.holds, "candidates": done.n_candidates,
        "spurious": claims["spurious candidates at most"].measured,
        "largest distance": round(max(c.measured for w, c in claims.items() if "distance" in w), 4),
        "promised distance": round(6 * delta, 4),
        "centres within (degrees)": round(float(done.angles.max()), 2), "seconds": round(done.seconds, 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--d", type=int, action="append", help="inputs; may be given several times")
    parser.add_argument("--delta", type=float, action="append", help="accuracy for each --d")
    parser.add_argument("--beta", type=float, default=1.0)
    parser.add_argument("--rho", type=float, default=0.5)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    shapes = zip(options.d or (3, 10), options.delta or (0.16, 0.3))
    tasks = [(d, delta, options.beta, options.rho, seed) for d, delta in shapes for seed in range(1, options.seeds + 1)]
    rows = []
    for row in Parallel(options.jobs, return_as="generator")(delayed(run)(*task) for task in tasks):
        rows.append(row)
        print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    if options.save:
        print(save("theorem_run", {"rows": rows}))


if __name__ == "__main__":
    main()
