"""What small runs ask and find, to the last bit on the machine that recorded them, and in substance elsewhere."""

from __future__ import annotations

import json

import numpy as np
import pytest

from .cases import CASES, run
from .record import RUNS, machine

KEPT = json.loads(RUNS.read_text())


@pytest.mark.parametrize("name", CASES)
def test_a_run_asks_and_finds_what_it_did(name):
    expected, got = KEPT["runs"][name], run(name)
    if machine() == KEPT["machine"]:
        assert got == expected
        return
    # Other arithmetic: other last bits, after which noisy runs go their own way.
    assert got["certified"] == expected["certified"]
    assert [len(m) for m in got["models"]] == [len(m) for m in expected["models"]]
    if name.startswith("exact"):
        for mine, theirs in zip(got["models"], expected["models"]):
            a, b = (np.array([float.fromhex(v) for v in m]) for m in (mine, theirs))
            assert np.abs(a - b).max() < 1e-8 * max(1.0, np.abs(b).max())


def test_every_case_was_recorded():
    assert set(KEPT["runs"]) == set(CASES)
