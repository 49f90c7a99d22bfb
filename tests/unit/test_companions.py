"""The span of the units, found by two companions of the mirror."""

from __future__ import annotations

import numpy as np
import pytest

import gradsift as gs
from gradsift.errors import NotIdentifiable
from gradsift.geometry import largest_principal_angle
from gradsift.paper.method.companions import HermiteState, _hermite


def _rows(n, d, k, *, design="gaussian", seed=0):
    rng = np.random.default_rng(seed)
    truth = gs.simulate.random_combination(d, k, slope=2.0, min_singular_value=0.5, rng=rng)
    X = rng.standard_normal((n, d)) if design == "gaussian" else rng.uniform(-1.7, 1.7, (n, d))
    r = truth.predict(X)
    return truth, X, r + 0.3 * r.std() * rng.standard_normal(n)


@pytest.mark.parametrize("make", [gs.HermiteSubspace, gs.GradientSubspace])
def test_the_span_is_found(make):
    truth, X, y = _rows(20_000, 8, 2)
    fit = make(2).fit(X, y)
    assert largest_principal_angle(fit.components_, truth.units) < 0.25  # chance: above 1 rad
    np.testing.assert_allclose(fit.components_ @ fit.components_.T, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(fit.transform(X), X @ fit.components_.T)
    assert fit.eigenvalues_[1] > 1.3 * fit.eigenvalues_[2]


@pytest.mark.parametrize("make", [gs.HermiteSubspace, gs.GradientSubspace])
def test_stretched_rows_change_nothing(make):
    truth, X, y = _rows(20_000, 5, 2)
    M = np.diag([1.0, 3.0, 0.5, 2.0, 1.0])
    M[0, 1] = 1.0
    fit = make(2).fit(X @ M + 2.0, y)
    assert largest_principal_angle(fit.components_, truth.units @ np.linalg.inv(M).T) < 0.2


def test_gaussian_rows_are_required_only_where_they_matter():
    truth, X, y = _rows(20_000, 6, 2, design="uniform")
    with pytest.raises(NotIdentifiable, match=r"excess kurtosis -1\.2"):
        gs.HermiteSubspace(2).fit(X, y)
    assert largest_principal_angle(gs.GradientSubspace(2).fit(X, y).components_, truth.units) < 0.15


def test_permuted_answers_point_nowhere():
    truth, X, y = _rows(5000, 8, 2)
    y = np.random.default_rng(1).permutation(y)
    assert largest_principal_angle(gs.HermiteSubspace(2).fit(X, y).components_, truth.units) > 0.5


def test_the_hermite_tensor_is_that_of_a_triple_loop():
    rng = np.random.default_rng(0)
    first, third = rng.standard_normal(3), rng.standard_normal((3, 3, 3))
    tensor = _hermite(HermiteState(1.0, third, first, np.zeros(3)))
    for a in range(3):
        for b in range(3):
            for c in range(3):
                expected = third[a, b, c] - first[a] * (b == c) - first[b] * (a == c) - first[c] * (a == b)
                assert tensor[a, b, c] == pytest.approx(expected)


def test_a_wrong_dimension_is_named():
    _, X, y = _rows(100, 4, 1)
    with pytest.raises(ValueError, match="n_components must be between 1 and 4, got 5"):
        gs.HermiteSubspace(5).fit(X, y)
