"""Rays: how large a network is, and what its growth far out says."""

from __future__ import annotations

import numpy as np
import pytest

import gradsift as gs
from gradsift import Oracle
from gradsift.errors import NotIdentifiable
from gradsift.reading.ledger import Ledger
from gradsift.reading.odd_form import link_of
from gradsift.reading.question import ALGEBRAIC, SATURATING_KINDS, all_but, names_of
from gradsift.reading.rays import ask_rays, opposites_cancel


def cast(f, d=4, seed=0):
    ledger = Ledger(Oracle(f, d))
    return ask_rays(ledger, link_of("tanh"), np.random.default_rng(seed)), ledger


@pytest.mark.parametrize("size", [1e-6, 1e-2, 1.0, 50.0, 1e5])
def test_beyond_the_scale_a_ray_is_flat_and_well_below_it_is_not(size):
    a = np.random.default_rng(1).standard_normal((3, 4)) / size

    def f(X):
        return np.tanh(X @ a.T) @ np.array([0.5, -1.0, 0.8]) + 2.0

    rays, ledger = cast(f)
    ahead = f(np.array([[1.5], [1e9], [0.2]]) * rays.scale * rays.first)
    assert ahead[0] == pytest.approx(ahead[1], abs=1e-13)
    assert abs(ahead[2] - ahead[1]) > 1e-13
    assert rays.intercept == pytest.approx(2.0, abs=1e-14)
    assert ledger.n_queries < 30


def test_the_direction_with_the_smaller_scale_comes_first():
    rays, _ = cast(lambda X: np.tanh(X @ np.array([1.0, 0.1, 0.0, 0.0])), seed=3)
    assert rays.scale <= rays.second_scale
    assert abs(rays.first @ rays.second) < 1e-14


def test_a_constant_is_refused():
    with pytest.raises(NotIdentifiable, match="constant"):
        cast(lambda X: np.full(len(X), 3.0))


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1.0, 1e4])
def test_a_linear_term_is_measured_to_the_last_digits_and_taken_off(size):
    v = size * np.arange(4.0)
    rays, ledger = cast(lambda X: np.tanh(X[:, 0] + X[:, 2]) + X @ v + 0.5)
    np.testing.assert_allclose(ledger.linear, v, rtol=0, atol=1e-12 * np.linalg.norm(v))
    np.testing.assert_allclose(np.sort(np.abs(rays.plateaus - 0.5)), 1.0, atol=1e-6)
    assert rays.intercept == pytest.approx(0.5, abs=1e-6)
    assert ledger.n_queries < 50


def test_functions_without_a_linear_term_are_not_given_one():
    assert cast(lambda X: np.tanh(X[:, 0] - 1e4))[1].linear is None
    assert cast(lambda X: 1e8 * np.tanh(X[:, 0]))[1].linear is None


def test_relu_units_are_told_from_a_linear_term_by_the_two_slopes_of_a_line():
    with pytest.raises(NotIdentifiable, match="ReLU") as refusal:
        cast(lambda X: np.maximum(X[:, 0] + X[:, 1], 0) + X[:, 2])
    assert refusal.value.rules_out.families == names_of(*SATURATING_KINDS)


@pytest.mark.parametrize("g", [np.arctan, lambda z: z / (1 + np.abs(z))])
def test_algebraic_tails_are_told_from_exponential_ones(g):
    with pytest.raises(NotIdentifiable, match="arctan") as refusal:
        cast(lambda X: g(X @ np.arange(1.0, 5.0)))
    assert all_but(refusal.value.rules_out.families) == names_of(ALGEBRAIC)


def test_other_functions_are_refused_with_their_last_answers_and_a_power_with_its_exponent():
    with pytest.raises(NotIdentifiable, match=r"neither to a constant nor to a line .* the last answers"):
        cast(lambda X: np.sin(X @ np.arange(1.0, 5.0)))
    with pytest.raises(NotIdentifiable, match="grows like the radius to the power 2 "):
        cast(lambda X: np.square(X @ np.arange(1.0, 5.0)))


def test_a_ray_whose_answers_stop_changing_too_late_is_not_refused_with_ratios_that_are_no_numbers():
    with pytest.raises(NotIdentifiable) as refusal:
        cast(lambda X: np.where(np.abs(X).max(axis=1) < 1e15, 0.0, 1.0))
    assert "nan" not in str(refusal.value)


def test_opposite_points_cancel_with_one_layer_and_not_with_two():
    rng = np.random.default_rng(7)
    A, b, B = rng.standard_normal((6, 4)), rng.standard_normal(6), rng.standard_normal((3, 6))

    def one(X):
        return np.tanh(X @ A.T + b) @ np.arange(1.0, 7) - 0.3

    def two(X):
        return np.tanh(np.tanh(X @ A.T + b) @ B.T + 0.4) @ np.array([1.0, -0.7, 0.5])

    for f, cancel in ((one, True), (two, False)):
        ledger = Ledger(Oracle(f, 4))
        rays = ask_rays(ledger, link_of("tanh"), rng, both_ways=True)
        assert opposites_cancel(ledger, rng) is cancel
        assert rays.may_cancel(ledger.tolerance(0.0)) or not cancel
        assert ledger.spent["depth"] == 16


def test_a_deep_box_is_sent_on_before_any_circle():
    ratios = []
    for seed in range(5):
        rng = np.random.default_rng([9, seed])
        A, b, B = rng.standard_normal((5, 6)), rng.standard_normal(5), rng.standard_normal((3, 5))

        def f(X, A=A, b=b, B=B):
            return np.tanh(np.tanh(X @ A.T + b) @ B.T + 0.4) @ np.array([1.0, -0.7, 0.5])

        given = gs.recover(Oracle(f, 6), layers=2, random_state=seed)
        found = gs.recover(Oracle(f, 6), random_state=seed)
        assert found.certified
        assert tuple(found.network.widths) == (5, 3)
        ratios.append(found.n_queries / given.n_queries)
    assert np.median(ratios) < 1.25
