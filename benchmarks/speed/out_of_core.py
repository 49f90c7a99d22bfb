"""More rows than memory should hold: passes over Parquet files, rows per second and peak memory.

python -m benchmarks.speed.out_of_core [--rows 20000000] [--turns 4] [--folder DIR] [--without-kernel] [--save]

Writes rows x 20 float32 columns, a target and labels, in files of a million rows, into a temporary folder (88 bytes a
row). Then, in a fresh process: a bare pyarrow scan of as many columns as a fit reads, on all cores, in turns with the
passes that a fit consists of, for a shared machine's speed drifts; then whole fits, each between two such scans. The
scan is pyarrow's as it comes; beside it stands one with the buffered stream that our passes read by, which is faster.
The kernel pass is no part of a fit and takes by far the longest; `--without-kernel` skips it.
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
from benchmarks.record import save

D, K = 20, 3
FEATURES = [f"x{j}" for j in range(D)]
FILE_ROWS = 1_000_000
SCAN, BUFFERED = "bare scan", "bare scan, buffered stream"


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


def bare_scan(folder: Path, **options: bool) -> int:
    import pyarrow.dataset as ds

    how = ds.ParquetFileFormat(default_fragment_scan_options=ds.ParquetFragmentScanOptions(**options))
    scanner = ds.dataset(folder, format=how if options else "parquet").scanner([*FEATURES, "y"], batch_size=65_536)
    return sum(len(batch) for batch in scanner.to_batches())


def scans(folder: Path) -> dict:
    return {
        SCAN: lambda: bare_scan(folder),
        BUFFERED: lambda: bare_scan(folder, pre_buffer=False, use_buffered_stream=True),
    }


class Clock:
    """Nanoseconds a row, of the wall's clock and of the CPU's, of every run of a name."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows, self.wall, self.cpu = n_rows, {}, {}

    def __call__(self, name: str, function):
        start, spent = time.perf_counter(), time.process_time()
        value = function()
        self.wall.setdefault(name, []).append(1e9 * (time.perf_counter() - start) / self.n_rows)
        self.cpu.setdefault(name, []).append(1e9 * (time.process_time() - spent) / self.n_rows)
        return value

    def rows_per_second(self, how) -> dict[str, float]:
        return {name: 1e9 / float(how(taken)) for name, taken in self.wall.items()}

    def over_scan(self, name: str, scan: str = SCAN) -> dict[str, float]:
        """How much faster the scan is: the best of each, their medians, and both in CPU time."""
        pairs = {"": (self.wall[scan], self.wall[name]), "_in_cpu_time": (self.cpu[scan], self.cpu[name])}
        return {
            f"{said}{clock}": float(how(bare) / how(taken))
            for clock, (bare, taken) in pairs.items()
            for said, how in (("best", min), ("median", np.median))
        }


def gradient(source, model: gs.SigmoidCombination, labels: bool):
    """The pass that a fit consists of, beside the first two: loss and gradient at a point."""
    from gradsift.fit import Family, from_model
    from gradsift.table.frame import FrameGradient, frame_of

    family = Family.of("tanh", labels=labels)
    frame = frame_of(source.moments, family)
    summary = FrameGradient(family, frame.inside(from_model(model)), frame)
    return lambda: source.reduce(summary)


