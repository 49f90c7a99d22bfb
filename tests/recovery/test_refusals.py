"""What a refusal says of a box is so, and its advice is worth following."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.special import erf, expit
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier

import gradsift as gs
from gradsift.reading.plateaus import Incomplete, reader

D = 6


def units(seed, k=4):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((k, D))
    a *= 2 / np.linalg.norm(a, axis=1, keepdims=True)
    return a, rng.standard_normal(k), rng.choice([-1.0, 1.0], k) * rng.uniform(0.4, 1, k)


def network(seed, g=np.tanh):
    a, b, u = units(seed)
    return lambda X: g(X @ a.T + b) @ u


def refusal(function, seed=0, **options):
    """Return what the refusal of a box says."""
    oracle = {name: options.pop(name) for name in ("link", "bounds") if name in options}
    with pytest.raises(gs.errors.NotIdentifiable) as refused:
        gs.recover(gs.Oracle(function, D, **oracle), random_state=seed, **options)
    return str(refused.value)


@pytest.mark.parametrize("seed", range(3))
def test_a_box_that_becomes_another_one_is_said_to_have_changed(seed):
    n, parts = [0], [network(seed), network(seed + 100)]

    def changing(X):
        n[0] += len(X)
        return parts[n[0] > 40](X)

    assert "the box has changed on the way" in refusal(changing)


@pytest.mark.parametrize("seed", range(3))
def test_units_of_eight_bits_are_constant_in_pieces_with_the_jump_that_was_measured(seed):
    a, b, u = units(seed)
    says = refusal(lambda X: (np.round(127 * np.tanh(X @ a.T + b)) / 127) @ u, seed)
    jump = float(re.search(r"constant in pieces: .* jumps by ([0-9.e-]+) within", says)[1])
    assert np.abs(jump - np.abs(u) / 127).min() < 1e-4


def test_trees_are_constant_in_pieces_behind_probabilities_and_links_and_single_precision():
    X = np.random.default_rng(0).standard_normal((300, D))
    y = network(0)(X)
    forest = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, y > 0)
    boosted = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    for function, link in (
        (lambda X: forest.predict_proba(X)[:, 1], None),
        (lambda X: forest.predict_proba(X)[:, 1], "logistic"),
        (lambda X: boosted.predict(X).astype(np.float32), None),
        (boosted.predict, None),
    ):
        says = refusal(function, link=link)
        assert says.startswith("The function is constant in pieces")
        assert "give link" not in says


@pytest.mark.parametrize("seed", range(3))
def test_a_box_that_rounds_its_inputs_is_told_and_read_in_their_precision(seed):
    f = network(seed)

    def rounding(X):
        return f(X.astype(np.float32).astype(np.float64))

    assert "the box rounds its inputs" in refusal(rounding, seed)
    assert gs.recover(gs.Oracle(lambda X: rounding(X).astype(np.float32), D), random_state=seed).certified


@pytest.mark.parametrize("where", ["free", "budget", "bounds"])
def test_a_link_is_named_within_budgets_and_bounds_and_can_be_undone(where):
    f = network(1)
    options = {"budget": {"max_queries": 400}, "bounds": {"bounds": (-2, 2)}}.get(where, {})
    linked = (lambda X: expit(f(X))) if where != "bounds" else (lambda X: expit(f(X) + np.sin(3 * X[:, 0])))
    assert refusal(linked, **options).startswith("Outputs are in (0, 1): give link='logistic'")
    assert gs.recover(gs.Oracle(lambda X: expit(f(X)), D, link="logistic"), random_state=0).certified


@pytest.mark.parametrize("seed", range(3))
def test_no_link_is_named_where_the_function_grows(seed):
    a = units(seed)[0][0]
    says = refusal(lambda X: 0.5 + 1e-3 * np.sin(X @ a) + 1e-3 * np.abs(X[:, 0]) ** 1.5, seed)
    assert "give link" not in says
    assert "grows like the radius to the power 1.5" in says


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_relu_beside_gelu_units_are_units_of_two_kinds(seed):
    def both(z):
        return np.concatenate([np.maximum(z[:, :2], 0), 0.5 * z[:, 2:] * (1 + erf(z[:, 2:] / np.sqrt(2)))], axis=1)

    for activation in ("auto", "gelu"):
        says = refusal(network(seed, both), seed, activation=activation)
        assert "units of two kinds: some kinks have the shape of gelu, others of relu" in says


@pytest.mark.parametrize("seed", range(2))
def test_a_step_far_out_is_a_jump_and_not_a_parallel_unit(seed):
    f = network(seed)
    says = refusal(lambda X: f(X) + (X[:, 0] > 50), seed)
    assert re.search(r"jumps by 1 within [0-9.]+e-(09|1[0-9]) near a circle", says)
    assert "parallel" not in says


def test_a_search_that_misses_some_answers_is_tried_once_more_before_it_refuses(monkeypatch):
    calls, searched = [], reader._any_family

    def once_in_vain(*question):
        calls.append(1)
        if len(calls) == 1:
            raise Incomplete("2 units explain the steps but not all answers.")
        return searched(*question)

    monkeypatch.setattr(reader, "_any_family", once_in_vain)
    assert gs.recover(gs.Oracle(network(0), D), layers=1, random_state=0).certified
    assert len(calls) == 2


@pytest.mark.filterwarnings("ignore::gradsift.errors.UncertifiedWarning")
@pytest.mark.parametrize("seed", [1, 3])
def test_noise_in_the_last_digits_of_relu_units_is_not_called_rounding(seed):
    noise, f = np.random.default_rng(seed), network(seed, lambda z: np.maximum(z, 0))
    box = gs.Oracle(lambda X: f(X) * (1 + 1e-12 * noise.standard_normal(len(X))), D)
    found = gs.recover(box, activation="relu", random_state=seed)
    assert "what noise explains" in found.verdict
    assert "rounding explains" not in found.verdict
