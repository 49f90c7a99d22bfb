"""KernelGradients against the literal loop over points, in the same run: time ratio, agreement, memory.

python -m benchmarks.speed.kernel_gradients [--rows 100000] [--points 500] [--save]
"""

from __future__ import annotations

import argparse
import time
import tracemalloc

import numpy as np

import gradsift as gs
from benchmarks.record import save


def literal(X, y, points):
    """eq:Slope as it is written: a sum over the rows for the barycentre, another for the slope."""
    out = []
    for xi in points:
        scores = X @ xi
        K = np.exp(scores - scores.max())
        z = K.sum()
        center = (K[:, None] * X).sum(axis=0) / z
        out.append(((K * y)[:, None] * (X - center)).sum(axis=0) / z)
    return np.array(out)


def per_point_products(X, y, points):
    """The same loop with matrix-vector products in place of sums: the stronger opponent."""
    out = []
    for xi in points:
        scores = X @ xi
        w = np.exp(scores - scores.max())
        w /= w.sum()
        out.append((w * y) @ (X - w @ X))
    return np.array(out)


def timed(function, *arguments, repeats=1):
    best, value = np.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        value = function(*arguments)
        best = min(best, time.perf_counter() - start)
    return best, value


def compare(d: int, n: int, m: int, seed: int) -> dict:
    model = gs.simulate.random_combination(d, 3, rng=np.random.default_rng([seed, d]))
    X, y = model.sample(n, 0.1, rng=np.random.default_rng([seed, d, 1]))
    points = np.random.default_rng([seed, d, 2]).standard_normal((m, d)) * 4 / np.sqrt(d)
    some = max(1, m // 10)  # the loops are timed on a tenth of the points
    ours, g = timed(lambda: gs.KernelGradients().estimate((X, y), points), repeats=3)
    slow, reference = timed(literal, X, y, points[:some])
    products, _ = timed(per_point_products, X, y, points[:some], repeats=2)
    tracemalloc.start()
    gs.KernelGradients(working_memory=16).estimate((X, y), points)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return {
        "d": d,
        "ratio_literal": slow * m / some / ours,
        "ratio_products": products * m / some / ours,
        "agreement": float(np.abs(g.values[:some] - reference).max()),
        "peak_mib_at_16": peak,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--save", action="store_true", help="write results/kernel_gradients.json")
    options = parser.parse_args()
    rows = [compare(d, options.rows, options.points, options.seed) for d in (5, 20, 64)]
    print(f"n = {options.rows}, {options.points} points, float64")
    for r in rows:
        print(
            f"d = {r['d']:3}: {r['ratio_literal']:5.1f}x the literal loop, {r['ratio_products']:5.1f}x a loop of "
            f"products, agreement {r['agreement']:.0e}, peak {r['peak_mib_at_16']:.0f} MiB at working_memory=16"
        )
    if options.save:
        save("kernel_gradients", {"n": options.rows, "points": options.points, "rows": rows})


if __name__ == "__main__":
    main()
