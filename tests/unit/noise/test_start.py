"""Starts of the methods for rounded answers (steps on a circle) and for boxes (derivatives), and their refusals."""

import warnings

import numpy as np
import pytest

import gradsift as gs
from gradsift.activations import get_activation
from gradsift.errors import NotIdentifiable
from gradsift.fit import Parameters, fit_jointly, predict
from gradsift.fit.moves import drop_or_merge, room_for_unit
from gradsift.likelihood import Noise
from gradsift.reading.box.derivatives import look_near
from gradsift.reading.ledger import Ledger, Place
from gradsift.reading.noise.box_stages import by_repeats, outlook
from gradsift.reading.noise.reader import by_leverage
from gradsift.reading.noise.start import find_by_steps, find_scale
from gradsift.reading.odd_form import link_of
from gradsift.reading.precision import Precision
from gradsift.reading.region import Region
from gradsift.reading.scouts import measure_precision

TANH = get_activation("tanh")


def network(k, d, seed):
    rng = np.random.default_rng([61, seed])
    A = rng.standard_normal((k, d))
    A *= (np.linspace(1, 2, k) / np.linalg.norm(A, axis=1))[:, None]
    u = rng.choice([-1.0, 1.0], k) * np.linspace(0.4, 1, k)
    return Parameters(A, u, rng.standard_normal(k), 0.3)


def errors_of(A, truth):
    return gs.match_units(A, truth.A / np.linalg.norm(truth.A, axis=1, keepdims=True)).max_error


@pytest.mark.parametrize(("activation", "digits"), [("tanh", 4), ("tanh", 7), ("erf", 5)])
def test_a_coarser_link_is_flat_where_rounding_hides_its_slope(activation, digits):
    step = 10.0**-digits
    link = link_of(activation).with_precision(step, 2.0**-52)
    assert 1 - link.odd.value(np.array([link.flat]))[0] == pytest.approx(0.25 * step, rel=1e-3)
    # An answer off by half a step moves the inverted argument by half a step over the slope.
    slope = link.odd.derivative(np.array([link.usable]))[0]
    assert 0.5 * step / slope < 0.06
    assert link.usable < link.flat < link_of(activation).flat


@pytest.mark.parametrize(("digits", "allowed"), [(6, 1e-4), (4, 1e-2)])
def test_steps_on_a_circle_give_units_as_good_as_the_grid(digits, allowed):
    truth = network(4, 9, 0)
    oracle = gs.Oracle(lambda X: np.round(predict(truth, X, TANH), digits), 9)
    precision = measure_precision(oracle, np.random.default_rng(0))
    ledger = Ledger(oracle, None, None, Precision("rounded", absolute=precision.step))
    start = find_by_steps(ledger, link_of("tanh"), precision, np.random.default_rng(1))
    assert len(start.u) == 4
    assert errors_of(start.A, truth) < allowed
    assert ledger.n_queries < 2.5 * (4 * 11 + 1)


def test_answers_too_coarse_for_steps_are_left_to_the_student():
    truth = network(3, 6, 1)
    oracle = gs.Oracle(lambda X: np.round(predict(truth, X, TANH), 2), 6)
    precision = measure_precision(oracle, np.random.default_rng(0))
    ledger = Ledger(oracle, None, None, Precision("rounded", absolute=precision.step))
    assert find_by_steps(ledger, link_of("tanh"), precision, np.random.default_rng(1)) is None
    assert ledger.n_queries < 30


def test_the_scale_is_bisected_where_leaps_miss_it():
    # With leaps alone 3 of these 40 ended in "No radius was found": too small and too large, turn by turn.
    truth = network(5, 20, 21)
    most = 0
    for seed in range(40):
        ledger = Ledger(gs.Oracle(lambda X: np.round(predict(truth, X, TANH), 2), 20))
        scale = find_scale(ledger, Noise(0.003), np.random.default_rng(seed))
        assert 0.3 < scale.radius * np.median(np.linalg.norm(truth.A, axis=1)) < 30
        most = max(most, ledger.n_queries)
    assert most < 80


@pytest.mark.parametrize(("k", "d"), [(1, 4), (3, 8), (6, 7)])
def test_derivatives_inside_a_box_span_and_separate_the_units(k, d):
    truth = network(k, d, 2)
    oracle = gs.Oracle(lambda X: predict(truth, X, TANH), d, bounds=(-3, 3))
    box = Place(Ledger(oracle), Region.of(oracle))
    rng = np.random.default_rng(4)
    near = look_near(box, rng)
    assert near.k == k
    inside = truth.A * 3
    left = inside - inside @ near.basis.T @ near.basis
    assert np.abs(left).max() < 1e-4 * np.abs(inside).max()
    near.bend_again(rng)
    near.bend_again(rng)
    # Second derivatives of the true network, by algebra.
    z = inside @ near.centers[0] + truth.b
    B = inside @ near.basis.T
    expected = (B.T * (truth.u * TANH.second_derivative(z))) @ B
    np.testing.assert_allclose(near.bends[0], expected, atol=2e-3 * np.abs(expected).max())
    start = near.start(TANH, rng)
    assert errors_of(start.A @ near.basis, truth) < 0.05
    assert oracle.n_queries < 4 * (k * (d + 2) + 1) + 40


