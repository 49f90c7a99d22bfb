"""SpectralMirror's largest principal angle against the number of rows, and its memory on a large table.

python -m benchmarks.paper.mirror_rate [--seeds 20] [--save]
"""

from __future__ import annotations

import argparse
import tracemalloc

import numpy as np

import gradsift as gs
from benchmarks.record import log_log_slope, save
from gradsift.geometry import subspace_angle


def median_angle(n: int, seeds: int, d: int = 10, k: int = 2, slope: float = 2.0) -> float:
    """Median over seeds, in radians; labels of a mixture with orthonormal units."""
    angles = []
    for seed in range(seeds):
        model = gs.simulate.random_combination(
            d, k, slope=slope, min_singular_value=1.0, mixture=True, rng=np.random.default_rng([31, seed])
        )
        X, y = model.sample(n, "labels", rng=np.random.default_rng([32, seed, n]))
        angles.append(subspace_angle(gs.SpectralMirror(k).fit(X, y).components_, model.units))
    return float(np.median(angles))


def large_table(n: int, d: int) -> dict:
    """Extra memory of a fit beside the table itself."""
    model = gs.simulate.random_combination(d, 3, slope=2.0, min_singular_value=1.0, mixture=True, rng=1)
    X, y = model.sample(n, 0.1, rng=2)
    tracemalloc.start()
    found = gs.SpectralMirror(3).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    angle = subspace_angle(found.components_, model.units)
    return {"n": n, "d": d, "extra_mib": peak, "table_mib": X.nbytes / 2**20, "angle_degrees": float(np.degrees(angle))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=20_000, help="rows of the smallest table")
    parser.add_argument("--large", type=int, default=1_000_000, help="rows of the memory run (d = 100)")
    parser.add_argument("--save", action="store_true", help="write results/mirror_rate.json")
    options = parser.parse_args()
    sizes = [int(n) for n in options.rows * np.sqrt(10) ** np.arange(4)]  # a decade and a half
    angles = [median_angle(n, options.seeds) for n in sizes]
    slope = log_log_slope(sizes, angles)
    for n, angle in zip(sizes, angles):
        print(f"n = {n:8}: median angle {np.degrees(angle):5.2f} degrees")
    print(f"log-log slope in n: {slope:.3f} (theory: -0.5)")
    big = large_table(options.large, 100)
    print(
        f"n = {big['n']}, d = 100: {big['extra_mib']:.0f} MiB beside a table of {big['table_mib']:.0f} MiB, "
        f"angle {big['angle_degrees']:.1f} degrees"
    )
    if options.save:
        result = {"seeds": options.seeds, "n": sizes, "median_angle": angles, "slope": slope, "large": big}
        save("mirror_rate", result)


if __name__ == "__main__":
    main()
