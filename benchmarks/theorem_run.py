"""Theorem 1 carried out under the value oracle with the exact sizes (C = C' = 1): promises, queries, angles.

python benchmarks/theorem_run.py [--d 3 --delta 0.16] [--d 10 --delta 0.3] [--beta 1] [--rho 0.5] [--seeds 1] [--save]
"""

from __future__ import annotations

import argparse

from gradsift.paper_method.theorem_run import run_theorem
from gradsift.theory import Problem
from record import save


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--d", type=int, action="append", help="inputs; may be given several times")
    parser.add_argument("--delta", type=float, action="append", help="accuracy for each --d")
    parser.add_argument("--beta", type=float, default=1.0)
    parser.add_argument("--rho", type=float, default=0.5)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    rows = []
    for d, delta in zip(options.d or (3, 10), options.delta or (0.16, 0.3)):
        for seed in range(1, options.seeds + 1):
            run = run_theorem(Problem(d, 2, options.beta, 1.0, 0.5), delta=delta, rho=options.rho, seed=seed)
            claims = {c.what: c for c in run.report.claims}
            rows.append({
                "d": d, "k": 2, "beta": options.beta, "delta": delta, "rho": options.rho, "seed": seed,
                "queries": run.n_queries, "promises kept": run.holds, "candidates": run.n_candidates,
                "spurious": claims["spurious candidates at most"].measured,
                "largest distance": round(max(c.measured for w, c in claims.items() if "distance" in w), 4),
                "centres within (degrees)": round(float(run.angles.max()), 2), "seconds": round(run.seconds, 1),
            })  # fmt: skip
            print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    if options.save:
        print(save("theorem_run", {"rows": rows}))


if __name__ == "__main__":
    main()
