"""Units that do not saturate, behind an exact black box: found, told apart, or refused with the cause."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import RandomForestRegressor

import gradsift as gs
from gradsift.activations import get_activation
from gradsift.fit import Parameters
from gradsift.fit.jacobian import predict
from gradsift.fit.moves import turned
from gradsift.reading.kinks.region_ledger import RegionLedger
from gradsift.reading.ledger import Ledger, Place
from gradsift.reading.region import Region

KINKED = ("relu", "leaky_relu", "softplus", "silu", "gelu", "gelu_tanh", "elu", "mish")


def teacher(activation, d, k, seed, skip=False):
    """A network, its J (k, d) and distances of hyperplanes, written without the package's model."""
    rng = np.random.default_rng([seed, d, k])
    a = rng.standard_normal((k, d))
    a *= np.exp(rng.uniform(0, np.log(3), k))[:, None] / np.linalg.norm(a, axis=1, keepdims=True)
    b, u, c = rng.standard_normal(k), rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1, k), rng.standard_normal()
    g = rng.standard_normal(d) / np.sqrt(d) * skip
    f = get_activation(activation).value
    return lambda X: f(X @ a.T + b) @ u + X @ g + c, a * u[:, None], np.abs(b) / np.linalg.norm(a, axis=1)


def worst_error(model, jumps, distances):
    found = model.units * (model.slopes * model.weights)[:, None]
    if len(found) != len(jumps):
        return np.inf
    worst = 0.0
    for jump, distance in zip(jumps, distances):
        apart = np.minimum(np.linalg.norm(found - jump, axis=1), np.linalg.norm(found + jump, axis=1))
        i = int(np.argmin(apart))
        off = abs(abs(model.offsets[i]) / model.slopes[i] - distance) / (1 + distance)
        worst = max(worst, apart[i] / np.linalg.norm(jump), off)
    return worst


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("activation", KINKED)
def test_every_kinked_network_is_found_to_eight_digits_and_certified(activation, skip):
    d, k = 8, 5
    f, jumps, distances = teacher(activation, d, k, seed=31, skip=skip)
    found = gs.recover(gs.Oracle(f, d), activation=activation, random_state=0)
    assert found.certified, found.verdict
    assert worst_error(found.model, jumps, distances) < 1e-8
    X = np.random.default_rng(1).standard_normal((300, d))
    np.testing.assert_allclose(found.model.predict(X), f(X), atol=1e-8 * f(X).std())
    assert found.model.has_linear_term == skip
    assert found.n_queries < 2.6 * (k * (d + 2) + 1)
    assert sum(found.diagnostics["spent"].values()) == found.n_queries


def test_more_units_than_inputs_are_found_and_need_no_linear_term():
    f, jumps, distances = teacher("relu", 6, 14, seed=2)
    found = gs.recover(gs.Oracle(f, 6), activation="relu", random_state=3)
    assert found.certified, found.verdict
    assert worst_error(found.model, jumps, distances) < 1e-8
    assert not found.model.has_linear_term


@pytest.mark.parametrize("activation", [*KINKED, "tanh", "erf"])
def test_the_activation_is_told_by_default(activation):
    f, jumps, distances = teacher(activation, 7, 4, seed=5)
    found = gs.recover(gs.Oracle(f, 7), random_state=1)
    assert found.certified, found.verdict
    assert found.model.activation == activation
    assert worst_error(found.model, jumps, distances) < 1e-8


def test_a_tanh_network_costs_no_query_more_by_default():
    f, *_ = teacher("tanh", 7, 4, seed=6)
    spent = [gs.recover(gs.Oracle(f, 7), random_state=1, **how).n_queries for how in ({}, {"activation": "tanh"})]
    assert spent[0] == spent[1]


