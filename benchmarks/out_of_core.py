"""More rows than memory should hold: passes over Parquet files, rows per second and peak memory.

python benchmarks/out_of_core.py [--rows 20000000] [--folder DIR] [--without-kernel] [--save]

Writes rows x 20 float32 columns, a target and labels, in files of a million rows, into a temporary folder (88 bytes a
row); then, in a fresh process, times a bare pyarrow scan of as many columns as a fit reads, on all cores, and every
pass that a fit needs. The kernel pass is no part of a fit and takes by far the longest; `--without-kernel` skips it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import gradsift as gs
from record import save

D, K = 20, 3
FEATURES = [f"x{j}" for j in range(D)]
FILE_ROWS = 1_000_000


def teacher(seed: int, labels: bool = False):
    rng = np.random.default_rng([seed, 1])
    return gs.simulate.random_combination(D, K, slope=3.0, mixture=labels, rng=rng)


def write(folder: Path, rows: int, seed: int) -> float:
    """Return megabytes written; each file has its own random stream."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    model, mixture = teacher(seed), teacher(seed, labels=True)
    for i, start in enumerate(range(0, rows, FILE_ROWS)):
        rng = np.random.default_rng([seed, 2, i])
        n = min(FILE_ROWS, rows - start)
        X = rng.standard_normal((n, D), dtype=np.float32)
        y = (model.predict(X) + 0.3 * rng.standard_normal(n)).astype(np.float32)
        label = np.where(rng.random(n) < 0.5 * (1 + mixture.predict(X)), 1, -1).astype(np.float32)
        table = pa.table({**{name: X[:, j] for j, name in enumerate(FEATURES)}, "y": y, "label": label})
        pq.write_table(table, folder / f"{i:05}.parquet", row_group_size=250_000, use_dictionary=False)
    return sum(f.stat().st_size for f in folder.iterdir()) / 1e6


def peak_mb() -> float:
    """Largest resident size of this process so far; ``ru_maxrss`` would count what the parent held at the fork."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def bare_scan(folder: Path) -> int:
    import pyarrow.dataset as ds

    scanner = ds.dataset(folder, format="parquet").scanner(columns=[*FEATURES, "y"], batch_size=65_536)
    return sum(len(batch) for batch in scanner.to_batches())


class Clock:
    """Rows per second and nanoseconds of CPU a row; the best of all runs of a name counts."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows, self.speed, self.cpu = n_rows, {}, {}

    def __call__(self, name: str, function):
        start, spent = time.perf_counter(), time.process_time()
        value = function()
        self.speed[name] = max(self.speed.get(name, 0.0), self.n_rows / (time.perf_counter() - start))
        self.cpu[name] = min(self.cpu.get(name, np.inf), 1e9 * (time.process_time() - spent) / self.n_rows)
        return value


def measure(folder: Path, seed: int, with_kernel: bool) -> dict:
    """Every pass on its own, then whole fits."""
    import pyarrow as pa

    from gradsift.paper_method.gradients.kernel_summary import KernelSummary
    from gradsift.paper_method.subspace import SpectralMirror
    from gradsift.sources import MomentSummary

    pa.set_cpu_count(os.cpu_count())  # whatever the threads of linear algebra: a bare scan may use all cores
    source = gs.sources.parquet(folder, target="y", features=FEATURES)
    start_mb, timed = peak_mb(), Clock(source.n_rows)
    points = np.random.default_rng([seed, 3]).standard_normal((200, D)) * 0.3
    for _ in range(3):  # in turns, since a shared machine's speed drifts
        timed("bare scan", lambda: bare_scan(folder))
        timed("moments", lambda: source.reduce(MomentSummary()))
    mirror = timed("mirror (one pass in halves)", lambda: SpectralMirror(K).fit_source(source))
    if with_kernel:
        timed("kernel, 200 points", lambda: source.reduce(KernelSummary(points)))
    timed("bare scan", lambda: bare_scan(folder))
    inside = teacher(seed).units @ mirror.components_.T
    fits = {kind: whole_fit(folder, seed, kind, timed) for kind in ("values", "labels")}
    scan = timed.speed["bare scan"]
    return {
        "rows_per_second": timed.speed,
        "cpu_nanoseconds_per_row": timed.cpu,
        "moments_over_scan": timed.speed["moments"] / scan,
        "fits": fits,
        "peak_mb": peak_mb(),
        "start_mb": start_mb,
        "mirror_sine": float(np.sqrt(max(0.0, 1 - np.linalg.svd(inside, compute_uv=False)[-1] ** 2))),
    }


def whole_fit(folder: Path, seed: int, kind: str, timed: Clock) -> dict:
    """One fit with all its passes, between bare scans."""
    labels = kind == "labels"
    source = gs.sources.parquet(folder, target="label" if labels else "y", features=FEATURES)
    name, options = f"recover {kind} (all passes)", {"labels": True} if labels else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
        found = timed(name, lambda: gs.recover(source, K, random_state=seed, **options))
    timed("bare scan", lambda: bare_scan(folder))
    return {
        "passes": source.n_passes,
        "pass_over_scan": source.n_passes * timed.speed[name] / timed.speed["bare scan"],
        "pass_over_scan_in_cpu_time": source.n_passes * timed.cpu["bare scan"] / timed.cpu[name],
        "direction_error": gs.match_units(found.model.units, teacher(seed, labels).units).max_error,
        "certified": found.certified,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--folder", type=Path, help="where the temporary folder goes")
    parser.add_argument("--without-kernel", action="store_true", help="leave out the kernel pass")
    parser.add_argument("--save", action="store_true", help="write results/out_of_core.json")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.seed, not options.without_kernel)))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        size = write(Path(name), options.rows, options.seed)
        command = [sys.executable, __file__, "--measure", name, "--seed", str(options.seed)]
        command += ["--without-kernel"] * options.without_kernel
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result = {"rows": options.rows, "columns": D, "megabytes": size, **json.loads(done.stdout)}
    print(f"{options.rows} rows x {D} columns, {size:.0f} MB of Parquet")
    for name, rate in result["rows_per_second"].items():
        spent = result["cpu_nanoseconds_per_row"][name]
        print(f"{name:28} {rate / 1e6:7.2f} million rows/s, {spent:6.0f} ns of CPU a row")
    print(f"moments at {result['moments_over_scan']:.2f} of a bare scan (asked 0.5)")
    for kind, fit in result["fits"].items():
        print(
            f"{kind}: {fit['passes']:g} passes (asked 15), each at {fit['pass_over_scan']:.2f} of a bare scan (asked "
            f"0.5), {fit['pass_over_scan_in_cpu_time']:.2f} in CPU time; direction error {fit['direction_error']:.1e}"
        )
    print(f"peak {result['peak_mb']:.0f} MB resident (asked 1500), {result['start_mb']:.0f} MB before the first row")
    if options.save:
        save("out_of_core", result)


if __name__ == "__main__":
    main()
