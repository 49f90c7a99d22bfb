"""How many queries the paper's value-oracle method needs as the dimension grows.

Literal estimator (eq. voestimate), exact oracle, k = 3 orthonormal units with weights 1/3 and slope 1, xi0 = 40,
450 points, norms above 0.1 kept. For each d the queries per point are doubled until the median of the largest unit
error falls below 0.1; the crossing is interpolated in log-log.

    python -m benchmarks.paper.oracle_scaling [--seeds 9] [--save]
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import gradsift as gs
from benchmarks.record import log_log_slope, save

TARGET, POINTS, K = 0.1, 450, 3


def median_error(d: int, n0: int, seeds: int) -> float:
    errors = []
    for seed in range(seeds):
        units = gs.simulate.random_units(d, K, 1.0, rng=np.random.default_rng([11, d, seed]))
        model = gs.SigmoidCombination(units, np.full(K, 1 / K))
        try:
            found = gs.recover(
                gs.Oracle(model.predict, d), K, method="paper", slope=1.0, n_points=POINTS, point_scale=40.0,
                min_norm=0.1, n_queries_per_point=n0, random_state=np.random.default_rng([12, d, seed, n0]),
            )  # fmt: skip
            errors.append(gs.match_units(found.model.units, units).max_error)
        except gs.errors.CandidateShortage:
            errors.append(np.sqrt(2.0))
    return float(np.median(errors))


def queries_needed(d: int, seeds: int) -> dict:
    n0, trail = max(2, 8 * d), []
    for _ in range(12):  # at most 8 d 2^11 queries a point
        trail.append((n0, median_error(d, n0, seeds)))
        if trail[-1][1] < TARGET:
            break
        n0 *= 2
    if len(trail) < 2 or trail[-1][1] >= TARGET:
        raise SystemExit(
            f"d = {d}: no crossing of {TARGET} between {trail[0][0]} and {n0} queries a point; use more seeds."
        )
    (low, high_error), (high, low_error) = trail[-2:]
    share = np.log(high_error / TARGET) / np.log(high_error / low_error)
    crossing = float(low * (high / low) ** share)
    print(f"d = {d:4}: {POINTS * crossing:12,.0f} queries ({crossing:,.0f} a point)", flush=True)
    return {"d": d, "queries": POINTS * crossing, "trail": trail}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=9)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[5, 10, 20, 50, 100])
    parser.add_argument("--save", action="store_true", help="write results/oracle_scaling.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
    rows = [queries_needed(d, options.seeds) for d in options.dimensions]
    slope = log_log_slope([r["d"] for r in rows], [r["queries"] for r in rows])
    print(f"log-log slope of queries in d: {slope:.3f} (the theorem: 1)")
    if options.save:
        save("oracle_scaling", {"seeds": options.seeds, "target": TARGET, "rows": rows, "slope": slope})


if __name__ == "__main__":
    main()
