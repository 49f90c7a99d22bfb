"""Networks with several hidden layers behind exact answers, and functions that are none."""

import warnings

import numpy as np
import pytest

import gradsift as gs
from gradsift.errors import BudgetSpent, GradsiftError, NotIdentifiable

pytestmark = pytest.mark.filterwarnings("ignore::gradsift.errors.UncertifiedWarning")


def network(d, widths, seed, activation="tanh", n_outputs=1):
    steep = 1.5 if activation == "tanh" else 3.0
    norms = [(1.0, 3.0), *[steep] * (len(widths) - 1)]
    return gs.simulate.random_network(
        d, widths, row_norms=norms, offsets=[1.0, *[0.5] * (len(widths) - 1)], activation=activation,
        n_outputs=n_outputs, rng=seed,
    )  # fmt: skip


@pytest.mark.parametrize(("d", "widths", "activation"), [
    (10, (6, 3), "tanh"), (4, (7, 3), "tanh"), (8, (6, 3), "logistic"),
])  # fmt: skip
def test_two_layers_are_found_to_the_last_digits(d, widths, activation):
    truth = network(d, widths, 31, activation)
    found = gs.recover(gs.Oracle(truth.predict, d), activation=activation, random_state=1)
    assert found.certified, found.verdict
    assert found.network.widths == widths
    match = gs.match_networks(found.network, truth)
    assert match.max_error < 1e-8
    assert found.n_queries < 9 * truth.n_parameters
    assert "do not cancel" in found.diagnostics["depth"]
    X = np.random.default_rng(2).standard_normal((100, d))
    np.testing.assert_allclose(found.network.predict(X), truth.predict(X), atol=1e-9)
    assert f"{widths[0]} and {widths[1]} units" in found.verdict
    assert "output" in found.summary()


def in_single_precision(truth):
    layers = [(W.astype(np.float32), b.astype(np.float32)) for W, b in truth.layers]

    def function(X):
        active = X.astype(np.float32)
        for W, b in layers[:-1]:
            active = np.tanh(active @ W.T + b)
        return (active @ layers[-1][0].T + layers[-1][1])[:, 0]

    return function


@pytest.mark.parametrize("layers", ["auto", 2])
def test_two_layers_are_found_through_single_precision(layers):
    truth = network(8, (6, 3), 41)
    found = gs.recover(gs.Oracle(in_single_precision(truth), 8), activation="tanh", random_state=1, layers=layers)
    assert found.certified, found.verdict
    assert found.network.widths == (6, 3)
    errors = gs.match_networks(found.network, truth).errors
    bounds = np.concatenate(list(found.standard_errors.values()))
    assert max(e.max() for e in errors) < 1e-4
    assert max(e.max() for e in errors) < 6 * bounds.max() < 6e-3
    X = np.random.default_rng(2).standard_normal((200, 8))
    y = truth.predict(X)
    assert np.abs(found.network.predict(X) - y).max() < 1e-4 * y.std()


def test_all_outputs_of_a_deep_network_are_found():
    truth = network(6, (5, 3), 33, n_outputs=2)
    found = gs.recover(gs.Oracle(truth.predict, 6), random_state=1)
    assert found.certified, found.verdict
    assert found.network.n_outputs == 2
    assert gs.match_networks(found.network, truth).max_error < 1e-7


def test_one_layer_costs_one_query_more_when_the_number_of_layers_is_not_given():
    truth = network(8, (5,), 34)
    counts = []
    for layers in ("auto", 1):
        oracle = gs.Oracle(truth.predict, 8)
        found = gs.recover(oracle, random_state=3, layers=layers)
        assert found.certified
        assert found.network.widths == (5,)
        counts.append(oracle.n_queries)
    assert counts[0] == counts[1] + 1  # one opposite point far out


def test_with_one_layer_given_a_deep_network_is_refused():
    truth = network(6, (5, 3), 35)
    with pytest.raises(NotIdentifiable):
        gs.recover(gs.Oracle(truth.predict, 6), random_state=1, layers=1)


@pytest.mark.parametrize("function", [
    lambda X: np.tanh(np.sin(X[:, 0]) + X[:, 1]),
    lambda X: np.sin(np.tanh(X @ np.array([[1.0, 0.3], [0.2, -1.0], [0.5, 0.5]])).sum(axis=1)),
], ids=["sine inside", "sine of a layer"])  # fmt: skip
def test_functions_outside_the_model_are_never_certified(function):
    try:
        found = gs.recover(gs.Oracle(function, 3, max_queries=3000), activation="tanh", random_state=1, layers=2)
        certified, told = found.certified, found.verdict
    except GradsiftError as refused:
        certified, told = False, str(refused)
    assert not certified
    assert "at rest" not in told  # another cause


def test_nearly_equal_units_of_the_second_layer_are_one_unit_or_not_certified():
    truth = network(6, (5, 2), 36)
    (W, b), (V, c), (v, k) = truth.layers
    V = np.concatenate([V, V[:1] * (1 + 1e-9)])
    copies = gs.Network([(W, b), (V, np.append(c, c[0])), (np.append(v, v[:, :1], axis=1), k)])
    try:
        found = gs.recover(gs.Oracle(copies.predict, 6), random_state=1)
    except GradsiftError:
        return
    merged = gs.Network([(W, b), (truth.layers[1][0], c), (v * [2.0, 1.0], k)])
    assert not found.certified or gs.match_networks(found.network, merged).max_error < 1e-7
    X = np.random.default_rng(3).standard_normal((50, 6))
    np.testing.assert_allclose(found.network.predict(X), copies.predict(X), atol=1e-6)