@pytest.mark.parametrize(
    ("true", "declared"),
    [
        ("softplus", "relu"), ("relu", "softplus"), ("silu", "gelu"), ("gelu", "gelu_tanh"), ("elu", "mish"),
        ("mish", "elu"),
    ],
)  # fmt: skip
def test_a_wrong_name_is_refused_with_the_right_one(true, declared):
    d, k = 10, 8
    f, *_ = teacher(true, d, k, seed=7)
    oracle = gs.Oracle(f, d)
    with pytest.raises(gs.errors.NotIdentifiable, match=f"not {declared} but {true} units") as refused:
        gs.recover(oracle, activation=declared, random_state=0)
    assert f"activation='{true}'" in str(refused.value)
    assert oracle.n_queries < 2.5 * (k * (d + 2) + 1)


@pytest.mark.parametrize(("activation", "layers"), [("softplus", "auto"), ("relu", 1)])
def test_two_hidden_layers_are_refused_of_smooth_units_and_where_one_was_called(activation, layers):
    rng = np.random.default_rng(8)
    W, b, V, c, u = (rng.standard_normal(s) for s in ((5, 8), 5, (4, 5), 4, 4))
    f = get_activation(activation).value

    def deep(X):
        return f(f(X @ W.T + b) @ V.T + c) @ u

    with pytest.raises(gs.errors.NotIdentifiable, match=r"more than one hidden layer|deeper network"):
        gs.recover(gs.Oracle(deep, 8), activation=activation, layers=layers, random_state=0)


def test_tanh_units_declared_as_relu_are_refused_in_few_queries():
    f, *_ = teacher("tanh", 10, 4, seed=9)
    oracle = gs.Oracle(f, 10)
    with pytest.raises(gs.errors.NotIdentifiable, match="no relu units, but sigmoids"):
        gs.recover(oracle, activation="relu", random_state=0)
    assert oracle.n_queries < 25
    with_line = gs.Oracle(lambda X: f(X) + X @ np.arange(10.0), 10)
    with pytest.raises(gs.errors.NotIdentifiable, match="sigmoids with a linear term"):
        gs.recover(with_line, activation="relu", random_state=0)


def test_what_is_no_network_is_refused():
    X = np.random.default_rng(0).standard_normal((200, 5))
    forest = RandomForestRegressor(10, random_state=0).fit(X, np.sin(X).sum(axis=1))
    for function in (forest.predict, lambda X: (X**2).sum(axis=1), lambda X: np.abs(X).sum(axis=1) ** 1.5):
        with pytest.raises(gs.errors.NotIdentifiable):
            gs.recover(gs.Oracle(function, 5), activation="relu", random_state=0)
    with pytest.raises(gs.errors.NotIdentifiable, match="not straight"):
        gs.recover(gs.Oracle(lambda X: (X**2).sum(axis=1), 5), activation="relu", random_state=0)
    with pytest.raises(gs.errors.NotIdentifiable, match="looks linear"):
        gs.recover(gs.Oracle(lambda X: X.sum(axis=1), 5), activation="softplus", random_state=0)


def test_an_unknown_kinked_activation_is_never_certified():
    rng = np.random.default_rng(10)
    a, b, u = rng.standard_normal((4, 6)), rng.standard_normal(4), rng.standard_normal(4)

    def f(X):  # a swish that is twice as steep as its own argument
        z = X @ a.T + b
        return (z * expit(z) + 0.3 * np.exp(-(z**2))) @ u

    for name in ("silu", "gelu", "softplus", "auto"):
        with pytest.raises(gs.errors.NotIdentifiable):
            gs.recover(gs.Oracle(f, 6), activation=name, random_state=0)


def test_the_budget_is_kept():
    f, *_ = teacher("relu", 8, 5, seed=11)
    oracle = gs.Oracle(f, 8)
    with pytest.raises(gs.errors.BudgetSpent):
        gs.recover(oracle, activation="relu", random_state=0, max_queries=50)
    assert oracle.n_queries <= 50


def test_the_same_seed_asks_the_same_questions():
    f, *_ = teacher("gelu", 6, 3, seed=12)
    first, second = (gs.recover(gs.Oracle(f, 6), activation="gelu", random_state=4) for _ in range(2))
    assert first.model == second.model
    assert first.n_queries == second.n_queries