def test_a_unit_for_every_input_leaves_no_smaller_span():
    truth = network(5, 3, 3)
    oracle = gs.Oracle(lambda X: predict(truth, X, TANH), 3, bounds=(-3, 3))
    assert look_near(Place(Ledger(oracle), Region.of(oracle)), np.random.default_rng(0)).k == 3


@pytest.mark.parametrize(("see", "word"), [(np.round, "integer"), (lambda x: 0 * x, None), (lambda x: x, None)])
def test_an_input_that_only_counts_in_whole_numbers_is_refused(see, word):
    truth = network(2, 4, 5)

    def function(X):
        X = X.copy()
        X[:, 1] = see(X[:, 1])
        return predict(truth, X, TANH)

    oracle = gs.Oracle(function, 4, bounds=(-5, 5))
    if word is None:
        assert gs.recover(oracle, random_state=1).certified
    else:
        with pytest.raises(NotIdentifiable, match=r"input 1 .* integer or a category"):
            gs.recover(oracle, random_state=1)


@pytest.mark.parametrize("value", [1.0, 0.123456789012])
def test_a_constant_inside_a_box_is_refused(value):
    with pytest.raises(NotIdentifiable, match="constant"):
        gs.recover(gs.Oracle(lambda X: np.full(len(X), value), 4, bounds=(-5, 5)), random_state=1)


def test_units_beyond_doubt_are_not_fitted_away_and_leave_no_room_for_more():
    truth = network(3, 5, 6)
    rng = np.random.default_rng(7)
    X = 2 * rng.standard_normal((80, 5))
    noise = Noise(1e-5 / np.sqrt(12))
    y = np.round(predict(truth, X, TANH), 5)
    fitted = fit_jointly(truth, X, y, noise, TANH)
    assert drop_or_merge(fitted, X, y, noise, TANH) is None
    assert not room_for_unit(fitted)
    keep = Parameters(truth.A[1:], truth.u[1:], truth.b[1:], truth.c)
    assert room_for_unit(fit_jointly(keep, X, y, noise, TANH))


def test_the_outlook_counts_levers_and_averages():
    truth = network(2, 6, 8)
    rng = np.random.default_rng(9)
    X = 2 * rng.standard_normal((200, 6))
    fitted = fit_jointly(truth, X, predict(truth, X, TANH), Noise(0.01), TANH)
    # One set of five levers halves a cone: three halvings for the first unit, none for the second.
    assert by_leverage(fitted, np.array([0.8, 0.05]), 0.1, 0.01) == 15
    assert by_repeats(100, np.array([0.2, 0.05]), 0.1) == 300
    assert outlook("Spent.", 300, 0.1) == "Spent; about 300 more queries would reach an accuracy of 0.1"
    assert outlook("Spent.", 0, 0.1) == "Spent."


def test_a_budget_for_rounded_answers_returns_what_is_known_with_the_queries_it_would_take():
    truth = network(3, 8, 10)
    oracle = gs.Oracle(lambda X: np.round(predict(truth, X, TANH), 5), 8)
    with pytest.warns(gs.errors.UncertifiedWarning):
        found = gs.recover(oracle, random_state=2, accuracy=1e-9, max_queries=170)
    assert not found.certified
    assert "more queries would reach an accuracy of 1e-09" in found.verdict
    assert found.n_queries <= 170
    assert errors_of(found.model.units, truth) < 1e-4  # far better than nothing
    whole = gs.Oracle(lambda X: np.round(predict(truth, X, TANH), 5), 8)
    again = gs.recover(whole, random_state=2, accuracy=1e-9)
    assert again.certified, again.verdict
    assert errors_of(again.model.units, truth) < 1e-9


def test_a_budget_too_small_for_a_box_names_the_one_that_would_do():
    truth = network(4, 9, 11)
    oracle = gs.Oracle(lambda X: predict(truth, X, TANH), 9, bounds=(-4, 4))
    with pytest.raises(gs.errors.BudgetSpent, match="about 148 queries in all would do for its 45 unknowns"):
        gs.recover(oracle, random_state=3, max_queries=100)
    assert oracle.n_queries <= 100
    assert gs.recover(gs.Oracle(oracle.function, 9, bounds=(-4, 4)), random_state=3, max_queries=148).certified


@pytest.mark.parametrize(("d", "k", "seed"), [(3, 2, 209), (4, 3, 202)])
def test_close_units_in_a_noisy_box_are_not_certified_as_one(d, k, seed):
    rng, noise = np.random.default_rng(seed), np.random.default_rng(seed - 200)
    units = rng.standard_normal((k, d))
    weights, slopes = rng.choice([-1, 1], k) * rng.uniform(0.3, 1, k), rng.uniform(1, 3, k)
    model = gs.SigmoidCombination(units, weights, slopes, rng.normal(size=k), 0.3)

    def answer(X):
        return model.predict(X) + 0.05 * noise.standard_normal(len(X))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
        found = gs.recover(gs.Oracle(answer, d, bounds=(-3, 3), max_queries=4000), random_state=seed - 200)
    assert not found.certified or found.n_units == k


def test_a_box_without_end_is_refused_before_any_query():
    oracle = gs.Oracle(lambda X: np.tanh(X[:, 0]), 2, bounds=(0, np.inf))
    with pytest.raises(ValueError, match="finite"):
        gs.recover(oracle)
    assert oracle.n_queries == 0
