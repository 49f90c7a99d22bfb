"""A linear term beside the sigmoids: found with the units, to the last digits, for about d more queries."""

from __future__ import annotations

import numpy as np
import pytest

import gradsift as gs
from gradsift.reading import identify

from .test_black_box_exact import teacher, worst_error


def with_skip(d, k, activation, size, seed=0):
    sigmoids = teacher(d, k, activation, seed)
    g = size * np.random.default_rng([13, d, k, seed]).standard_normal(d) / np.sqrt(d)
    return gs.SigmoidCombination(
        sigmoids.units, sigmoids.weights, sigmoids.slopes, sigmoids.offsets, sigmoids.intercept, activation, g
    )


# d, k, activation, bound on queries over unknowns
CELLS = [
    (10, 3, "tanh", 2.6),
    (10, 3, "logistic", 2.6),
    (50, 10, "tanh", 1.35),
    (50, 10, "logistic", 1.35),
    (50, 10, "erf", 1.35),
    (3, 12, "tanh", 3.5),
    (2, 4, "tanh", 5.0),
    (200, 4, "tanh", 1.1),
]


@pytest.mark.parametrize(("d", "k", "activation", "limit"), CELLS)
def test_the_units_and_the_linear_term_are_found_to_the_last_digits(d, k, activation, limit):
    for seed in range(2):
        truth = with_skip(d, k, activation, 1.0, seed)
        oracle = gs.Oracle(truth.predict, d)
        found = identify(oracle, activation, rng=seed)
        assert found.certified, found.verdict
        assert "linear term" in found.verdict
        assert worst_error(found.model, truth) < 1e-8
        assert np.linalg.norm(found.model.linear - truth.linear) < 1e-8 * np.linalg.norm(truth.linear)
        assert truth.n_parameters == k * (d + 2) + 1 + d
        assert oracle.n_queries < limit * truth.n_parameters


@pytest.mark.parametrize("size", [1e-9, 1e-3, 100.0])
def test_linear_terms_of_any_size_up_to_a_hundred_times_the_units(size):
    truth = with_skip(6, 4, "tanh", size)
    found = identify(gs.Oracle(truth.predict, 6), rng=0)
    assert found.certified, found.verdict
    assert worst_error(found.model, truth) < 1e-8
    assert np.linalg.norm(found.model.linear - truth.linear) < 1e-8 * np.linalg.norm(truth.linear)


def test_without_a_linear_term_none_is_returned():
    truth = teacher(6, 3)
    assert not identify(gs.Oracle(truth.predict, 6), rng=0).model.has_linear_term


def test_the_standard_errors_of_the_linear_term_cover_its_error():
    covered = []
    for seed in range(6):
        truth = with_skip(5, 3, "tanh", 1.0, seed)
        found = identify(gs.Oracle(truth.predict, 5), rng=seed)
        errors = found.standard_errors["linear"]
        assert errors.shape == (5,)
        covered.append(np.abs(found.model.linear - truth.linear) <= 4 * errors + 1e-16)
    assert np.mean(covered) == 1.0  # 30 errors at four standard sizes that are cautious already


def test_the_family_beside_a_linear_term_is_told_from_the_answers():
    truth = with_skip(5, 3, "erf", 1.0)
    found = gs.recover(gs.Oracle(truth.predict, 5), random_state=0)
    assert found.certified
    assert found.model.activation == "erf"
    assert worst_error(found.model, truth) < 1e-8


def test_recover_carries_the_linear_term_into_summary_and_predictions():
    truth = with_skip(6, 3, "tanh", 0.7)
    found = gs.recover(gs.Oracle(truth.predict, 6), random_state=0)
    assert found.certified
    assert "linear term [" in found.summary()
    X = np.random.default_rng(0).standard_normal((40, 6))
    np.testing.assert_allclose(found.model.predict(X), truth.predict(X), atol=1e-11)


def test_every_output_gets_its_own_linear_term():
    hidden, rng = teacher(5, 3), np.random.default_rng(3)
    weights, linear = rng.standard_normal((3, 2)), rng.standard_normal((5, 2))

    def f(X):
        return np.tanh(hidden.arguments(X)) @ weights + X @ linear

    found = gs.recover(gs.Oracle(f, 5), random_state=1)
    assert found.certified
    X = rng.standard_normal((30, 5))
    together = np.stack([model.predict(X) for model in found.outputs], axis=1)
    np.testing.assert_allclose(together, f(X), atol=1e-9)
    np.testing.assert_allclose(np.stack([m.linear for m in found.outputs], axis=1), linear, atol=1e-10)


def test_noise_beside_a_linear_term_is_never_certified_as_exact():
    rng, truth = np.random.default_rng(0), with_skip(5, 3, "tanh", 1.0)
    oracle = gs.Oracle(lambda X: truth.predict(X) + 1e-3 * rng.standard_normal(len(X)), 5)
    with pytest.raises(gs.errors.NotIdentifiable):
        identify(oracle, rng=0)
    assert oracle.n_queries < 100


def test_a_unit_beyond_the_reach_of_the_scan_is_not_overlooked():
    rng = np.random.default_rng(100)
    units, linear = rng.standard_normal((3, 4)), rng.standard_normal(4)
    slopes = np.array([1.5, 2.0, 1.0]) / np.linalg.norm(units, axis=1)
    linear *= 1e4 / np.linalg.norm(linear)
    model = gs.SigmoidCombination(units, [1, 0.7, 0.1], slopes, [0.3, -0.2, 1e4], 0.1, "tanh", linear)
    with pytest.warns(gs.errors.UncertifiedWarning):
        found = gs.recover(gs.Oracle(model.predict, 4), random_state=0)
    assert not found.certified


@pytest.mark.parametrize("blur", ["noise", "decimals"])
def test_a_linear_term_is_found_through_imperfect_answers(blur):
    truth, rng = with_skip(5, 3, "tanh", 1.0), np.random.default_rng(7)
    through = {
        "noise": lambda X: truth.predict(X) + 0.02 * rng.standard_normal(len(X)),
        "decimals": lambda X: np.round(truth.predict(X), 2),
    }
    oracle = gs.Oracle(through[blur], 5)
    found = gs.recover(oracle, random_state=0)
    assert found.certified, found.verdict
    assert gs.match_units(found.model.units, truth.units).max_error < 0.1
    np.testing.assert_allclose(found.model.linear, truth.linear, atol=1e-10)
    assert oracle.n_queries < 500


def test_relu_units_behind_noise_are_not_called_a_linear_term():
    rng = np.random.default_rng(8)
    oracle = gs.Oracle(lambda X: np.maximum(X @ np.ones(4), 0) + 0.02 * rng.standard_normal(len(X)), 4)
    with pytest.raises(gs.errors.NotIdentifiable, match="different rates in opposite directions"):
        gs.recover(oracle, random_state=0)
