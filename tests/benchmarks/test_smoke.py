"""Every benchmark script runs, small, and prints its figure."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.bench import module_of

FOLDER = Path(__file__).parents[2] / "benchmarks"

SMALL = {
    "black_box_noisy": (
        ["--runs", "1", "--cells", "box 5 k3d10", "paper", "--paper-limit", "50000"],
        "the paper's value oracle",
    ),
    "black_box_pairs": (
        ["--tuning", "--runs", "1", "--parts", "pairs", "--angles", "20", "--noises", "0.03", "--sizes", "4"],
        "tanh sd 0.03 d 4",
    ),
    "black_box_decisions": (["--rows", "tanh 5,3", "--runs", "1", "--first", "1"], "1/1 certified and right, 0 wrong"),
    "black_box_deep_relu": (["--rows", "10-5-5-1", "--runs", "1", "--tuning"], "1/1 exact, 1 certified, 0 wrong"),
    "black_box_deep": (["--rows", "random", "--share", "0.001", "--first", "1"], "exact_and_certified"),
    "black_box_kinked": (["--nets", "0.01", "--largest", "60", "--cells", "exact", "large", "within"], "within 1e-8"),
    "black_box_kinked_coarse": (
        ["--nets", "1", "--largest", "40", "--activations", "softplus", "--kinds", "decimals"],
        "1/1 right",
    ),
    "black_box_large": (["--sizes", "12x3"], "queries per unknown"),
    "hostile_deciders": (
        ["--runs", "1", "--first", "1", "--kinds", "ball", "rule"],
        "2 deciders, 0 certified but wrong",
    ),
    "hostile_boxes": (["--runs", "1", "--kinds", "thin slab", "slope 20, width .2"], "parallel units found"),
    "cpu_kernel": (["--rows", "2000", "--points", "20", "--repeats", "1"], "(asked 40%)"),
    "dask_workers": (["--rows", "20000", "--points", "5", "--repeats", "1"], "same bits: True"),
    "fuzz": (["--seeds", "1", "--share", "0.002"], " runs, 0 defects"),
    "journal_rate": (["--rows", "2000", "--batch", "500"], "answers read back"),
    "gpu_fit": (["--rows", "2000", "--device", "cpu", "--repeats", "1"], "after loading"),
    "gpu_kernel": (["--rows", "5000", "--points", "50", "--repeats", "1"], "CUDA device"),
    "out_of_core": (["--rows", "3000"], "moments at"),
    "kernel_gradients": (["--rows", "2000", "--points", "20"], "x the literal loop"),
    "error_bounds": (["--tuning", "--runs", "2", "--rows", "tanh", "relu box"], "4 certified networks, 0 beyond"),
    "forecast_error": ([], "the worst is off by a factor of"),
    "real_boxes": (
        ["--nets", "1", "--cells", "torch float32", "softmax and logistic", "--anew"],
        "certified 1/1, 0 wrong",
    ),
    "mutations": (["--only", "return 2 * math.sin(theta / 2)"], "1 mutations, 0 survived"),
    "paper_defaults": (["--quick", "--seeds", "1", "--rows", "3000"], "rule: point_scale"),
    "trained_kinked": (
        ["--seeds", "1", "--kinds", "scikit-learn regression", "--tables", "diabetes"],
        "2/2 certified, 0 wrong",
    ),
    "peer_tables": (["--part", "outside_check", "--outside", "1000", "--instances", "1"], "published"),
    "sensitivity": (["--file", "paper/method/literal.py", "--only", "ROW_POLICY.reach"], "1 numbers, "),
    "theorem_run": (["--d", "2", "--delta", "0.3", "--beta", "5", "--rho", "0.9"], "promises kept True"),
    "tight_plan": (["--first", "1"], "orders of magnitude gained"),
    "mirror_rate": (["--rows", "400", "--seeds", "1", "--large", "2000"], "log-log slope in n"),
    "interval_coverage": (["--replications", "2", "--rows", "400"], "95% intervals cover"),
    "real_tables": (["--tables", "birthwt", "--folds", "2"], "1 tables: within one fold error"),
    "table_certificates": (["--tables", "2"], "certified but wrong"),
    "peer_boxes": (["--seeds", "1", "--boxes", "tanh,5,2", "--only", "ours"], "method ours  success 1 of 1"),
    "zoo_run": (["--families", "rectifiers", "--share", "0.1"], "1 networks of 1 families, 0 certified but wrong"),
    "phase_table": (["--rows", "300", "--units", "2", "--seeds", "1"], "n 300  k 2  tables 1"),
    "oracle_scaling": (["--seeds", "1", "--dimensions", "3", "4"], "log-log slope of queries in d"),
}


def started(name):
    """Return how Python starts a script: what tries changed sources out by its path, as nothing else may be loaded."""
    return [FOLDER / f"{name}.py"] if name in ("mutations", "sensitivity") else ["-m", module_of(name)]


@pytest.mark.parametrize("name", sorted(SMALL))
def test_benchmark_runs_small(name):
    arguments, figure = SMALL[name]
    before = sorted((FOLDER / "results").iterdir())
    done = subprocess.run(
        [sys.executable, *started(name), *arguments], capture_output=True, text=True, check=False, cwd=FOLDER.parent
    )
    assert done.returncode == 0, done.stderr
    assert figure in done.stdout
    assert sorted((FOLDER / "results").iterdir()) == before  # results are written only on request


def test_every_benchmark_is_run_small_by_some_test():
    tests = "".join(p.read_text(encoding="utf-8") for p in Path(__file__).parents[1].rglob("test_*.py"))
    for script in FOLDER.rglob("*.py"):
        if "__main__" in script.read_text(encoding="utf-8"):
            assert script.stem in tests, script.name
