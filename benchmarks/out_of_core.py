"""More rows than memory should hold: passes over Parquet files, rows per second and peak memory.

python benchmarks/out_of_core.py [--rows 20000000] [--folder DIR] [--without-kernel] [--save]

Writes rows x 20 float32 columns and a target, in files of a million rows, into a temporary folder (84 bytes a row);
then, in a fresh process, times a bare pyarrow scan of the same columns and every pass that a fit needs. The kernel
pass is no part of a fit and takes by far the longest; `--without-kernel` leaves it out.
"""

from __future__ import annotations

import argparse
import json
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
FILE_ROWS = 1_000_000


def teacher(seed: int):
    return gs.simulate.random_combination(D, K, slope=3.0, rng=np.random.default_rng([seed, 1]))


def write(folder: Path, rows: int, seed: int) -> float:
    """Return megabytes written; each file has its own random stream."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    model = teacher(seed)
    for i, start in enumerate(range(0, rows, FILE_ROWS)):
        rng = np.random.default_rng([seed, 2, i])
        n = min(FILE_ROWS, rows - start)
        X = rng.standard_normal((n, D), dtype=np.float32)
        y = (model.predict(X) + 0.3 * rng.standard_normal(n)).astype(np.float32)
        table = pa.table({**{f"x{j}": X[:, j] for j in range(D)}, "y": y})
        pq.write_table(table, folder / f"{i:05}.parquet", row_group_size=250_000, use_dictionary=False)
    return sum(f.stat().st_size for f in folder.iterdir()) / 1e6


def peak_mb() -> float:
    """Largest resident size of this process so far; ``ru_maxrss`` would count what the parent held at the fork."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def bare_scan(folder: Path) -> int:
    import pyarrow.dataset as ds

    columns = [*(f"x{j}" for j in range(D)), "y"]
    batches = ds.dataset(folder, format="parquet").scanner(columns=columns, batch_size=65_536).to_batches()
    return sum(len(batch) for batch in batches)


def measure(folder: Path, seed: int, with_kernel: bool) -> dict:
    """Every pass on its own, then a whole fit."""
    from gradsift.paper_method.gradients.kernel_summary import KernelSummary
    from gradsift.paper_method.subspace import SpectralMirror
    from gradsift.sources import MomentSummary

    model = teacher(seed)
    source = gs.sources.parquet(folder, target="y")
    start_mb = peak_mb()
    points = np.random.default_rng([seed, 3]).standard_normal((200, D)) * 0.3
    speed, cpu = {}, {}

    def timed(name, function):
        start, spent = time.perf_counter(), time.process_time()
        value = function()
        speed[name] = max(speed.get(name, 0.0), source.n_rows / (time.perf_counter() - start))
        cpu[name] = min(cpu.get(name, np.inf), 1e9 * (time.process_time() - spent) / source.n_rows)
        return value

    for _ in range(3):  # in turns, since a shared machine's speed drifts; the best of each counts
        timed("bare scan", lambda: bare_scan(folder))
        timed("moments", lambda: source.reduce(MomentSummary()))
    mirror = timed("mirror (one pass in halves)", lambda: SpectralMirror(K).fit_source(source))
    if with_kernel:
        timed("kernel, 200 points", lambda: source.reduce(KernelSummary(points)))
    before = source.n_passes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
        found = timed("recover (all passes)", lambda: gs.recover(source, K, random_state=seed))
    inside = model.units @ mirror.components_.T
    passes = source.n_passes - before
    timed("bare scan", lambda: bare_scan(folder))
    return {
        "rows_per_second": speed,
        "cpu_nanoseconds_per_row": cpu,
        "moments_over_scan": speed["moments"] / speed["bare scan"],
        "pass_of_recover_over_scan": passes * speed["recover (all passes)"] / speed["bare scan"],
        "peak_mb": peak_mb(),
        "start_mb": start_mb,
        "passes_of_recover": passes,
        "direction_error": gs.match_units(found.model.units, model.units).max_error,
        "mirror_sine": float(np.sqrt(max(0.0, 1 - np.linalg.svd(inside, compute_uv=False)[-1] ** 2))),
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
    print(f"a pass of recover at {result['pass_of_recover_over_scan']:.2f} of a bare scan (asked 0.5)")
    print(f"peak {result['peak_mb']:.0f} MB resident (asked 1500), {result['start_mb']:.0f} MB before the first row")
    print(
        f"recover: {result['passes_of_recover']:g} passes (asked 15), direction error {result['direction_error']:.1e}"
    )
    if options.save:
        save("out_of_core", result)


if __name__ == "__main__":
    main()
