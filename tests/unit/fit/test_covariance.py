"""Information and standard errors against closed forms, simulation and the bootstrap."""

from __future__ import annotations

import numpy as np
import pytest

import gradsift as gs
from gradsift.fit import Family
from gradsift.fit.covariance import bootstrap, confidence_cones, cramer_rao, information
from gradsift.sources import ArraySource
from gradsift.table import search


def _model():
    return gs.SigmoidCombination([[1.0, 0.0], [0.6, 0.8]], [1.0, 0.7], [2.0, 3.0])


def test_information_is_the_variance_of_the_score():
    # Labels, d = 1, one unit of known weight: the information about a is sum x^2 f'^2 / (1 - f^2) = sum x^2 (1 - f^2).
    X = np.linspace(-2, 2, 41)[:, None]
    model = gs.SigmoidCombination([[1.0]], [1.0], 1.3)
    found = information(model, X, noise="labels")
    expected = float((X[:, 0] ** 2 * (1 - np.tanh(1.3 * X[:, 0]) ** 2)).sum())
    assert found[0, 0] == pytest.approx(expected, rel=1e-10)
    bound = cramer_rao(model, X, noise="labels")
    assert bound.slopes[0] == pytest.approx(expected**-0.5, rel=1e-6)
    assert bound.angles[0] == 0  # a line has no directions to err in
    assert bound.weights[0] == 0  # and a single mixture weight is one


def test_a_known_slope_can_only_help():
    X = np.random.default_rng(0).standard_normal((500, 2))
    common = gs.SigmoidCombination(_model().units, _model().weights, 2.5)
    each = cramer_rao(common, X, noise=0.3)
    shared = cramer_rao(common, X, noise=0.3, family=Family.of(slopes="common"))
    known = cramer_rao(common, X, noise=0.3, family=Family.of(slopes=2.5))
    assert (each.angles >= shared.angles - 1e-12).all()
    assert (shared.angles >= known.angles - 1e-12).all()
    assert (shared.weights > known.weights).all()
    np.testing.assert_allclose(known.slopes, 0, atol=1e-9)


@pytest.mark.parametrize("labels", [False, True])
def test_intervals_cover_and_errors_meet_the_bound(labels):
    # 16 tables of 2000 rows: z-scores of directions, slopes and weights have variance 1 within five standard errors.
    weights = [0.6, 0.4] if labels else [1.0, 0.7]
    truth = gs.SigmoidCombination([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], weights, 3.0)
    scores = {"units": [], "slopes": [], "weights": []}
    for seed in range(16):
        X, y = truth.sample(2000, noise="labels" if labels else 0.3, rng=[seed, 17])
        fit = search(ArraySource(X, y), 2, labels=labels, offsets=False, intercept=False, rng=seed)
        order = gs.match_units(fit.model.units, truth.units).order
        for name in scores:
            gap = getattr(fit.model, name)[order] - getattr(truth, name)
            z = gap / np.maximum(getattr(fit.standard_errors, name)[order], 1e-9)
            scores[name].append(np.ravel(z[:, 1:2] if name == "units" else z)[-1])
    for name, values in scores.items():
        assert np.mean(np.square(values)) == pytest.approx(1, abs=5 * np.sqrt(2 / 16)), name
        assert np.mean(np.abs(values) < 1.96) > 0.85, name


def test_the_bootstrap_agrees_with_the_sandwich_and_keeps_units_in_place():
    X, y = _model().sample(1500, noise=0.3, rng=1)
    source = ArraySource(X, y)
    fit = search(source, 2, rng=0)
    draws = bootstrap(fit.model, source, fit.family, n_resamples=60, rng=2)
    assert draws.errors.max() < 0.3  # aligned: no unit changed places
    spread = np.std([m.slopes for m in draws.models], axis=0)
    np.testing.assert_allclose(spread, fit.standard_errors.slopes, rtol=0.5)
    low, high = draws.bounds("weights")
    assert ((low < fit.model.weights) & (fit.model.weights < high)).all()


def test_the_bootstrap_of_a_mixture_takes_its_classes_as_zero_and_one_too():
    mixture = gs.SigmoidCombination([[1.0, 0.0], [0.6, 0.8]], [0.6, 0.4], 2.0)
    X, y = mixture.sample(2000, noise="labels", rng=3)
    signs, zeros = (bootstrap(mixture, (X, labels), n_resamples=3, rng=0) for labels in (y, (y + 1) / 2))
    np.testing.assert_array_equal([m.units for m in signs.models], [m.units for m in zeros.models])
    assert all(m.weights.sum() == pytest.approx(1) for m in zeros.models)
    with pytest.raises(ValueError, match="y holds only 0 and 1, and the model is no mixture"):
        bootstrap(_model(), (X, (y + 1) / 2), n_resamples=3, rng=0)


def test_cones_grow_with_the_level_and_hold_the_truth():
    X = np.random.default_rng(0).standard_normal((500, 2))
    bound = cramer_rao(_model(), X, noise=0.5)
    narrow, wide = confidence_cones(bound, 0.5), confidence_cones(bound, 0.99)
    assert (narrow < wide).all()
    # In the plane a direction has one error: the cone is the normal quantile times its standard error.
    np.testing.assert_allclose(wide, 2.5758 * bound.angles, rtol=1e-3)
    with pytest.raises(ValueError, match="level must lie"):
        confidence_cones(bound, 1.5)


def test_noise_must_mean_something():
    for noise in ("loud", 0.0):
        with pytest.raises(ValueError, match="noise must be"):
            information(_model(), np.ones((5, 2)), noise=noise)
