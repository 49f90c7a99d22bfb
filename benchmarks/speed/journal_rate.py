"""Answers on disk: rows a second written and read back, bytes a row, and peak memory.

python -m benchmarks.speed.journal_rate [--rows 10000000] [--columns 20] [--batch 65536] [--folder DIR] [--save]

An oracle with a journal is asked for the rows batch by batch; then, in a fresh process, for the same rows again,
which the journal answers. Time of the function itself and of drawing rows is measured apart and taken off.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import gradsift as gs
from benchmarks.record import save
from benchmarks.speed.out_of_core import peak_mb


def batches(rows: int, columns: int, batch: int, seed: int):
    """Yield the rows, the same in every process."""
    rng = np.random.default_rng([seed, 1])
    for start in range(0, rows, batch):
        yield rng.standard_normal((min(batch, rows - start), columns))


def total(X: np.ndarray) -> np.ndarray:
    return X.sum(axis=1)


def measure(path: Path, rows: int, columns: int, batch: int, seed: int) -> dict[str, float]:
    """Ask for all rows; the journal answers those that it holds."""
    with gs.Oracle(total, columns, journal=path, recheck=0) as oracle:
        start_mb, seconds, checksum = peak_mb(), 0.0, 0.0
        for X in batches(rows, columns, batch, seed):
            began = time.perf_counter()
            answers = oracle(X)
            asked = time.perf_counter()
            bare = total(X)
            seconds += 2 * asked - began - time.perf_counter()
            checksum += float(np.abs(answers - bare).max())
        return {
            "rows_per_second": rows / seconds,
            "replayed": oracle.n_replayed,
            "largest_differences": checksum,
            "start_mb": start_mb,
            "peak_mb": peak_mb(),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--batch", type=int, default=65_536)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--folder", type=Path, help="where the temporary folder goes")
    parser.add_argument("--save", action="store_true", help="write results/journal_rate.json")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.rows, options.columns, options.batch, options.seed)))
        return
    sizes = [f"--{name}={getattr(options, name)}" for name in ("rows", "columns", "batch", "seed")]
    found: dict[str, object] = {name: getattr(options, name) for name in ("rows", "columns", "batch")}
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        path = Path(name) / "campaign.db"
        for step in ("written", "read back"):
            command = [sys.executable, "-m", __spec__.name, "--measure", str(path), *sizes]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            found[step] = row = json.loads(done.stdout)
            print(
                f"{options.rows} answers {step}: {row['rows_per_second']:,.0f} rows/s (asked 100,000), "
                f"peak {row['peak_mb']:.0f} MB, {row['start_mb']:.0f} MB before the first row",
                flush=True,
            )
        found["bytes_per_row"] = path.stat().st_size / options.rows
    print(f"{found['bytes_per_row']:.0f} bytes a row")
    if options.save:
        save("journal_rate", found)


if __name__ == "__main__":
    main()