def coarse(kind, f, seed):
    rng = np.random.default_rng(seed)
    return {
        "decimals": lambda X: np.round(f(X), 4),
        "noise": lambda X: f(X) + 0.1 * rng.standard_normal(len(X)),
    }[kind]


@pytest.mark.parametrize("kind", ["decimals", "noise"])
def test_relu_units_are_found_through_coarse_answers_far_out(kind):
    d, k = 10, 4
    f, jumps, _ = teacher("relu", d, k, seed=13)
    found = gs.recover(gs.Oracle(coarse(kind, f, 14), d), activation="relu", random_state=0)
    assert found.certified, found.verdict
    assert found.n_units == k
    assert gs.match_units(found.model.units, jumps).max_error < 1e-5
    X = np.random.default_rng(15).standard_normal((400, d))
    misses = found.model.predict(X) - f(X)
    assert np.sqrt(np.mean(misses**2)) < {"decimals": 1e-4, "noise": 0.05}[kind]
    again = np.abs(misses).max()
    assert again < 10 * max(found.standard_errors["intercept"][0], 1e-5) + 0.2 * (kind == "noise")


def test_relu_units_in_single_precision_are_found_to_its_digits():
    d, k = 10, 4
    rng = np.random.default_rng(16)
    a, b, u = (rng.standard_normal(s).astype(np.float32) for s in ((k, d), k, k))
    u += np.sign(u)  # a faint unit would be found, too, but not certified

    def f(X):
        return (np.maximum(X.astype(np.float32) @ a.T + b, 0) @ u).astype(np.float64)

    found = gs.recover(gs.Oracle(f, d), activation="relu", random_state=0)
    assert found.certified, found.verdict
    assert gs.match_units(found.model.units, a.astype(np.float64)).max_error < 1e-5
    X = np.random.default_rng(17).standard_normal((400, d))
    np.testing.assert_allclose(found.model.predict(X), f(X), atol=1e-4 * f(X).std())
    assert not found.model.has_linear_term


@pytest.mark.parametrize(("activation", "kind"), [("softplus", "noise"), ("silu", "decimals"), ("gelu", "float32")])
def test_smooth_units_are_found_through_coarse_answers_far_out(activation, kind):
    d, k = 8, 3
    f, jumps, _ = teacher(activation, d, k, seed=18)
    single = lambda X: f(X.astype(np.float32)).astype(np.float32).astype(float)
    box = single if kind == "float32" else coarse(kind, f, 14)
    found = gs.recover(gs.Oracle(box, d), activation=activation, random_state=0)
    assert found.certified, found.verdict
    assert gs.match_units(found.model.units, jumps).max_error < 1e-5
    assert "relu" not in found.diagnostics["not_told_apart"]
    X = np.random.default_rng(15).standard_normal((400, d))
    misses = found.model.predict(X) - f(X)
    assert np.sqrt(np.mean(misses**2)) < {"float32": 1e-5, "decimals": 1e-4, "noise": 0.05}[kind]


@pytest.mark.parametrize(("true", "declared"), [("relu", "softplus"), ("softplus", "relu"), ("silu", "softplus")])
def test_a_wrong_name_is_not_certified_through_noise(true, declared):
    f, *_ = teacher(true, 8, 3, seed=21)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
            found = gs.recover(gs.Oracle(coarse("noise", f, 22), 8), activation=declared, random_state=0)
    except gs.errors.NotIdentifiable:
        return
    assert not found.certified


def pair(activation, degrees, d, weights, sd, seed, apart=None):
    """Two nearly parallel units behind noise; `apart` is the difference of their offsets."""
    rng, noise = np.random.default_rng([seed, d]), np.random.default_rng([seed, 1])
    e, t = np.linalg.qr(rng.standard_normal((d, 2)))[0].T, np.radians(degrees)
    a, b = 2.2 * np.stack([e[0], np.cos(t) * e[0] + np.sin(t) * e[1]]), 0.6 * rng.standard_normal(2)
    b = b if apart is None else np.array([0.5, -0.5]) * apart
    f = get_activation(activation).value
    return lambda X: f(X @ a.T + b) @ np.array(weights) + sd * noise.standard_normal(len(X))


