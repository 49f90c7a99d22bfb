"""The fused kernel summary on a CUDA device: time, error against float64, and rate beside the card's matrix peak.

python -m benchmarks.speed.gpu_kernel [--rows 1000000] [--points 5000] [--tune] [--save]
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import torch

import gradsift as gs
from benchmarks.record import save
from gradsift.paper.method.kernel import KernelSummary
from gradsift.paper.method.kernel_on_device import kernel_state, plain_sums

# Milliseconds asked for at n = 1e6 and 5000 points: (float32-accurate, tf32).
TARGETS = {8: (25, 11), 32: (30, 17), 64: (50, 24)}


def seconds(function, repeats: int) -> float:
    """Median over `repeats` calls after two to warm up, each waited for."""
    for _ in range(2):
        function()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        function()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def matrix_peak(dtype, repeats: int) -> float:
    """TFLOP/s of a square product, the ceiling for everything below."""
    a, b = (torch.randn((8192, 8192), device="cuda", dtype=dtype) for _ in range(2))
    return 2 * 8192**3 / seconds(lambda: a @ b, repeats) / 1e12


def problem(d: int, n: int, m: int, seed: int):
    """Teacher, rows and points from separate streams; points at distance about 2, where support is n/50."""
    model = gs.simulate.random_combination(d, 3, slope=2.0, rng=np.random.default_rng([seed, d]))
    X, y = model.sample(n, 0.1, rng=np.random.default_rng([seed, d, 1]))
    points = np.random.default_rng([seed, d, 2]).standard_normal((m, d)) * 2 / np.sqrt(d)
    return X.astype(np.float32), y.astype(np.float32), points


def relative_error(points, state, reference) -> float:
    finish = KernelSummary(points).finalize
    found, truth = finish(state).values, finish(reference).values
    return float(np.linalg.norm(found - truth) / np.linalg.norm(truth))


def measure(d: int, n: int, m: int, seed: int, repeats: int) -> dict:
    X, y, points = problem(d, n, m, seed)
    x, t = torch.from_numpy(X).cuda(), torch.from_numpy(y).cuda()
    reference = kernel_state(points, x.double(), t.double())
    some, few = slice(0, min(n, 100_000)), points[:50]
    by_numpy = KernelSummary(few).chunk(_rows(X[some], y[some]))
    agreement = relative_error(few, kernel_state(few, x[some].double(), t[some].double()), by_numpy)
    flops = m * n * (2 * d + 2 * (2 * d + 3))
    row: dict = {"d": d, "float64_against_numpy": agreement}
    for name, precision in (("float32", "full"), ("tf32", "tf32")):
        call = lambda p=precision: kernel_state(points, x, t, precision=p)
        took = seconds(call, repeats)
        row[name] = {
            "ms": 1e3 * took,
            "target_ms": TARGETS.get(d, (None, None))[name == "tf32"],
            "relative_error": relative_error(points, call(), reference),
            "useful_tflops": flops / took / 1e12,
            "matrix_tflops": (3 if precision == "full" else 1) * m * n * 6 * max(16, d) / took / 1e12,
        }
    xi = torch.from_numpy(points).cuda()
    center = x - x.mean(dim=0)
    row["plain_torch_ms"] = 1e3 * seconds(lambda: plain_sums(xi, center, t - t.mean(), None), max(3, repeats // 3))
    return row


def _rows(X, y):
    from gradsift.sources import Rows

    return Rows(X.astype(np.float64), y.astype(np.float64))


def tune(d: int, n: int, m: int, seed: int) -> list[dict]:
    """Time launch shapes that might win; the one that does stands in TILING."""
    from gradsift.paper.method.fused_kernel import KernelShape, device_sums

    X, y, points = problem(d, n, m, seed)
    x, t, xi = torch.from_numpy(X).cuda(), torch.from_numpy(y).cuda(), torch.from_numpy(points).cuda()
    shapes = [(128, 64, 8, 2), (128, 64, 8, 3), (128, 128, 8, 2), (64, 64, 4, 2), (64, 64, 4, 3), (64, 128, 4, 2)]
    found = []
    for exact in (True, False):
        for shape in shapes + ([(128, 32, 8, 3)] if exact else [(128, 128, 8, 3), (128, 128, 4, 2)]):
            try:
                took = seconds(lambda s=shape, e=exact: device_sums(xi, x, t, None, exact=e, tiling=KernelShape(*s)), 3)
            except Exception as problem_found:
                print(f"d = {d}, exact = {exact}, {shape}: {type(problem_found).__name__}", flush=True)
                continue
            found.append({"d": d, "exact": exact, "tiling": shape, "ms": 1e3 * took})
            print(f"d = {d}, exact = {exact}, {shape}: {1e3 * took:.2f} ms", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--points", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--tune", action="store_true", help="time launch shapes as well")
    parser.add_argument("--save", action="store_true", help="write results/gpu_kernel.json")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("There is no CUDA device here.")
        return
    size = options.rows, options.points, options.seed
    if options.tune:
        for d in TARGETS:
            tune(d, *size)
    half, single = (matrix_peak(t, 5) for t in (torch.float16, torch.float32))
    name = torch.cuda.get_device_name()
    print(f"CUDA device {name}: products of 8192 x 8192 at {half:.0f} TFLOP/s in float16, {single:.0f} in float32")
    rows = [measure(d, *size, options.repeats) for d in TARGETS]
    print(f"n = {options.rows}, {options.points} points; whole call, rows and answers on the card")
    for r in rows:
        for kind in ("float32", "tf32"):
            k = r[kind]
            print(
                f"d = {r['d']:2}, {kind}: {k['ms']:6.2f} ms (asked {k['target_ms']}), error {k['relative_error']:.1e}, "
                f"{k['useful_tflops']:.0f} TFLOP/s ({k['matrix_tflops']:.0f} in the matrix units)"
            )
        print(
            f"        plain torch {r['plain_torch_ms']:.1f} ms; float64 off NumPy by {r['float64_against_numpy']:.0e}"
        )
    if options.save:
        versions = {"torch": torch.__version__, "triton": __import__("triton").__version__}
        peak = {"float16_tflops": half, "float32_tflops": single}
        facts = {"device": name, "n": options.rows, "points": options.points, "matrix_peak": peak, **versions}
        save("gpu_kernel", {**facts, "rows": rows})


if __name__ == "__main__":
    main()
