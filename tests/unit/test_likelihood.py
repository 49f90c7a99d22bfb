"""Losses against their own derivatives, draws against their means, and how certain a label may be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from gradsift.likelihood import CERTAINTY, Gaussian, Labels, LogOdds, Noise

RNG = np.random.default_rng(0)
KINDS = [
    (Gaussian(0.3), RNG.standard_normal(40)),
    (Gaussian(0.3, RNG.uniform(0.5, 2, 40)), RNG.standard_normal(40)),
    (Labels(), np.where(RNG.random(40) < 0.5, 1.0, -1.0)),
    (Labels(CERTAINTY.free, CERTAINTY.wall), np.where(RNG.random(40) < 0.5, 1.0, -1.0)),
    (LogOdds(), np.where(RNG.random(40) < 0.5, 1.0, -1.0)),
]


@pytest.mark.parametrize(("kind", "y"), KINDS)
def test_the_score_is_the_slope_of_the_loss(kind, y):
    r, h = np.random.default_rng(1).uniform(-0.95, 0.95, 40), 1e-6
    if isinstance(kind, Labels) and np.isfinite(kind.wall):
        r[:4] = [1.02, -1.03, 1.01, -0.9999]  # beyond the wall, and a label that is all but certain
    for i in range(40):
        step = h * np.eye(40)[i]
        slope = (kind.loss(r + step, y) - kind.loss(r - step, y)) / (2 * h)
        assert kind.score(r, y)[i] == pytest.approx(-slope, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(("kind", "y"), KINDS)
def test_weights_of_rows_count_rows(kind, y):
    r = np.random.default_rng(1).uniform(-0.9, 0.9, 40)
    twice = np.repeat(np.arange(40), 2)
    uneven = np.ndim(getattr(kind, "relative", 1.0)) > 0
    repeated = Gaussian(kind.sd, kind.relative[twice]) if uneven else kind
    assert kind.loss(r, y, np.full(40, 2.0)) == pytest.approx(repeated.loss(r[twice], y[twice]))


def test_a_gaussian_loss_is_the_density_and_a_label_s_the_probability():
    r, y = np.array([0.2, -0.4]), np.array([0.5, 0.1])
    density = norm.logpdf(y, r, 0.3).sum() - 2 * norm.logpdf(0.0, 0.0, 0.3)
    assert Gaussian(0.3).loss(r, y) == pytest.approx(-density)
    assert Labels().loss(r, np.array([1.0, -1.0])) == pytest.approx(-np.log(0.6) - np.log(0.7))
    odds = np.exp(r)
    assert LogOdds().loss(r, np.array([1.0, -1.0])) == pytest.approx(-np.log(odds[0] / (1 + odds[0]) / (1 + odds[1])))


def test_precision_is_one_over_the_variance_of_draws():
    r = np.full(40_000, 0.6)
    for kind in (Gaussian(0.3), Labels()):
        drawn = kind.draw(r, np.random.default_rng(2))
        assert drawn.mean() == pytest.approx(0.6, abs=4 * drawn.std() / 200)
        assert drawn.var() * kind.precision(r)[0] == pytest.approx(1.0, abs=0.03)


def test_the_information_about_log_odds_is_the_variance_of_the_score():
    r, kind = np.full(40_000, 0.6), LogOdds()
    drawn = kind.draw(r, np.random.default_rng(2))
    assert (drawn > 0).mean() == pytest.approx(1 / (1 + np.exp(-0.6)), abs=0.01)
    assert kind.score(r, drawn).var() == pytest.approx(kind.precision(r)[0], rel=0.03)
    assert np.isfinite(kind.loss(np.array([1e4]), np.array([-1.0])))


@pytest.mark.parametrize(("kind", "y"), KINDS[:3] + KINDS[4:])
def test_working_answers_have_the_score_of_the_seen_ones(kind, y):
    r = np.random.default_rng(1).uniform(-0.9, 0.9, 40)
    np.testing.assert_allclose((kind.as_gaussian(r, y) - r) * kind.precision(r), kind.score(r, y), rtol=1e-9)


def test_no_label_is_certain_and_every_limit_is_named_once():
    sure = np.array([1.0, -1.0])
    assert np.isfinite(Labels().loss(sure, -sure))
    np.testing.assert_allclose(Labels().precision(sure), 1 / CERTAINTY.simplex)
    free = Noise(1.0, labels=True).likelihood
    np.testing.assert_allclose(free.precision(sure), 1 / CERTAINTY.free)
    assert free.loss(1.0 + CERTAINTY.wall * sure[:1], sure[:1]) == pytest.approx(0.5 - np.log(1 + CERTAINTY.wall / 2))


def test_noise_hands_on_what_its_likelihood_says():
    r, y = np.array([0.1, 0.2]), np.array([0.3, -0.1])
    noise = Noise(0.2, relative=np.array([1.0, 2.0]))
    assert noise.likelihood == Gaussian(0.2, noise.relative)
    assert noise.loss(r, y) == Gaussian(0.2, noise.relative).loss(r, y)
    assert noise.price(100) == pytest.approx(np.log(100))
    assert Noise(1.0, labels=True).price(100) < noise.price(100)
