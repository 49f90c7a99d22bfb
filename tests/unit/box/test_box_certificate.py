"""What is claimed inside bounds, against fits to many draws of the errors, and in other coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gradsift as gs
from gradsift.certificate import BOUND
from gradsift.fit import Parameters, fit_jointly
from gradsift.likelihood import Noise
from gradsift.reading.box.box_certificate import box_errors, exact_result
from gradsift.reading.ledger import EPS, Ledger, Place
from gradsift.reading.odd_form import identity_form, link_of
from gradsift.reading.region import Region

TANH = link_of("tanh")


def truth(line=None):
    rng = np.random.default_rng(1)
    A, b = rng.standard_normal((2, 4)), np.array([0.3, -0.5])
    return Parameters(A, np.array([1.0, 0.6]), b, 0.2, line)


def function(theta, X):
    linear = 0.0 if theta.linear is None else X @ theta.linear
    return theta.c + np.tanh(X @ theta.A.T + theta.b) @ theta.u + linear


def fitted_to(theta, errors, largest, X):
    return fit_jointly(theta, X, function(theta, X) + errors, Noise(16 * EPS * largest), TANH.odd, damping=1e-9)


@pytest.mark.parametrize("line", [None, np.array([0.5, 0.0, -0.3, 0.1])])
def test_errors_are_those_of_fits_to_many_draws(line):
    theta, rng = truth(line), np.random.default_rng(2)
    X, largest = rng.uniform(-1, 1, (80, 4)), 1e4  # rounding of large answers: 3.6e-11
    misses = {"offset": [], "weight": [], "across": []}
    for _ in range(40):
        fitted = fitted_to(theta, 16 * EPS * largest * rng.standard_normal(80), largest, X)
        found = box_errors(replace(fitted, residuals=0 * fitted.residuals), largest)
        assert found.chi == 0.0
        misses["offset"] += list((fitted.theta.b - theta.b) / found.offset)
        misses["weight"] += list((fitted.theta.u - theta.u) / found.weight)
        lengths = np.linalg.norm(theta.A, axis=1)
        misses["across"] += list(np.linalg.norm(fitted.theta.A - theta.A, axis=1) / lengths / found.across)
    for values in misses.values():
        assert 0.75 < np.sqrt(np.mean(np.square(values))) < 1.25


def test_residuals_beyond_rounding_enlarge_every_error_alike():
    theta, rng = truth(), np.random.default_rng(3)
    X = rng.uniform(-1, 1, (60, 4))
    fitted = fitted_to(theta, 0.0, 1.0, X)
    calm, loud = (box_errors(replace(fitted, residuals=np.full(60, size * 16 * EPS)), 1.0) for size in (0.5, 7.0))
    assert (calm.chi, loud.chi) == pytest.approx((0.5, 7.0))
    for name in ("across", "offset", "weight", "bounds"):
        np.testing.assert_allclose(getattr(loud, name), 7 * np.asarray(getattr(calm, name)))
    worst = np.maximum(calm.across, np.maximum(calm.offset / (1 + np.abs(theta.b)), calm.weight / theta.u))
    np.testing.assert_allclose(calm.bounds, BOUND * worst, rtol=1e-9)
    assert calm.linear is None


def bounded(theta, middle, half):
    """Return a place in these bounds, and its answers to rows inside."""
    oracle = gs.Oracle(lambda X: function(theta, (X - middle) / half), 4, bounds=(middle - half, middle + half))
    place = Place(Ledger(oracle), Region.of(oracle))
    place.ask(place.region.draw(80, 1.0, np.random.default_rng(4)), "student")
    return place


@pytest.mark.parametrize("line", [None, np.array([0.5, 0.0, -0.3, 0.1])])
def test_the_network_is_told_in_the_coordinates_of_the_inputs(line):
    middle, half = np.array([1.0, -2.0, 0.0, 5.0]), np.array([0.5, 2.0, 1.0, 3.0])
    theta = truth(line)
    place = bounded(theta, middle, half)
    fitted = fitted_to(theta, 0.0, place.ledger.largest, place.X)
    reading = exact_result(fitted, place, TANH, np.array([1e-15]), 80)
    assert reading.certified
    X = np.random.default_rng(5).uniform(middle - half, middle + half, (50, 4))
    np.testing.assert_allclose(reading.model.predict(X), function(theta, (X - middle) / half), atol=1e-12)
    assert reading.model.has_linear_term == (line is not None)
    if line is not None:
        shown = np.sqrt(np.diag(fitted.covariance)[fitted.theta.layout.linear_term]) / half
        np.testing.assert_allclose(reading.standard_errors["linear"], shown)


@pytest.mark.parametrize("activation", ["tanh", "logistic", "gelu"])
def test_errors_are_those_of_the_inputs_own_coordinates_however_far_out_the_bounds_lie(activation):
    far, unequal = np.array([40.0, -70.0, 0.0, 100.0]), np.array([0.5, 2.0, 1.0, 3.0])
    theta, link = truth(), identity_form("gelu") if activation == "gelu" else link_of(activation)
    odd, off = link.odd.value, {name: [] for name in ("units", "slopes", "offsets", "weights", "intercept", "linear")}
    rng, line = np.random.default_rng(6), np.array([0.5, 0.0, -0.3, 0.1])
    inside = theta._replace(A=0.6 * theta.A, linear=line)

    def values(U):
        return inside.c + odd(U @ inside.A.T + inside.b) @ inside.u + U @ line

    oracle = gs.Oracle(lambda X: values((X - far) / unequal), 4, bounds=(far - unequal, far + unequal))
    place, sd = Place(Ledger(oracle), Region.of(oracle)), 1e-9
    X = place.region.draw(120, 1.0, rng)
    place.ask(X, "student")
    place.ledger.largest = sd / (16 * EPS)  # rounding as large as the errors below
    out = place.outside(inside)
    expected = link.to_model(out.A, out.b, out.u, out.c, out.linear)
    for _ in range(40):
        fitted = fit_jointly(inside, X, values(X) + sd * rng.standard_normal(120), Noise(sd), link.odd, damping=1e-9)
        reading = exact_result(replace(fitted, residuals=0 * fitted.residuals), place, link, np.zeros(1), 120)
        model, errors = reading.model, reading.standard_errors
        np.testing.assert_allclose(model.units, expected.units, atol=1e-4)
        off["units"] += list(np.linalg.norm(model.units - expected.units, axis=1) / errors["units"])
        for name in ("slopes", "offsets", "weights", "linear"):
            off[name] += list((getattr(model, name) - getattr(expected, name)) / errors[name])
        off["intercept"] += list((model.intercept - expected.intercept) / errors["intercept"])
    for name, misses in off.items():
        assert 0.7 < np.sqrt(np.mean(np.square(misses))) < 1.3, name


def test_units_that_may_be_turned_leave_no_linear_term_where_there_is_none():
    rng = np.random.default_rng(7)
    for activation in ("gelu", "softplus"):
        rows, offsets = rng.standard_normal((3, 6)), rng.standard_normal(3)
        model = gs.SigmoidCombination(rows, [1.0, 0.7, -0.5], 1.0, offsets, 0.2, activation)
        assert model.canonical().has_linear_term
        found = gs.recover(gs.Oracle(model.predict, 6, bounds=(-1.5, 1.5)), activation=activation, random_state=0)
        assert not found.model.has_linear_term
        assert "linear" not in found.standard_errors
        np.testing.assert_allclose(found.model.units, model.units, atol=1e-9)


def test_fresh_points_that_are_missed_and_a_wide_fit_are_not_certified():
    theta = truth()
    place = bounded(theta, np.zeros(4), np.ones(4))
    fitted = fitted_to(theta, 0.0, place.ledger.largest, place.X)
    assert exact_result(fitted, place, TANH, np.array([1e-15]), 80).certified
    assert not exact_result(fitted, place, TANH, np.array([1e-3]), 80).certified
    loud = replace(fitted, residuals=fitted.residuals + 1e-6)
    assert not exact_result(loud, place, TANH, np.array([1e-15]), 80).certified
