"""Links at the end of a box: undone, with the precision that is left."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax

import gradsift as gs
from gradsift.oracle.output_links import LINKS, likely_link

RNG = np.random.default_rng(11)
W, B, V = RNG.standard_normal((4, 5)), RNG.standard_normal(4), RNG.standard_normal((3, 4))
X = np.random.default_rng(12).standard_normal((50, 5))


def sums(rows):
    return np.tanh(rows @ W.T + B) @ V.T


def centered(z):
    return z - z.mean(axis=1, keepdims=True)


BOXES = [
    ("logistic", lambda r: expit(sums(r)), sums),
    ("logit", lambda r: expit(sums(r)), sums),
    ("tanh", lambda r: np.tanh(sums(r)), sums),
    ("softmax", lambda r: softmax(sums(r), axis=1), lambda r: centered(sums(r))),
    ("log_softmax", lambda r: log_softmax(sums(r), axis=1), lambda r: centered(sums(r))),
]


@pytest.mark.parametrize(("link", "box", "expected"), BOXES)
def test_an_oracle_with_a_link_answers_with_the_sums_before_it(link, box, expected):
    oracle = gs.Oracle(box, 5, link=link)
    np.testing.assert_allclose(oracle(X), expected(X), atol=1e-11)
    np.testing.assert_allclose(oracle.answers().Y, expected(X), atol=1e-11)
    np.testing.assert_array_equal(oracle.recorded().Y, box(X))


@pytest.mark.parametrize("link", ["logistic", "tanh", "softmax", "log_softmax"])
def test_errors_of_the_sums_are_those_of_the_outputs_stretched(link):
    box = {name: f for name, f, _ in BOXES}[link]
    outputs, step = box(X), 1e-7
    sizes = LINKS[link].errors(outputs, np.full(outputs.shape, step))
    moved = LINKS[link].undo(outputs + step * np.random.default_rng(0).choice([-1.0, 1.0], outputs.shape))
    apart = np.abs(moved - LINKS[link].undo(outputs))
    assert (apart < 1.01 * sizes).all()
    assert (apart > 0.2 * sizes).any()


@pytest.mark.parametrize(("link", "box", "expected"), BOXES)
def test_networks_behind_links_are_found_and_certified(link, box, expected):
    found = gs.recover(gs.Oracle(box, 5, link=link), random_state=2)
    assert found.certified
    assert found.n_units == 4
    np.testing.assert_allclose(found.network.predict(X), expected(X), atol=1e-7)


def test_a_refusal_names_the_link():
    with pytest.raises(gs.errors.NotIdentifiable, match="add up to one: give link='softmax'"):
        gs.recover(gs.Oracle(lambda r: softmax(sums(r), axis=1), 5), random_state=0)
    assert likely_link(softmax(sums(X), axis=1)[:, :1]).endswith("if they are probabilities")
    assert likely_link(log_softmax(sums(X), axis=1)).endswith("link='log_softmax'")
    assert likely_link(sums(X)) == ""
    assert likely_link(np.full((8, 1), 0.3)) == ""


def test_a_link_nobody_knows_and_outputs_outside_its_range_are_refused():
    with pytest.raises(ValueError, match="link must be None or one of logistic"):
        gs.Oracle(sums, 5, link="probit")
    with pytest.raises(gs.errors.OracleFailure, match="strictly between 0 and 1 to undo link='logistic'"):
        gs.Oracle(lambda r: (sums(r) > 0).astype(float), 5, link="logistic")(X)


def test_a_classifier_is_read_from_its_probabilities_alone():
    from sklearn.neural_network import MLPClassifier

    labels = np.argmax(sums(X), axis=1)
    net = MLPClassifier((3,), activation="tanh", solver="lbfgs", alpha=1.0, max_iter=300, random_state=0)
    net.fit(X, labels)
    oracle = gs.oracle.from_sklearn(net, link="softmax")
    np.testing.assert_array_equal(oracle.outputs(X), net.predict_proba(X))
    found = gs.recover(oracle, random_state=1)
    assert found.certified
    np.testing.assert_allclose(softmax(found.network.predict(X), axis=1), net.predict_proba(X), atol=1e-8)


def test_rows_that_a_softmax_has_swallowed_are_left_out_and_a_probability_of_one_is_not():
    rows = np.array([[0.0], [50.0], [900.0]])
    oracle = gs.Oracle(lambda r: np.stack([expit(-r[:, 0]), expit(r[:, 0])], axis=1), 1, link="softmax")
    oracle.outputs(rows)
    assert oracle.recorded().Y[1, 1] == 1.0
    kept = oracle.answers()
    np.testing.assert_array_equal(kept.X, rows[:2])
    np.testing.assert_allclose(kept.Y[:, 1], rows[:2, 0] / 2, rtol=1e-14)
    np.testing.assert_array_equal(oracle.recorded_inside().X, rows[:2])
    with pytest.raises(gs.errors.OracleFailure, match="strictly between 0 and 1"):
        oracle(rows)
