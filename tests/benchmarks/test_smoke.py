"""Every benchmark script runs, small, and prints its figure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"

SMALL = {
    "black_box_noisy": (
        ["--runs", "1", "--cells", "box 5 k3d10", "--paper-limit", "50000"],
        "the paper's value oracle",
    ),
    "data_fit": (["--seeds", "1", "--cells", "10,5,1000", "--no-peers", "--out", os.devnull], "success"),
    "kernel_gradients": (["--rows", "2000", "--points", "20"], "x the literal loop"),
    "mirror_rate": (["--rows", "400", "--seeds", "1", "--large", "2000"], "log-log slope in n"),
    "oracle_scaling": (["--seeds", "1", "--dimensions", "3", "4"], "log-log slope of queries in d"),
}


@pytest.mark.parametrize("name", sorted(SMALL))
def test_benchmark_runs_small(name):
    arguments, figure = SMALL[name]
    before = sorted((FOLDER / "results").iterdir())
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert figure in done.stdout
    assert sorted((FOLDER / "results").iterdir()) == before  # results are written only on request


def test_every_benchmark_is_run_small_by_some_test():
    tests = "".join(p.read_text(encoding="utf-8") for p in Path(__file__).parents[1].rglob("test_*.py"))
    for script in FOLDER.glob("*.py"):
        assert script.stem == "record" or script.stem in SMALL or f'"{script.name}"' in tests, script.name