@pytest.mark.parametrize("weights", [(0.85, 0.45), (0.85, -0.45)])
@pytest.mark.parametrize(("d", "degrees", "seed"), [(4, 3.0, 3), (10, 0.2, 2), (20, 3.0, 2)])
def test_two_nearly_parallel_relu_units_are_found_as_two_through_noise(d, degrees, seed, weights):
    found = gs.recover(gs.Oracle(pair("relu", degrees, d, weights, 0.1, seed), d), activation="relu", random_state=seed)
    assert found.certified, found.verdict
    assert found.n_units == 2
    cosine = abs(float(found.model.units[0] @ found.model.units[1]))
    assert np.degrees(np.arccos(min(1.0, cosine))) == pytest.approx(degrees, rel=0.02)


@pytest.mark.parametrize("activation", ["relu", "softplus"])
def test_the_angle_within_which_a_second_unit_hides_in_noise_is_said_and_small(activation):
    d = 10
    f, *_ = teacher(activation, d, 3, seed=26)
    found = gs.recover(gs.Oracle(coarse("noise", f, 27), d), activation=activation, random_state=0)
    assert found.certified, found.verdict
    assert 0 < found.diagnostics["blind_angle"] < 0.5
    assert f"a second unit within {found.diagnostics['blind_angle']:.1g} degrees of a found one" in found.verdict
    exact = gs.recover(gs.Oracle(f, d), activation=activation, random_state=0)
    assert exact.diagnostics["blind_angle"] == 0.0
    assert "second unit" not in exact.verdict


