"""The paper's method at its row defaults: tuned, then measured on other seeds beside permuted answers.

    python -m benchmarks.paper.paper_defaults [--seeds 4] [--rows 200000] [--tune] [--demo 20] [--jobs 1] [--save]

Cells are d = 3 to 20, k = 2 to 4, slopes 1 to 5, values (noise 0.1) and labels; angles in degrees of the worst unit
to its match. --tune compares reaches and active widths on tuning seeds (1000 on); the report uses seeds from 0. --demo
repeats the demo's literal rows at its own size.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed

import gradsift as gs
from benchmarks.record import save_parts
from gradsift.errors import LowSupportWarning, UncertifiedWarning
from gradsift.paper.method.literal import ROW_POLICY, RowPolicy, row_options
from gradsift.simulate import random_combination

CELLS = [(3, 2, 1.0), (3, 3, 2.0), (5, 2, 5.0), (5, 3, 2.0), (10, 2, 2.0), (10, 2, 4.0), (10, 3, 5.0), (10, 4, 3.0),
         (20, 2, 1.0), (20, 3, 4.0)]  # fmt: skip
QUICK = CELLS[:1]


def teacher(d: int, k: int, slope: float, labels: bool, seed: int) -> gs.SigmoidCombination:
    """Return a model of smallest singular value 0.7; mixture weights for labels, signed ones for values."""
    rng = np.random.default_rng([seed, d, k, 1])
    return random_combination(d, k, slope=slope, min_singular_value=0.7, mixture=labels, min_weight=0.7, rng=rng)


def worst_angle(units: np.ndarray, truth: np.ndarray) -> float:
    """Return the largest angle of a matched pair, in degrees."""
    return float(np.degrees(2 * np.arcsin(min(1.0, gs.match_units(units, truth).max_error / 2))))


def angle(
    cell: tuple[int, int, float], labels: bool, access: str, seed: int, n: int, permuted: bool, policy: RowPolicy
) -> float:
    """Return the angle of one run of the literal method."""
    d, k, slope = cell
    model = teacher(d, k, slope, labels, seed)
    X, y = model.sample(n, "labels" if labels else 0.1, rng=np.random.default_rng([seed, 2]))
    if permuted:
        y = np.random.default_rng([seed, 4]).permutation(y)
    n_points, scale, share = (
        row_options(n // 2, k, k, policy) if access == "projected" else row_options(n, d, k, policy)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)
        warnings.simplefilter("ignore", LowSupportWarning)
        found = gs.recover((X, y), k, method="paper", access=access, n_points=n_points, point_scale=scale,
                           top=round(share * n_points), random_state=np.random.default_rng([seed, 3]))  # fmt: skip
    return worst_angle(found.model.units, model.units)


def angles(tasks: list[tuple[object, ...]], jobs: int) -> list[float]:
    """Return the angles of some runs, in their order."""
    return list(Parallel(jobs)(delayed(angle)(*task) for task in tasks))


def report(cells: list[tuple[int, int, float]], seeds: range, n: int, jobs: int) -> list[dict[str, object]]:
    """Return one row for each cell, kind of answers and access: medians over the seeds, and the control."""
    rows = []
    for cell in cells:
        for labels in (False, True):
            row: dict[str, object] = {"d": cell[0], "k": cell[1], "slope": cell[2], "rows": n, "seeds": len(seeds),
                                      "answers": "labels" if labels else "values"}  # fmt: skip
            tasks = [(cell, labels, access, s, n, permuted, ROW_POLICY) for access in ("gaussian", "projected")
                     for permuted in (False, True) for s in (seeds[:2] if permuted else seeds)]  # fmt: skip
            found = dict(zip(tasks, angles(tasks, jobs)))
            for access in ("gaussian", "projected"):
                mine, control = ([a for task, a in found.items() if task[2] == access and task[5] is permuted]
                                 for permuted in (False, True))  # fmt: skip
                row[access] = round(float(np.median(mine)), 1)
                row[f"{access} within 30"] = sum(a <= 30 for a in mine) / len(mine)
                row[f"{access} permuted"] = round(float(np.median(control)), 1)
            rows.append(row)
            print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    return rows


def tune(cells: list[tuple[int, int, float]], seeds: range, n: int, jobs: int) -> list[dict[str, object]]:
    """Return the mean angle over all cells for each policy tried."""
    rows = []
    for reach in (0.75, 1.0, 1.5, 2.0, 3.0):
        for active in (1.0, 1.5, 2.5):
            policy = replace(ROW_POLICY, reach=reach, active=active)
            for access in ("gaussian", "projected"):
                tasks = [(c, labels, access, s, n, False, policy) for c in cells for labels in (False, True)
                         for s in seeds]  # fmt: skip
                found = angles(tasks, jobs)
                rows.append({"reach": reach, "active": active, "access": access, "mean angle": float(np.mean(found)),
                             "within 30": float(np.mean(np.array(found) <= 30))})  # fmt: skip
                print(rows[-1], flush=True)
    return rows


def demo_rows(seed: int, n_rows: int) -> list[tuple[str, float, bool]]:
    """Return method, angle and whether all units were matched, for the literal rows of one demo."""
    from gradsift.cli.demo import N_UNITS, compare

    literal = itertools.islice(compare(seed, n_rows), 3)  # they come first
    return [(row.method, row.angle, row.n_matched == N_UNITS) for row in literal]


def demo(n_seeds: int, n_rows: int, jobs: int) -> dict[str, object]:
    """Return on how many seeds both units lie within 30 degrees, for each of the demo's literal rows and for all."""
    runs = []
    for run in Parallel(jobs, return_as="generator")(delayed(demo_rows)(s, n_rows) for s in range(1, n_seeds + 1)):
        runs.append(run)
        print(f"seed {len(runs)}: " + ", ".join(f"{name} {found:.1f}" for name, found, _ in run), flush=True)
    rows = []
    for method in zip(*runs):  # one method over the seeds
        found, both = [a for _, a, _ in method], sum(matched for *_, matched in method)
        rows.append({
            "method": method[0][0], "seeds": n_seeds, "2 of 2 within 30 degrees": both,
            "median angle": round(float(np.median(found)), 1), "worst angle": round(max(found), 1),
        })  # fmt: skip
    together = sum(all(m for *_, m in run) for run in runs)
    print(f"all three methods: {together} of {n_seeds} seeds")
    return {"demo": rows, "demo seeds with all three methods": f"{together} of {n_seeds}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--quick", action="store_true", help="one cell")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--demo", type=int, default=0, metavar="SEEDS")
    parser.add_argument("--demo-rows", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    cells = QUICK if options.quick else CELLS[::3] if options.tune else CELLS
    if options.demo:
        result = demo(options.demo, options.demo_rows, options.jobs)
        for row in result["demo"]:
            print(row)
    elif options.tune:
        result = {"tuning": tune(cells, range(1000, 1000 + options.seeds), options.rows, options.jobs)}
    else:
        result = {"fresh_seeds": report(cells, range(options.seeds), options.rows, options.jobs)}
    print(
        "rule: point_scale = 2 sqrt(2 log n / D), 500 k points, the longest 1 - (1 - P(|Z| < 1.5 sqrt(D/(2 log n))))^k"
    )
    if options.save:
        print(save_parts("paper_defaults", result))


if __name__ == "__main__":
    main()
