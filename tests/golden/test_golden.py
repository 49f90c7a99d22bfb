"""What small runs ask and find, to the last bit on the machine that recorded them, and in substance elsewhere."""

from __future__ import annotations

import json

import numpy as np
import pytest

from .record import ALL, RUNS, machine, run

KEPT = json.loads(RUNS.read_text())
PARTS = ("models", "layers", "predictions")


@pytest.mark.parametrize("name", ALL)
def test_a_run_asks_and_finds_what_it_did(name):
    expected, got = KEPT["runs"][name], run(name)
    if machine() == KEPT["machine"]:
        assert got == expected
        return
    # Other arithmetic: other last bits, after which noisy runs go their own way.
    for part in ("certified", "error", "activation", "widths"):
        assert got[part] == expected[part]
    pairs = [(a, b) for part in PARTS for a, b in zip(got.get(part, []), expected.get(part, []), strict=True)]
    assert [len(mine) for mine, _ in pairs] == [len(theirs) for _, theirs in pairs]
    if name.startswith("exact"):
        for pair in pairs:
            a, b = (np.array([float.fromhex(v) for v in m]) for m in pair)
            assert np.abs(a - b).max() < 1e-8 * max(1.0, np.abs(b).max())


def test_every_case_was_recorded():
    assert set(KEPT["runs"]) == set(ALL)
