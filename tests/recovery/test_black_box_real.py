"""Networks that nobody here trained or chose, and the benchmark that reports on them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gradsift as gs
from benchmarks.boxes import real_networks as networks
from gradsift.reading import identify

from .test_black_box_exact import worst_error

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_the_five_esa_networks_are_found_in_a_few_hundred_queries():
    try:
        esa = networks.esa_networks()
    except networks.NotFetched as problem:
        pytest.skip(str(problem))
    lai = esa["LAI"]
    # The text files do reproduce ESA's own test cases, which are printed with few digits.
    assert np.abs(lai.model.predict(lai.test_inputs) - lai.test_outputs).max() < 3e-4
    for name, network in esa.items():
        found = identify(gs.Oracle(network.model.predict, 11), rng=0)
        assert found.certified, (name, found.verdict)
        assert worst_error(found.model, network.model) < 1e-8
        assert found.n_queries < 200  # 66 unknowns each


def test_scikit_learn_networks_are_found_through_predict():
    for name, (predict, inside) in networks.sklearn_networks().items():
        found = identify(gs.Oracle(predict, inside.n_features), inside.activation, rng=0)
        assert found.certified, (name, found.verdict)
        assert worst_error(found.model, inside) < 1e-8
        assert found.n_queries < 3 * inside.n_parameters


def test_the_benchmark_runs_small():
    before = sorted((BENCHMARKS / "results").iterdir())
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "benchmarks.boxes.black_box_exact",
            "--nets",
            "10",
            "--students",
            "1",
            "--starts",
            "1",
            "--cells",
            "10,3",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=BENCHMARKS.parent,
    )
    assert done.returncode == 0, done.stderr
    assert "0 certified but wrong" in done.stdout
    assert sorted((BENCHMARKS / "results").iterdir()) == before
