"""The kernel pass on a Dask cluster of one and of two worker processes, on the same chunks.

python benchmarks/dask_workers.py [--rows 2000000] [--points 200] [--save]

Chunks are drawn in the workers that summarise them, so that no rows travel. One and two workers are timed in turns;
the ratio is that of the best times.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy, and inherited by the workers

import argparse
import time

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from gradsift.gradients.kernel_summary import KernelSummary
from gradsift.sources.dask_collections import DaskSource
from record import save

D = 20


def rows(n: int, seed: int):
    X = da.random.default_rng(seed).standard_normal((n, D), chunks=(100_000, D))
    return X, da.tanh(2 * X[:, 0])


def seconds(workers: int, n: int, points, seed: int, repeats: int) -> tuple[float, np.ndarray]:
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        X, y = (part.persist() for part in rows(n, seed))
        client.wait_for_workers(workers)
        source, best = DaskSource(X, y), np.inf
        source.require_spread()  # the first pass imports gradsift in the workers and computes the rows
        for _ in range(repeats):
            start = time.perf_counter()
            found = source.reduce(KernelSummary(points))
            best = min(best, time.perf_counter() - start)
        return best, found.values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2, help="clusters of each size, started in turns")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--save", action="store_true", help="write results/dask_workers.json")
    options = parser.parse_args()
    points = np.random.default_rng([options.seed, 1]).standard_normal((options.points, D)) * 0.3
    best, values = {1: np.inf, 2: np.inf}, {}
    for _ in range(options.rounds):
        for workers in best:
            took, values[workers] = seconds(workers, options.rows, points, options.seed, options.repeats)
            best[workers] = min(best[workers], took)
    same = bool(np.array_equal(values[1], values[2]))
    load = os.getloadavg()[0]
    print(f"{options.rows} rows x {D}, {options.points} points: {best[1]:.2f} s on one worker, {best[2]:.2f} s on two")
    print(f"{best[1] / best[2]:.2f}x (asked 1.6x); same bits: {same}; {os.cpu_count()} cores under load {load:.1f}")
    if options.save:
        facts = {"n": options.rows, "points": options.points, "cores": os.cpu_count(), "load_average": load}
        save("dask_workers", {**facts, "seconds": best, "speedup": best[1] / best[2], "same_bits": same})


if __name__ == "__main__":
    main()
