"""What must not change: row order, chunk order, rotations, scaling, sign flips."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import gradsift as gs
from gradsift.geometry import orthonormal_rows
from gradsift.sources import ArraySource, MomentSummary, Rows

seeds = st.integers(0, 2**32 - 1)


def rows(seed, n=120, d=4):
    rng = np.random.default_rng(seed)
    return rng, rng.standard_normal((n, d)), rng.standard_normal(n)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_row_order_does_not_change_kernel_gradients(seed):
    rng, X, y = rows(seed)
    points = rng.uniform(-6, 6, (3, 4))
    shuffled = rng.permutation(len(y))
    a = gs.KernelGradients().estimate((X, y), points).values
    b = gs.KernelGradients().estimate((X[shuffled], y[shuffled]), points).values
    np.testing.assert_allclose(a, b, atol=1e-13)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_kernel_gradients_rotate_with_the_rows(seed):
    rng, X, y = rows(seed)
    points, turn = rng.uniform(-3, 3, (3, 4)), orthonormal_rows(4, 4, rng)
    a = gs.KernelGradients().estimate((X, y), points).values
    b = gs.KernelGradients().estimate((X @ turn.T, y), points @ turn.T).values
    np.testing.assert_allclose(a @ turn.T, b, atol=1e-11)


@settings(max_examples=25, deadline=None)
@given(seeds, st.floats(-1e6, 1e6), st.floats(1e-3, 1e3))
def test_kernel_gradients_ignore_a_shift_of_y_and_scale_with_it(seed, shift, scale):
    rng, X, y = rows(seed)
    points = rng.uniform(-2, 2, (2, 4))
    a = gs.KernelGradients().estimate((X, y), points).values
    b = gs.KernelGradients().estimate((X, scale * y + shift), points).values
    np.testing.assert_allclose(scale * a, b, atol=1e-9 * (scale + abs(shift)))


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 119), st.integers(1, 50))
def test_moments_do_not_depend_on_the_blocks(seed, cut, block):
    rng, X, y = rows(seed)
    X = X + rng.uniform(-100, 100, 4)
    summary = MomentSummary()
    halves = summary.chunk(Rows(X[cut:], y[cut:])), summary.chunk(Rows(X[:cut], y[:cut]))
    merged = summary.finalize(summary.merge(*halves))
    np.testing.assert_allclose(merged.covariance, np.cov(X.T, bias=True), atol=1e-10)
    np.testing.assert_allclose(merged.mean, X.mean(axis=0), atol=1e-11)
    stacked = np.concatenate([b.X for b in ArraySource(X, y).blocks(block)])
    np.testing.assert_array_equal(stacked, X)


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_flipping_a_unit_changes_nothing_and_the_canonical_form_agrees(seed):
    rng = np.random.default_rng(seed)
    m = gs.simulate.random_combination(3, 4, offsets=True, activation=rng.choice(["tanh", "logistic", "erf"]), rng=rng)
    flip = rng.choice([-1.0, 1.0], 4)
    shift = float(2 * m._activation.middle * m.weights[flip < 0].sum())
    other = gs.SigmoidCombination(
        m.units * flip[:, None], m.weights * flip, m.slopes, m.offsets * flip, shift, m.activation
    )
    X = rng.standard_normal((10, 3))
    np.testing.assert_allclose(other.predict(X), m.predict(X), atol=1e-13)
    a, b = m.canonical(), other.canonical()
    np.testing.assert_allclose(a.units, b.units, atol=1e-15)
    np.testing.assert_allclose(a.offsets, b.offsets, atol=1e-15)


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 6))
def test_matching_is_invariant_under_order_and_sign(seed, k):
    rng = np.random.default_rng(seed)
    found, truth = rng.standard_normal((k, 5)), rng.standard_normal((k, 5))
    moved = (found * rng.choice([-1.0, 1.0], k)[:, None])[rng.permutation(k)]
    a, b = gs.match_units(found, truth), gs.match_units(moved, truth)
    np.testing.assert_allclose(np.sort(a.errors), np.sort(b.errors), atol=1e-12)