@pytest.mark.parametrize(("offset", "rests"), [(9.0, True), (1.0, False)])
def test_a_unit_at_rest_is_named_and_all_else_certified(offset, rests):
    (W, b), (V, c), (v, k) = network(6, (6, 3), 39).layers
    unit = int(np.argsort(-np.abs(v[0]))[1])
    c = c.copy()
    c[unit] = offset
    truth = gs.Network([(W, b), (V, c), (v, k)]).canonical()
    found = gs.recover(gs.Oracle(truth.predict, 6), random_state=1)
    assert found.certified, found.verdict
    assert ("at rest" in found.verdict) == rests
    at_rest = found.diagnostics["at_rest"]
    assert len(at_rest) == rests
    assert np.isinf(found.diagnostics["error_bounds"]).sum() == rests
    X = np.random.default_rng(4).standard_normal((200, 6))
    np.testing.assert_allclose(found.network.predict(X), truth.predict(X), atol=1e-12)
    right, seen = ([*n.layers[1], n.layers[2].weights[0]] for n in (truth, found.network))
    for number in range(3):  # every other row is right; the one named need not be
        closest = min(range(3), key=lambda i: float(np.linalg.norm(seen[0][i] - right[0][number])))
        error = np.linalg.norm(seen[0][closest] - right[0][number]) + abs(seen[1][closest] - right[1][number])
        assert error < 1e-8 or closest in at_rest
    assert gs.match_units(found.network.layers[0].weights, truth.layers[0].weights).max_error < 1e-8


def test_several_layers_are_seen_where_all_units_of_the_first_turn_together():
    rng = np.random.default_rng(40)
    way = rng.standard_normal(30)
    (_, b), *above = network(30, (5, 3), 40).layers
    truth = gs.Network([(0.3 * way + 0.02 * rng.standard_normal((5, 30)), b), *above])
    found = gs.recover(gs.Oracle(truth.predict, 30), random_state=1)
    assert found.certified, found.verdict
    assert found.network.widths == (5, 3)


def test_several_layers_inside_bounds_or_behind_noise_are_refused_with_the_reason():
    truth = network(4, (3, 2), 37)
    with pytest.raises(NotIdentifiable, match="inside bounds"):
        gs.recover(gs.Oracle(truth.predict, 4, bounds=(-1, 1)), layers=2)
    with pytest.raises(NotIdentifiable, match="noise"):
        gs.recover(gs.Oracle(truth.predict, 4, noise=0.1), layers=2)
    with pytest.raises(ValueError, match="behind an oracle"):
        gs.recover((np.zeros((3, 2)), np.zeros(3)), layers=2)
    with pytest.raises(ValueError, match="layers must be"):
        gs.recover(gs.Oracle(truth.predict, 4), layers=0)
    with pytest.raises(NotIdentifiable, match="Up to 3 hidden layers are read, got layers=4"):
        gs.recover(gs.Oracle(truth.predict, 4), layers=4, activation="tanh")


def test_a_budget_is_kept_to_the_query_and_what_was_found_is_handed_over():
    truth = network(6, (5, 3), 38)
    full = gs.Oracle(truth.predict, 6)
    gs.recover(full, random_state=1, n_verify=0)
    short = gs.Oracle(truth.predict, 6)
    limit = full.n_queries - 20
    with pytest.raises(BudgetSpent) as spent:
        gs.recover(short, random_state=1, n_verify=0, max_queries=limit)
    assert short.n_queries <= limit
    partial = spent.value.partial
    assert partial is not None
    assert not partial.certified
    assert gs.match_units(partial.model.layers[0].weights, truth.layers[0].weights).max_error < 1e-4


def test_a_campaign_that_was_killed_goes_on_to_the_same_network(tmp_path):
    truth = network(6, (5, 3), 39)
    full = gs.recover(gs.Oracle(truth.predict, 6, batch_size=50), random_state=1)

    class Dies:
        def __init__(self, n):
            self.left = n

        def __call__(self, X):
            self.left -= len(X)
            if self.left < 0:
                raise KeyboardInterrupt
            return truth.predict(X)

    with pytest.raises(KeyboardInterrupt), gs.Oracle(Dies(250), 6, batch_size=50, journal=tmp_path / "j") as oracle:
        gs.recover(oracle, random_state=1)
    with gs.Oracle(truth.predict, 6, batch_size=50, journal=tmp_path / "j") as oracle:
        again = gs.recover(oracle, random_state=1)
        assert oracle.n_replayed > 100
    assert again.network == full.network
    assert again.n_queries == full.n_queries


def test_progress_names_the_layer_that_is_read():
    truth, seen = network(6, (5, 3), 40), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gs.recover(gs.Oracle(truth.predict, 6), random_state=1, progress=lambda stage, *_: seen.append(stage))
    assert any("first layer" in s for s in seen)
    assert any("second layer" in s for s in seen)
