"""Units and their mirror images, and the form without a linear term."""

from __future__ import annotations

import numpy as np
import pytest

import gradsift as gs
from gradsift.activations import ACTIVATIONS, get_activation
from gradsift.geometry import choose_terms, mirror_slope

EVEN = ("relu", "leaky_relu", "softplus", "silu", "gelu", "gelu_tanh")


def model(activation, linear=0.0, k=5, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return gs.SigmoidCombination(
        rng.standard_normal((k, d)), rng.standard_normal(k), rng.uniform(0.5, 2, k), rng.standard_normal(k), 0.3,
        activation, linear,
    )  # fmt: skip


def test_only_some_activations_have_a_mirror_image():
    assert {name for name in ACTIVATIONS if mirror_slope(get_activation(name)) is not None} == set(EVEN)
    assert mirror_slope(get_activation("leaky_relu")) == pytest.approx(1.01)


@pytest.mark.parametrize("activation", [*EVEN, "elu", "mish"])
def test_the_canonical_form_is_the_same_function_and_one_for_all_equals(activation):
    m = model(activation)
    X = np.random.default_rng(1).standard_normal((40, 4)) * 3
    canonical = m.canonical()
    np.testing.assert_allclose(canonical.predict(X), m.predict(X), atol=1e-12)
    assert (np.diff(np.abs(canonical.weights)) <= 0).all()
    again = canonical.canonical()
    np.testing.assert_allclose(again.units, canonical.units, atol=1e-15)
    if activation in EVEN:
        turned = m._turned(np.array([True, False, True, True, False]))
        np.testing.assert_allclose(turned.predict(X), m.predict(X), atol=1e-12)
        np.testing.assert_allclose(turned.canonical().linear, canonical.linear, atol=1e-12)
        np.testing.assert_allclose(turned.canonical().units, canonical.units, atol=1e-15)
    if activation in ("relu", "leaky_relu"):
        np.testing.assert_allclose(canonical.slopes, 1.0)


@pytest.mark.parametrize(("k", "d"), [(3, 5), (5, 5), (12, 5)])
@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "gelu"])
def test_the_plain_form_is_found_from_any_turned_one(activation, k, d):
    m = model(activation, k=k, d=d, seed=k)
    canonical = m.canonical()
    assert canonical.has_linear_term
    plain = canonical.plain()
    X = np.random.default_rng(2).standard_normal((40, d))
    assert not plain.has_linear_term
    np.testing.assert_allclose(plain.predict(X), m.predict(X), atol=1e-11)
    assert gs.match_units(plain.units, m.units).max_error < 1e-12


def test_a_true_linear_term_stays():
    assert model("relu", linear=[1.0, 2.0, -1.0, 0.5]).plain() is None
    assert model("mish", linear=[1.0, 2.0, -1.0, 0.5]).plain() is None
    assert model("tanh").plain().n_units == 5


def test_turns_are_found_by_lattice_reduction_and_by_trying_all():
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((9, 2))
    chosen = rng.random(9) < 0.5
    found = choose_terms(vectors, vectors[chosen].sum(axis=0))
    every = (np.arange(512)[:, None] >> np.arange(9)) % 2 == 1
    sums = every @ vectors
    best = every[int(np.argmin(np.linalg.norm(sums - vectors[chosen].sum(axis=0), axis=1)))]
    np.testing.assert_array_equal(found, best)
    assert choose_terms(vectors, np.array([100.0, 0.0])) is None
