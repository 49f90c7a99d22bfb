"""The kernel pass on Dask clusters of one, two and more worker processes of one thread each, on the same rows.

python -m benchmarks.speed.dask_workers [--rows 3145728] [--points 200] [--workers 1 2 4 8] [--save]

Rows are drawn in the workers that summarise them, so that none travel. All clusters are up at once and take turns,
one pass each; the ratio is that of the best times, since on a shared machine the others are its neighbours' work.
Where the neighbours never rest, the ratio of CPU seconds (one worker's over the busiest of several) says what free
cores would give.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy, and inherited by the workers

import argparse
import contextlib
import time

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from benchmarks.record import save
from gradsift.paper.method.kernel import KernelSummary
from gradsift.sources.dask_collections import DaskSource

D = 20
CHUNK = 2**17  # rows: a power of two is summarised as it lies; other chunks are cut and rejoined first


def rows(n: int, seed: int):
    X = da.random.default_rng(seed).standard_normal((n, D), chunks=(CHUNK, D))
    return DaskSource(X.persist(), da.tanh(2 * X[:, 0]).persist())


def cluster(stack: contextlib.ExitStack, workers: int) -> Client:
    local = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0")
    client = stack.enter_context(Client(stack.enter_context(local), set_as_default=False))
    client.wait_for_workers(workers)
    return client


def busiest(client: Client, before: dict) -> float:
    return max(now - before[worker] for worker, now in client.run(time.process_time).items())


def measure(
    n: int, summary: KernelSummary, seed: int, repeats: int, sizes: list[int]
) -> tuple[dict[int, list[float]], dict[int, list[float]], dict[int, np.ndarray]]:
    """Return the seconds of every pass, the busiest worker's CPU seconds, and the gradients, by number of workers."""
    seconds, cpu, values = {size: [] for size in sizes}, {size: [] for size in sizes}, {}
    with contextlib.ExitStack() as stack:
        clients = {size: cluster(stack, size) for size in sizes}
        sources = {}
        for size, client in clients.items():
            with client.as_current():
                sources[size] = rows(n, seed)
                sources[size].require_spread()  # imports gradsift in the workers and computes the rows
        for _ in range(repeats):
            for size, client in clients.items():
                with client.as_current():
                    before, start = client.run(time.process_time), time.perf_counter()
                    values[size] = sources[size].reduce(summary).values
                    seconds[size].append(time.perf_counter() - start)
                    cpu[size].append(busiest(client, before))
    return seconds, cpu, values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_145_728)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument(
        "--workers", type=int, nargs="+", default=[1, 2], help="the first is what others are compared with"
    )
    parser.add_argument("--save", action="store_true", help="write results/dask_workers.json")
    options = parser.parse_args()
    points = np.random.default_rng([options.seed, 1]).standard_normal((options.points, D)) * 0.3
    summary, first = KernelSummary(points), options.workers[0]
    times, cpu, values = measure(options.rows, summary, options.seed, options.repeats, options.workers)
    speedup = {size: min(times[first]) / min(times[size]) for size in options.workers}
    free = {size: min(cpu[first]) / min(cpu[size]) for size in options.workers}
    same = all(bool(np.array_equal(values[first], value)) for value in values.values())
    load = os.getloadavg()[0]
    print(f"{options.rows} rows x {D}, {options.points} points, {os.cpu_count()} cores under load {load:.1f}")
    for size in options.workers:
        print(f"{size} workers: {min(times[size]):.2f} s, {speedup[size]:.2f}x, {free[size]:.2f}x in CPU seconds")
    print(f"same bits: {same}")
    if options.save:
        facts = {"n": options.rows, "points": options.points, "cores": os.cpu_count(), "load_average": load}
        measured = {"seconds": times, "cpu_seconds": cpu, "speedup": speedup, "cpu_speedup": free, "same_bits": same}
        save("dask_workers", facts | measured)


if __name__ == "__main__":
    main()
