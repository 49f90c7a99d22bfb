"""True errors are measured in the sense of the bounds: what a unit is off by, whichever way it points."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import gradsift as gs
from benchmarks.boxes import error_bounds
from gradsift.certificate import Verdict
from gradsift.certificate import exact_rules as exact
from gradsift.certificate.limits import EXACT

UNITS = np.array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])


def model(activation, a=1.0, b=0.0, u=1.0, turned=False):
    """Return two units; the second is off by factors in slope and weight and by a shift of its offset, or turned."""
    sign, odd = (-1.0 if turned else 1.0), activation == "tanh"
    return gs.SigmoidCombination(
        UNITS * [[1.0], [sign]], [1.0, 0.5 * u * (sign if odd else 1.0)], [2.0, 3.0 * a], [0.4, sign * (1.0 + b)], 0.0,
        activation,
    )  # fmt: skip


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("activation", ["tanh", "softplus"])
def test_errors_of_sigmoids_are_the_largest_of_slope_offset_and_weight(activation, turned):
    truth = model(activation)
    for off in ({"a": 1 + 1e-6}, {"b": 2e-6}, {"u": 1 + 1e-6}):  # offsets count over one plus their size
        found = error_bounds.sigmoid_errors(model(activation, **off, turned=turned), truth)
        np.testing.assert_allclose(found, [0.0, 1e-6], rtol=1e-6)


@pytest.mark.parametrize("turned", [False, True])
def test_errors_of_kinks_are_those_of_jumps_and_offsets(turned):
    truth = model("relu")
    box = error_bounds.Box(truth.predict, truth)
    one = error_bounds.jump_errors(model("relu", a=1 + 1e-6, turned=turned), truth, box, coarse=False)
    np.testing.assert_allclose(one, [0.0, 1e-6], rtol=1e-6)
    same = error_bounds.jump_errors(model("relu", a=2.0, b=1.0, u=0.5), truth, box, coarse=False)
    np.testing.assert_allclose(same, 0.0, atol=1e-15)  # weight and slope of a sharp unit are one number
    bounded = box._replace(bounds=(-3.0, 3.0))  # there an offset counts over the jump across the box
    off = error_bounds.jump_errors(model("relu", b=9e-6), truth, bounded, coarse=False)
    np.testing.assert_allclose(off, [0.0, 1e-6], rtol=1e-6)
    assert error_bounds.jump_errors(model("relu", b=1.0), truth, box, coarse=True).max() == 0


def test_errors_of_layers_come_in_the_order_of_the_bounds():
    truth = gs.simulate.random_network(4, (3, 2), row_norms=1.5, offsets=0.5, rng=0).canonical()
    (W, b), (V, c), last = truth.layers
    moved = b.copy()
    moved[2] += 1e-6 * np.linalg.norm([*W[2], b[2]])
    found = gs.Network([(W, moved), (V, c), last]).reordered(0, np.array([2, 0, 1]))
    errors = error_bounds.errors_of("two layers", SimpleNamespace(deep=found), error_bounds.Box(truth.predict, truth))
    np.testing.assert_allclose(errors, [1e-6, 0, 0, 0, 0, 0], rtol=1e-6, atol=1e-15)


def test_a_bound_that_is_too_small_is_counted(monkeypatch):
    true = error_bounds.run_one(("tanh", 0, True))
    assert true.certified
    assert true.ratio < 1
    recover = gs.recover

    def boasting(*args, **options):
        found = recover(*args, **options)
        found = found.with_evidence(bounds=np.zeros(found.n_units))
        return replace(found, judgement=Verdict((exact.error_bound(0.0, EXACT),), "", ""))

    monkeypatch.setattr(gs, "recover", boasting)
    monkeypatch.setattr(error_bounds, "LEAST", 1e-300)
    told = error_bounds.run_one(("tanh", 0, True))
    assert told.ratio > 1
    assert told.beyond == told.units


def test_two_units_whose_kinks_cross_on_the_path_are_not_certified_as_one():
    """Single precision, two ReLU units 1.4 degrees apart: on this path of this run their kinks lie in one place."""
    outcome = error_bounds.run_one(("relu float32", 817, False))
    assert not outcome.certified or np.isfinite(outcome.ratio)
