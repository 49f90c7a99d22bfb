"""The kernel summary on one core, as a share of the rate at which this machine multiplies matrices.

python -m benchmarks.speed.cpu_kernel [--rows 100000] [--points 512] [--save]

Counted are the flops of the two products, 2 d + 2 (2 d + 3) per point and row; the exponentials come on top. Product
and summary are timed in turns, and the best of each counts, since a shared machine's speed drifts.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: the comparison is core against core

import argparse
import time

import numpy as np

from benchmarks.record import save
from gradsift.paper.method.kernel import KernelSummary
from gradsift.sources import ArraySource


def seconds(function) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def measure(d: int, n: int, m: int, repeats: int, seed: int) -> dict:
    rng = np.random.default_rng([seed, d])
    X, y, points = rng.standard_normal((n, d)), rng.standard_normal(n), rng.standard_normal((m, d)) / np.sqrt(d)
    a, b = rng.standard_normal((2, 1024, 1024))
    source, summary = ArraySource(X, y), KernelSummary(points)
    times = [(seconds(lambda: a @ b), seconds(lambda: source.reduce(summary))) for _ in range(repeats)]
    product, ours = np.min(times, axis=0)
    gemm = 2 * 1024**3 / product / 1e9
    rate = m * n * (2 * d + 2 * (2 * d + 3)) / ours / 1e9
    return {"d": d, "gemm_gflops": gemm, "kernel_gflops": rate, "share": rate / gemm}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--points", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--save", action="store_true", help="write results/cpu_kernel.json")
    options = parser.parse_args()
    rows = [measure(d, options.rows, options.points, options.repeats, options.seed) for d in (8, 32, 64)]
    for r in rows:
        print(
            f"d = {r['d']:2}: {r['kernel_gflops']:5.1f} GFLOP/s, {100 * r['share']:.0f}% of a product's "
            f"{r['gemm_gflops']:.1f}" + (" (asked 40%)" if r["d"] == 64 else "")
        )
    if options.save:
        save("cpu_kernel", {"n": options.rows, "points": options.points, "rows": rows})


if __name__ == "__main__":
    main()