@pytest.mark.parametrize("degrees", [0.003, 0.02])
@pytest.mark.parametrize("activation", ["relu", "softplus"])
def test_two_units_at_a_tiny_angle_are_not_certified_as_one_through_noise(activation, degrees):
    for seed in range(3):
        box = pair(activation, degrees, 10, (0.85, 0.45), 0.1, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
            found = gs.recover(gs.Oracle(box, 10), activation=activation, random_state=seed)
        assert found.n_units == 2 or not found.certified, found.verdict


@pytest.mark.parametrize(
    ("true", "declared", "weights", "apart"),
    [
        ("relu", "softplus", (0.8, 0.5), 1.2), ("relu", "silu", (0.85, -0.45), 1.2), ("relu", "relu", (0.8, 0.5), 1.2),
        ("gelu", "softplus", (0.8, 0.5), 2.5), ("gelu", "silu", (0.8, 0.5), 2.5),
    ],
)  # fmt: skip
def test_a_parallel_pair_in_noise_is_no_unit_of_another_activation_and_none_is_advised(true, declared, weights, apart):
    for seed in range(4):
        box = pair(true, 0.0, 4, weights, 0.05, seed, apart)
        with pytest.warns(gs.errors.UncertifiedWarning):
            found = gs.recover(gs.Oracle(box, 4), activation=declared, random_state=seed)
        assert "two of them parallel" in found.verdict
        assert "Try activation" not in found.verdict


def test_units_that_are_not_even_are_refused_behind_coarse_answers():
    f, *_ = teacher("elu", 6, 3, seed=18)
    with pytest.raises(gs.errors.NotIdentifiable, match="only relu, leaky_relu, softplus"):
        gs.recover(gs.Oracle(lambda X: np.round(f(X), 3), 6), activation="elu", random_state=0)


def test_several_outputs_share_the_units():
    rng = np.random.default_rng(19)
    a, b, u, c = (rng.standard_normal(s) for s in ((4, 7), 4, (4, 3), 3))
    found = gs.recover(gs.Oracle(lambda X: np.maximum(X @ a.T + b, 0) @ u + c, 7), activation="relu", random_state=0)
    assert found.certified, found.verdict
    X = np.random.default_rng(20).standard_normal((200, 7))
    wanted = np.maximum(X @ a.T + b, 0) @ u + c
    assert len(found.outputs) == 3
    for model, column in zip(found.outputs, wanted.T):
        np.testing.assert_allclose(model.predict(X), column, atol=1e-6 * np.abs(column).max())


@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_units_that_grow_are_fitted_to_a_table_and_their_number_is_not_certified(activation):
    truth = gs.SigmoidCombination(np.eye(4)[:2], [1.0, -0.8], 2.0, 0.0, 0.0, activation)
    X = np.random.default_rng(23).standard_normal((3000, 4))
    y = truth.predict(X) + 0.1 * np.random.default_rng(24).standard_normal(3000)
    found = gs.recover((X, y), 2, activation=activation, random_state=0)
    assert found.certified, found.verdict
    assert not found.model.has_linear_term
    match = gs.match_units(found.model.units, truth.units)
    assert match.max_error < 5 * found.standard_errors["units"].max()
    assert np.isfinite([*found.standard_errors["weights"], *found.standard_errors["intercept"]]).all()
    with pytest.warns(gs.errors.UncertifiedWarning, match="whose kinks few rows reach"):
        chosen = gs.recover((X, y), activation=activation, random_state=0)
    assert chosen.n_units == 2


def test_a_turned_unit_whose_line_an_active_unit_carries_is_the_same_function():
    theta = Parameters(np.array([[1.0, 0.5], [0.3, -1.0]]), np.array([0.7, -0.4]), np.array([0.2, 50.0]), 0.1)
    X = np.random.default_rng(25).standard_normal((100, 2))
    relu = get_activation("relu")
    np.testing.assert_allclose(predict(turned(theta, 0, 1), X, relu), predict(theta, X, relu), atol=1e-12)
    assert np.abs(predict(turned(theta, 0, None), X, relu) - predict(theta, X, relu)).max() > 0.1


def test_the_papers_method_takes_no_units_that_grow_and_a_table_no_guess():
    X = np.random.default_rng(0).standard_normal((50, 3))
    with pytest.raises(ValueError, match="takes sigmoids, got activation='relu'"):
        gs.recover((X, X[:, 0]), 1, method="paper", activation="relu")
    with pytest.raises(ValueError, match="name one for a table"):
        gs.recover((X, X[:, 0]), 1, activation="auto")


def test_a_faint_unit_is_known_to_eight_digits_too():
    f, jumps, distances = teacher("relu", 10, 5, seed=44)
    rng = np.random.default_rng(45)
    a, b = rng.standard_normal(10), 0.4
    faint = 2e-5

    def box(X):
        return f(X) + faint * np.maximum(X @ a + b, 0)

    found = gs.recover(gs.Oracle(box, 10), activation="relu", random_state=1)
    assert found.certified, found.verdict
    jumps, distances = np.vstack([jumps, faint * a]), np.append(distances, b / np.linalg.norm(a))
    assert worst_error(found.model, jumps, distances) < 1e-8
    assert found.diagnostics["spent"]["far"] > 60  # the fit of all jumps at once was needed


@pytest.mark.parametrize(("d", "k", "seed"), [(6, 3, 4), (10, 8, 2)])
@pytest.mark.parametrize("where", ["bounds", "logistic", "softmax"])
def test_relu_units_are_found_within_bounds_and_behind_links(where, d, k, seed):
    f, jumps, distances = teacher("relu", d, k, seed=50 + seed)
    boxes = {
        "bounds": lambda: gs.Oracle(f, d, bounds=(-2, np.linspace(2, 3, d))),
        "logistic": lambda: gs.Oracle(lambda X: expit(f(X)), d, link="logistic"),
        "softmax": lambda: gs.Oracle(lambda X: np.stack([1 - expit(f(X)), expit(f(X))], axis=1), d, link="softmax"),
    }
    oracle = boxes[where]()
    found = gs.recover(oracle, activation="relu", random_state=seed)
    assert found.certified, found.verdict
    model = found.outputs[1] if where == "softmax" else found.model
    X = np.random.default_rng(1).uniform(-2, 2, (300, d))
    scale = 2 if where == "softmax" else 1  # two centred logits are the two halves of their difference
    np.testing.assert_allclose(scale * model.predict(X), f(X), atol=1e-8 * f(X).std())
    if where == "softmax":
        model = gs.SigmoidCombination(model.units, 2 * model.weights, model.slopes, model.offsets, 0.0, "relu")
    assert worst_error(model, jumps, distances) < 1e-8
    if where == "bounds":
        assert oracle.n_queries < 9 * (k * (d + 2) + 1)


@pytest.mark.parametrize(("activation", "named"), [("softplus", True), ("gelu", False), ("mish", True)])
def test_smooth_units_are_found_within_bounds_and_told_apart(activation, named):
    f, jumps, distances = teacher(activation, 8, 4, seed=51)
    oracle = gs.Oracle(f, 8, bounds=(-2, np.linspace(2, 3, 8)))
    found = gs.recover(oracle, activation=activation if named else None, random_state=1)
    assert found.certified, found.verdict
    assert found.model.activation == activation
    assert worst_error(found.model, jumps, distances) < 1e-8
    assert oracle.n_queries < 6 * (4 * (8 + 2) + 1)
    with pytest.raises(gs.errors.NotIdentifiable, match="do not separate into silu units"):
        gs.recover(gs.Oracle(f, 8, bounds=(-2, 2)), activation="silu", random_state=1)


@pytest.mark.parametrize("seed", range(4))
def test_an_exponential_within_bounds_is_no_unit_of_known_weight(seed):
    w = np.array([0.5, -0.3, 0.2, 0.4])
    oracle = gs.Oracle(lambda X: 3 * np.exp(X @ w - 0.5), 4, bounds=(-np.ones(4), np.ones(4)))
    with pytest.raises(gs.errors.NotIdentifiable):
        gs.recover(oracle, activation="elu", random_state=seed)


def test_smooth_units_within_bounds_need_all_digits_and_fewer_of_them_than_inputs():
    f = teacher("softplus", 6, 8, seed=52)[0]
    with pytest.raises(gs.errors.NotIdentifiable, match="as many units as inputs"):
        gs.recover(gs.Oracle(f, 6, bounds=(-2, 2)), activation="softplus", random_state=1)
    with pytest.raises(gs.errors.NotIdentifiable, match="answers of double precision"):
        gs.recover(gs.Oracle(lambda X: f(X).astype(np.float32), 6, bounds=(-2, 2)), activation="softplus")


@pytest.mark.parametrize("where", ["bounds", "logistic"])
@pytest.mark.parametrize("activation", ["tanh", "softplus", "deep", "line"])
def test_what_is_no_sum_of_relu_units_within_a_region_is_refused(activation, where):
    d, rng = 8, np.random.default_rng(7)
    f = teacher("relu" if activation in ("deep", "line") else activation, d, 4, seed=60)[0]
    inner, b = rng.standard_normal((4, d)), rng.standard_normal(4)

    def box(X):
        if activation == "line":
            return X @ inner[0] + 1.0
        return (
            np.maximum(np.maximum(X @ inner.T + b, 0) @ inner[:, :3] - 1, 0).sum(axis=1)
            if activation == "deep"
            else f(X)
        )

    oracle = (
        gs.Oracle(box, d, bounds=(-2, 2)) if where == "bounds" else gs.Oracle(lambda X: expit(box(X)), d, link=where)
    )
    with pytest.raises(gs.errors.NotIdentifiable, match=r"(inside|Inside) (bounds|the range of link)"):
        gs.recover(oracle, activation="relu", random_state=0)


def test_smooth_units_and_float32_behind_a_link_are_refused_with_the_cause():
    f = teacher("relu", 6, 3, seed=70)[0]
    with pytest.raises(gs.errors.NotIdentifiable, match="only relu and leaky_relu units are found, got 'silu'"):
        gs.recover(gs.Oracle(lambda X: expit(f(X)), 6, link="logistic"), activation="silu", random_state=0)
    single = gs.Oracle(lambda X: expit(f(X)).astype(np.float32), 6, link="logistic")
    with pytest.raises(gs.errors.NotIdentifiable, match=r"double precision, and answers are"):
        gs.recover(single, activation="relu", random_state=0)


def test_units_that_grow_behind_float32_are_to_be_named():
    f = teacher("relu", 6, 3, seed=71)[0]
    with pytest.raises(gs.errors.NotIdentifiable, match=r"answers are float32 numbers: name the activation"):
        gs.recover(gs.Oracle(lambda X: f(X).astype(np.float32), 6), random_state=0)


def test_relu_units_within_bounds_are_told_from_sigmoids():
    f, jumps, distances = teacher("relu", 6, 3, seed=72)
    found = gs.recover(gs.Oracle(f, 6, bounds=(-2, 2)), activation="auto", random_state=0)
    assert found.certified, found.verdict
    assert found.model.activation == "relu"
    assert worst_error(found.model, jumps, distances) < 1e-8
    smooth = teacher("tanh", 6, 2, seed=73)[0]
    assert (
        gs.recover(gs.Oracle(smooth, 6, bounds=(-2, 2)), activation="auto", random_state=0).model.activation == "tanh"
    )


def squared_beside(d, seed):
    """Three ReLU units and one squared ReLU unit."""
    f, rng = teacher("relu", d, 3, seed)[0], np.random.default_rng(seed)
    a, b = rng.standard_normal(d), rng.standard_normal()
    return lambda X: f(X) + np.maximum(X @ a + b, 0) ** 2


@pytest.mark.parametrize("seed", [3, 7])
def test_two_rays_into_the_same_corner_of_the_bounds_are_no_plane(seed):
    # In three dimensions every eighth pair of rays ends in one corner: no row may be NaN or outside then.
    with pytest.raises(gs.errors.NotIdentifiable, match="no sum of relu units"):
        gs.recover(gs.Oracle(squared_beside(3, seed), 3, bounds=(-2, 2)), activation="relu", random_state=seed)


@pytest.mark.filterwarnings("ignore::gradsift.errors.UncertifiedWarning")
@pytest.mark.parametrize("seed", range(8))
def test_a_back_door_at_a_corner_of_the_bounds_ends_in_a_result_or_a_refusal(seed):
    f = teacher("relu", 3, 3, seed=80 + seed)[0]

    def behind(X):
        return f(X) + 5 * np.maximum(X.sum(axis=1) - 4.2, 0)

    try:
        found = gs.recover(gs.Oracle(behind, 3, bounds=(-2, 2)), activation="relu", random_state=seed)
    except gs.errors.GradsiftError:
        return
    X = np.random.default_rng(seed).uniform(-2, 2, (4000, 3))
    differs = np.mean(np.abs(found.network.predict(X) - behind(X)) > 1e-6)
    assert not found.certified or differs <= found.verification.share


@pytest.mark.parametrize("ends", [(-1.0, 1.0), (0.1, 0.7), (-0.3, 1.7)])
def test_the_corners_of_bounds_are_inside_however_their_middle_rounds(ends):
    rng = np.random.default_rng(0)
    low = rng.standard_normal(50) + ends[0]
    oracle = gs.Oracle(lambda X: X.sum(axis=1), 50, bounds=(low, low + ends[1] - ends[0]))
    corners = np.stack([np.ones(50), -np.ones(50)])
    Place(Ledger(oracle), Region.of(oracle)).ask(corners, "check")
    RegionLedger(oracle, Region.of(oracle), ()).ask_all(corners, "check")
    assert oracle.n_queries == 4
