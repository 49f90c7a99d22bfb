"""Sample sizes before and after the tight plan, in orders of magnitude, all with proved constants.

    python -m benchmarks.paper.tight_plan [--save]

Orthonormal units, weights 1/k, M = 1, rho = 0.5; decimal logarithms. Those of sunthm are left at 1.
"""

from __future__ import annotations

import argparse

import gradsift as gs
from benchmarks.record import save
from gradsift.paper.theory.bounds import THEOREM_CONSTANTS

CASES = [(3, 2, 1.0, 0.16), (10, 2, 1.0, 0.3), (10, 2, 0.5, 0.05), (10, 2, 1.0, 0.05), (10, 2, 3.0, 0.05),
         (10, 3, 1.0, 0.05), (40, 2, 1.0, 0.05), (400, 2, 1.0, 0.05)]  # fmt: skip


def row(d: int, k: int, beta: float, delta: float) -> dict[str, float]:
    """Return log10 of n for every scheme and form."""
    problem = gs.Problem(d, k, beta, 1.0, 1 / k)
    found: dict[str, float] = {"d": d, "k": k, "beta": beta, "delta": delta}
    for scheme in ("oracle", "gaussian", "projected"):
        for form in ("repaired", "exact", "tight"):
            constants = None if form == "tight" else THEOREM_CONSTANTS
            made = gs.plan(problem, scheme, delta=delta, rho=0.5, form=form, constants=constants)
            found[f"{scheme}, {form}"] = round(made.n.log10, 1)
    for form in ("repaired", "tight"):
        n1 = gs.plan(problem, "projected", delta=delta, rho=0.5, form=form).n1
        assert n1 is not None
        found[f"n1, {form}"] = round(n1.log10, 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=None, help="only so many cases")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    rows = [row(*case) for case in CASES[: options.first]]
    for found in rows:
        print("  ".join(f"{name} {value:g}" for name, value in found.items()))
    gained = [r["oracle, repaired"] - r["oracle, tight"] for r in rows]
    print(f"orders of magnitude gained, oracle: {min(gained):.1f} to {max(gained):.1f}")
    if options.save:
        print(save("tight_plan", {"rows": rows}))


if __name__ == "__main__":
    main()