def measure(folder: Path, seed: int, turns: int, with_kernel: bool) -> dict:
    """Every pass on its own, then whole fits."""
    import pyarrow as pa

    from gradsift.paper.method.kernel import KernelSummary
    from gradsift.paper.method.subspace import SpectralMirror
    from gradsift.sources import MomentSummary

    pa.set_cpu_count(os.cpu_count())  # whatever the threads of linear algebra: a bare scan may use all cores
    source, labelled = (gs.sources.parquet(folder, target=target, features=FEATURES) for target in ("y", "label"))
    start_mb, timed = peak_mb(), Clock(source.n_rows)
    passes = {
        "moments": lambda: source.reduce(MomentSummary()),
        "gradient": gradient(source, teacher(seed), False),
        "gradient of labels": gradient(labelled, teacher(seed, labels=True), True),
    }
    for _ in range(turns):
        for name, one in (scans(folder) | passes).items():
            timed(name, one)
    mirror = timed("mirror (one pass in halves)", lambda: SpectralMirror(K).fit_source(source))
    if with_kernel:
        points = np.random.default_rng([seed, 3]).standard_normal((200, D)) * 0.3
        timed("kernel, 200 points", lambda: source.reduce(KernelSummary(points)))
    inside = teacher(seed).units @ mirror.components_.T
    return {
        "fits": {kind: whole_fit(folder, seed, kind, timed) for kind in ("values", "labels")},
        "rows_per_second": timed.rows_per_second(min),
        "median_rows_per_second": timed.rows_per_second(np.median),
        "cpu_nanoseconds_per_row": {name: min(spent) for name, spent in timed.cpu.items()},
        "median_cpu_nanoseconds_per_row": {name: float(np.median(spent)) for name, spent in timed.cpu.items()},
        "over_scan": {name: timed.over_scan(name) for name in passes},
        "over_buffered_scan": {name: timed.over_scan(name, BUFFERED) for name in passes},
        "peak_mb": peak_mb(),
        "start_mb": start_mb,
        "mirror_sine": float(np.sqrt(max(0.0, 1 - np.linalg.svd(inside, compute_uv=False)[-1] ** 2))),
    }


def whole_fit(folder: Path, seed: int, kind: str, timed: Clock) -> dict:
    """One fit with all its passes and its search, between two bare scans: one run, so beside the scans' medians."""
    labels = kind == "labels"
    source = gs.sources.parquet(folder, target="label" if labels else "y", features=FEATURES)
    name, options = f"recover {kind} (all passes)", {"labels": True} if labels else {}
    for scan, one in scans(folder).items():
        timed(scan, one)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
        found = timed(name, lambda: gs.recover(source, K, random_state=seed, **options))
    for scan, one in scans(folder).items():
        timed(scan, one)

    def each_pass(scan: str) -> dict[str, float]:
        return {said: source.n_passes * ratio for said, ratio in timed.over_scan(name, scan).items()}

    return {
        "passes": source.n_passes,
        "pass_over_scan": each_pass(SCAN),
        "pass_over_buffered_scan": each_pass(BUFFERED),
        "direction_error": gs.match_units(found.model.units, teacher(seed, labels).units).max_error,
        "certified": found.certified,
    }


def show(result: dict) -> None:
    print(f"{result['rows']} rows x {D} columns, {result['megabytes']:.0f} MB of Parquet")
    for name, rate in result["rows_per_second"].items():
        cpu, usual = (result[f"{which}cpu_nanoseconds_per_row"][name] for which in ("", "median_"))
        print(f"{name:28} {rate / 1e6:7.2f} million rows/s, {cpu:6.0f} ns of CPU a row (median {usual:.0f})")
    for scan, asked in (("scan", " (asked 0.5)"), ("buffered_scan", "")):
        ratios = {f"{name} at": ratio for name, ratio in result[f"over_{scan}"].items()}
        for kind, fit in result["fits"].items():
            ratios[f"a pass of the fit to {kind} at"] = fit[f"pass_over_{scan}"]
        for what, of in ratios.items():
            print(
                f"{what} {of['best']:.2f} of a bare {scan.replace('_', ' ')}{asked}, {of['best_in_cpu_time']:.2f} in "
                f"CPU time: the best of each; medians {of['median']:.2f} and {of['median_in_cpu_time']:.2f}"
            )
    for kind, fit in result["fits"].items():
        print(f"fit to {kind}: {fit['passes']:g} passes (asked 15), direction error {fit['direction_error']:.1e}")
    print(f"peak {result['peak_mb']:.0f} MB resident (asked 1500), {result['start_mb']:.0f} MB before the first row")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--folder", type=Path, help="where the temporary folder goes")
    parser.add_argument("--without-kernel", action="store_true", help="leave out the kernel pass")
    parser.add_argument("--save", action="store_true", help="write results/out_of_core.json")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.seed, options.turns, not options.without_kernel)))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        size = write(Path(name), options.rows, options.seed)
        command = [sys.executable, "-m", __spec__.name, "--measure", name]
        command += ["--seed", str(options.seed), "--turns", str(options.turns)]
        command += ["--without-kernel"] * options.without_kernel
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result = {"rows": options.rows, "columns": D, "megabytes": size, **json.loads(done.stdout)}
    show(result)
    if options.save:
        save("out_of_core", result)


if __name__ == "__main__":
    main()
