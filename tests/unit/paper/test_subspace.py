"""SpectralMirror."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.geometry import subspace_angle
from gradsift.sources import ArraySource


def mixture(d, k, n, slope=2.0, mean=0.0, covariance=None, noise="labels", rng=0):
    m = gs.simulate.random_combination(d, k, slope=slope, min_singular_value=1.0, mixture=True, rng=rng)
    return m, *m.sample(n, noise, rng=rng + 100, mean=mean, covariance=covariance)


@pytest.mark.paper("sunthm")
def test_the_span_is_found_and_gets_better_with_more_rows():
    m, X, y = mixture(10, 2, 100_000)
    angles = [
        np.degrees(subspace_angle(gs.SpectralMirror(2).fit(X[:n], y[:n]).components_, m.units))
        for n in (5_000, 100_000)
    ]
    assert angles[1] < 12
    assert angles[1] < angles[0]


def test_the_formula_step_by_step():
    _, X, y = mixture(5, 2, 400, noise=0.1)
    first, second = (X[:200], y[:200]), (X[200:], y[200:])
    mu = first[0].mean(axis=0)
    S = np.cov(first[0].T, bias=True)
    r = np.mean([v * np.linalg.solve(S, x - mu) for x, v in zip(*first)], axis=0)
    values, vectors = np.linalg.eigh(S)
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    Q = np.mean([v * np.sign(r @ x) * np.outer(root @ (x - mu), root @ (x - mu)) for x, v in zip(*second)], axis=0)
    lam, vec = np.linalg.eigh(Q)
    far = np.argsort(-np.abs(lam - np.median(lam)))
    expected = np.linalg.qr(root @ vec[:, far[:2]])[0].T
    found = gs.SpectralMirror(2).fit(X, y)
    assert subspace_angle(found.components_, expected) < 1e-10
    np.testing.assert_allclose(found.eigenvalues_, lam[far], atol=1e-12)
    np.testing.assert_allclose(found.components_ @ found.components_.T, np.eye(2), atol=1e-12)


def test_rows_with_a_mean_and_a_covariance_are_whitened():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((8, 8))
    m, X, y = mixture(8, 2, 200_000, slope=1.0, covariance=A @ A.T / 8 + 0.2 * np.eye(8), mean=0.1)
    found = gs.SpectralMirror(2).fit(X, y)
    assert np.degrees(subspace_angle(found.components_, m.units)) < 12


def test_units_of_measurement_do_not_matter():
    _, X, y = mixture(4, 2, 5000)
    scale = np.array([1.0, 1e-7, 1e7, 1.0])
    plain, scaled = gs.SpectralMirror(2).fit(X, y), gs.SpectralMirror(2).fit(X * scale, y)
    np.testing.assert_allclose(np.sort(scaled.eigenvalues_), np.sort(plain.eigenvalues_), atol=1e-9)


def test_the_number_of_components_is_counted_above_the_noise():
    _, X, y = mixture(20, 2, 200_000)
    found = gs.SpectralMirror().fit(X, y)
    assert found.components_.shape == (2, 20)


def test_pure_noise_has_no_component():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((20_000, 10)), rng.choice([-1.0, 1.0], 20_000)
    with pytest.raises(gs.errors.NotIdentifiable, match="No eigenvalue stands out"):
        gs.SpectralMirror().fit(X, y)


def test_each_half_is_read_once():
    _, X, y = mixture(5, 2, 4000)

    class Counting(ArraySource):
        reads: list = []  # noqa: RUF012

        def blocks(self, block_rows):
            Counting.reads.append(self.n_rows)
            return super().blocks(block_rows)

        def rows(self, start, stop):
            return Counting(self.X[start:stop], self.y[start:stop])

    gs.SpectralMirror(2).fit_source(Counting(X, y))
    assert Counting.reads == [2000, 2000]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X, y, 9), "n_components must be None or between 1 and 5"),
        (lambda X, y: (X * [1, 1, 1, 1, 0] + 3, y, 2), "column 4 is constant"),
        (lambda X, y: (X[:8], y[:8], 2), "more rows than columns"),
        (lambda X, y: (np.column_stack((X[:, :4], X[:, 0])), y, 2), "linearly dependent"),
    ],
)
def test_bad_input_gets_one_sentence(change, message):
    _, X, y = mixture(5, 2, 400)
    X, y, k = change(X, y)
    with pytest.raises(ValueError, match=message):
        gs.SpectralMirror(k).fit(X, y)


def test_transform_gives_coordinates():
    _, X, y = mixture(5, 2, 400)
    found = gs.SpectralMirror(2).fit(X, y)
    np.testing.assert_allclose(found.transform(X), X @ found.components_.T)
    assert list(found.get_feature_names_out()) == ["spectralmirror0", "spectralmirror1"]
