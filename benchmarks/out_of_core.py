"""More rows than memory should hold: passes over Parquet files, rows per second and peak memory.

python benchmarks/out_of_core.py [--rows 20000000] [--turns 4] [--folder DIR] [--without-kernel] [--save]

Writes rows x 20 float32 columns, a target and labels, in files of a million rows, into a temporary folder (88 bytes a
row). Then, in a fresh process: a bare pyarrow scan of as many columns as a fit reads, on all cores, in turns with the
passes that a fit consists of, for a shared machine's speed drifts; then whole fits, each between two such scans. The
kernel pass is no part of a fit and takes by far the longest; `--without-kernel` skips it.
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
SCAN = "bare scan"


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

    def over_scan(self, name: str) -> dict[str, float]:
        """How much slower the scan is: the best of each, their medians, and both in CPU time."""
        pairs = {"": (self.wall[SCAN], self.wall[name]), "_in_cpu_time": (self.cpu[SCAN], self.cpu[name])}
        return {
            f"{said}{clock}": float(how(scan) / how(taken))
            for clock, (scan, taken) in pairs.items()
            for said, how in (("best", min), ("median", np.median))
        }


def gradient(source, model: gs.SigmoidCombination, labels: bool):
    """The pass that a fit consists of, beside the first two: loss and gradient at a point."""
    from gradsift.fit import Family, from_model
    from gradsift.table.frame import FramedGradient, frame_of

    family = Family.of("tanh", labels=labels)
    frame = frame_of(source.moments, family)
    summary = FramedGradient(family, frame.enter(from_model(model)), frame)
    return lambda: source.reduce(summary)


def measure(folder: Path, seed: int, turns: int, with_kernel: bool) -> dict:
    """Every pass on its own, then whole fits."""
    import pyarrow as pa

    from gradsift.paper_method.gradients.kernel_summary import KernelSummary
    from gradsift.paper_method.subspace import SpectralMirror
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
        timed(SCAN, lambda: bare_scan(folder))
        for name, one in passes.items():
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
        "peak_mb": peak_mb(),
        "start_mb": start_mb,
        "mirror_sine": float(np.sqrt(max(0.0, 1 - np.linalg.svd(inside, compute_uv=False)[-1] ** 2))),
    }


def whole_fit(folder: Path, seed: int, kind: str, timed: Clock) -> dict:
    """One fit with all its passes and its search, between two bare scans: one run, so beside the scans' medians."""
    labels = kind == "labels"
    source = gs.sources.parquet(folder, target="label" if labels else "y", features=FEATURES)
    name, options = f"recover {kind} (all passes)", {"labels": True} if labels else {}
    timed(SCAN, lambda: bare_scan(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
        found = timed(name, lambda: gs.recover(source, K, random_state=seed, **options))
    timed(SCAN, lambda: bare_scan(folder))
    return {
        "passes": source.n_passes,
        "pass_over_scan": {said: source.n_passes * ratio for said, ratio in timed.over_scan(name).items()},
        "direction_error": gs.match_units(found.model.units, teacher(seed, labels).units).max_error,
        "certified": found.certified,
    }


def show(result: dict) -> None:
    print(f"{result['rows']} rows x {D} columns, {result['megabytes']:.0f} MB of Parquet")
    for name, rate in result["rows_per_second"].items():
        cpu, usual = (result[f"{which}cpu_nanoseconds_per_row"][name] for which in ("", "median_"))
        print(f"{name:28} {rate / 1e6:7.2f} million rows/s, {cpu:6.0f} ns of CPU a row (median {usual:.0f})")
    ratios = {f"{name} at": ratio for name, ratio in result["over_scan"].items()}
    for kind, fit in result["fits"].items():
        ratios[f"a pass of the fit to {kind} at"] = fit["pass_over_scan"]
    for what, of in ratios.items():
        print(
            f"{what} {of['best']:.2f} of a bare scan (asked 0.5), {of['best_in_cpu_time']:.2f} in CPU time: the best "
            f"of each; medians {of['median']:.2f} and {of['median_in_cpu_time']:.2f}"
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
        command = [sys.executable, __file__, "--measure", name]
        command += ["--seed", str(options.seed), "--turns", str(options.turns)]
        command += ["--without-kernel"] * options.without_kernel
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result = {"rows": options.rows, "columns": D, "megabytes": size, **json.loads(done.stdout)}
    show(result)
    if options.save:
        save("out_of_core", result)


if __name__ == "__main__":
    main()
