"""Networks written as kinks and rests, against the activations themselves, differences and more digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gradsift as gs
from gradsift.reading.kinks.kink_network import (
    growing_names,
    joined,
    model_of,
    precision_far_out,
    shape_of,
    with_repeats,
)
from gradsift.reading.precision import EXACT_ANSWERS, Precision

from .kinked_networks import gradient_at, ledger_of, random_net


@pytest.mark.parametrize("name", growing_names())
def test_a_shape_is_the_activation_written_as_a_kink_and_a_rest(name):
    shape = shape_of(name)
    t = np.linspace(-9, 9, 181)
    z = t + shape.corner
    rebuilt = shape.slope * z + shape.level + shape.gain * (np.maximum(t, 0) + shape.rest(t))
    np.testing.assert_allclose(rebuilt, shape.activation.value(z), atol=1e-13)
    assert np.abs(shape.rest(np.array([-59.0, 59.0]))).max() < 1e-13
    assert shape.even == np.allclose(shape.rest(t), shape.rest(-t), atol=1e-13)
    smooth = t[np.abs(t) > 0.05]
    slopes = (shape.rest(smooth + 1e-6) - shape.rest(smooth - 1e-6)) / 2e-6
    np.testing.assert_allclose(shape.rest_slope(smooth), slopes, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in growing_names() if not shape_of(name).sharp])
def test_a_width_is_read_back_from_the_height_of_the_rest(name):
    shape = shape_of(name)
    for t in (0.3, 0.8, 2.0):
        ratio = abs(float(shape.rest(np.array(-t)))) / t
        assert shape.argument(ratio, -1.0) == pytest.approx(t, rel=1e-9)
    far = shape.flat(1e-12)
    assert np.abs(shape.rest(np.array([-far - 1, far + 1]))).max() < 1e-12
    assert np.abs(shape.rest(np.array([-far + 1, far - 1]))).max() > 1e-12
    assert shape.argument(1e9, -1.0) == 0.0
    assert shape.argument(-1.0, -1.0) == np.inf


@pytest.mark.parametrize("name", growing_names())
def test_the_public_model_is_the_same_function(name):
    for seed in range(4):
        net = random_net(name, d=4, k=3, seed=seed)
        X = 3 * np.random.default_rng(seed).standard_normal((50, 4))
        model, order = model_of(net)
        np.testing.assert_allclose(model.predict(X), net.predict(X), atol=1e-12)
        assert sorted(order) == [0, 1, 2]
        lengths = np.abs(model.weights) if net.shape.sharp else np.abs(model.weights) * model.slopes
        jumps = np.linalg.norm(net.jumps[order], axis=1) / net.shape.gain
        np.testing.assert_allclose(lengths, jumps, rtol=1e-12)


def test_a_linear_term_that_units_leave_where_they_are_turned_is_taken_back():
    net = random_net("relu", d=5, k=4, seed=5)
    turned = net.jumps[[1, 3]].sum(axis=0)
    assert not model_of(replace(net, g=0 * turned))[0].has_linear_term
    backwards = replace(net, g=-turned)  # units 1 and 3 point the other way
    model, _ = model_of(backwards)
    assert not model.has_linear_term
    X = np.random.default_rng(5).standard_normal((40, 5))
    np.testing.assert_allclose(model.predict(X), backwards.predict(X), atol=1e-12)
    assert model_of(net)[0].has_linear_term


def test_leaky_units_are_preferred_where_they_alone_need_no_linear_term():
    net = random_net("relu", d=5, k=3, seed=6)
    leaky = gs.SigmoidCombination(net.jumps, [1.0, -0.6, 0.8], 1.0, net.q, 0.2, "leaky_relu")
    gain, slope = shape_of("leaky_relu").gain, shape_of("leaky_relu").slope
    jumps = (leaky.weights * leaky.slopes)[:, None] * leaky.units * gain
    offsets = leaky.weights * leaky.offsets * gain
    linear = slope / gain * jumps.sum(axis=0)
    same = replace(
        net, jumps=jumps, q=offsets, w=np.sign(leaky.weights), g=linear, c=0.2 + slope / gain * offsets.sum()
    )
    X = np.random.default_rng(6).standard_normal((40, 5))
    np.testing.assert_allclose(same.predict(X), leaky.predict(X), atol=1e-12)
    assert model_of(same)[0].activation == "relu"
    model, _ = model_of(same, leaky_too=True)
    assert model.activation == "leaky_relu"
    assert not model.has_linear_term
    np.testing.assert_allclose(model.predict(X), leaky.predict(X), atol=1e-12)
    assert model_of(net, leaky_too=True)[0].activation == "relu"


@pytest.mark.parametrize("name", ["relu", "gelu", "elu"])
def test_derivatives_near_the_origin_are_differences(name):
    net = random_net(name, d=4, k=3, seed=7)
    X = np.random.default_rng(7).standard_normal((20, 4))
    X = X[np.abs(net.arguments(X)).min(axis=1) > 1e-3]
    values = np.concatenate([net.q, [] if net.shape.sharp else net.w, [net.c]])

    def at(theta):
        w = net.w if net.shape.sharp else theta[3:6]
        return replace(net, q=theta[:3], w=w, c=float(theta[-1])).predict(X)

    steps = 1e-6 * np.eye(len(values))
    expected = np.stack([(at(values + s) - at(values - s)) / 2e-6 for s in steps], axis=1)
    np.testing.assert_allclose(net.near_derivatives(X), expected, atol=1e-7)
    for x in X[:3]:
        slopes = net.unit_slopes(net.arguments(x[None]))[0]
        np.testing.assert_allclose(net.g + slopes @ net.jumps, gradient_at(net, x), atol=1e-7)


def test_the_rounding_foretold_is_that_of_calculating_in_fewer_digits():
    net, rng = random_net("relu", d=20, k=12, seed=8), np.random.default_rng(8)
    single = Precision("float32")
    coarse = replace(net, grain=single)
    for radius in (1.0, 1e3, 1e6):
        X = radius * rng.standard_normal((400, 20)).astype(np.float32)
        jumps, q, g = (part.astype(np.float32) for part in (net.jumps, net.q, net.g))
        exact = replace(
            net, jumps=jumps.astype(float), q=q.astype(float), g=g.astype(float), c=float(np.float32(net.c))
        )
        t = X @ jumps.T + q
        answers = np.maximum(t * np.sign(net.w), 0).astype(np.float32) @ np.sign(net.w).astype(np.float32)
        answers = answers + X @ g + np.float32(net.c)
        sharp = replace(exact, w=np.sign(net.w))
        off = np.abs(answers - sharp.predict(X.astype(float))) / coarse.rounding(X.astype(float))
        assert 0.01 < np.sqrt(np.mean(off**2)) < 1.0
    np.testing.assert_allclose(replace(net, grain=Precision("noisy", 0.5)).rounding(X[:1] * 0), 0.5, rtol=1e-9)


def test_a_moved_network_and_a_sum_of_networks_are_what_they_say():
    one, other = random_net("silu", d=4, k=3, seed=9), random_net("silu", d=4, k=2, seed=10)
    X, by = np.random.default_rng(9).standard_normal((30, 4)), np.array([1.0, -2.0, 0.5, 3.0])
    np.testing.assert_allclose(one.moved(by).predict(X), one.predict(X + by), atol=1e-12)
    both = joined(one, other)
    assert both.k == 5
    assert both.n_unknowns == 5 * 6 + 5
    np.testing.assert_allclose(both.predict(X), one.predict(X) + other.predict(X), atol=1e-12)
    parts = [both.only(np.arange(5) == unit) for unit in range(5)]
    rest = sum(part.predict(X) - X @ both.g - both.c for part in parts)
    np.testing.assert_allclose(rest + X @ both.g + both.c, both.predict(X), atol=1e-12)


def test_errors_far_out_are_shares_only_in_single_precision():
    assert precision_far_out(Precision("exact")) is EXACT_ANSWERS
    assert precision_far_out(Precision("float32", 1e-3)) == Precision("float32")
    assert precision_far_out(Precision("noisy", 0.2, size=9.0)) == Precision("noisy", 0.2)
    assert precision_far_out(Precision("rounded", 0.2, grid=0.7)) == Precision("rounded", 0.2)


def test_noise_is_measured_again_from_equal_questions_and_exact_answers_cost_nothing():
    rng, sds = np.random.default_rng(11), []
    for seed in range(60):
        ledger = ledger_of(lambda X: X[:, 0] + 0.3 * rng.standard_normal(len(X)), 3)
        sds.append(with_repeats(Precision("noisy", 0.3), ledger, np.random.default_rng(seed)).sd)
        assert len(np.unique(ledger.X, axis=0)) == 1
    assert np.mean(np.square(sds)) == pytest.approx(0.09, rel=0.1)
    assert np.std(sds) > 0.01
    silent = ledger_of(lambda X: X[:, 0], 3)
    assert with_repeats(EXACT_ANSWERS, silent, rng) is EXACT_ANSWERS
    assert silent.n_queries == 0
