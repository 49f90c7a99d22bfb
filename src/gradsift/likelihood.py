"""How answers scatter about the function: additive Gaussian noise, or labels -1 and +1 with the function as their mean
or their log-odds.

Loss, score, weight of an answer in a step, precision, draws, the price of an unknown, and how certain a label may be
called. Two passes over rows repeat the score in their own arithmetic: starts in single precision (`table/lbfgs.py`) and
sums on a device (`fit/normal_equations.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit

from .arguments import Floats


@dataclass(frozen=True)
class ChanceLimits:
    """How certain a label may be called, by what for: the least ``1 - r^2``, unless said otherwise.

    Attributes
    ----------
    simplex : float
        In the likelihood of weights on the simplex, where |r| < 1 by itself: rounding, no policy.
    free : float
        In the likelihood of free weights, where r is an estimate that may leave [-1, 1] (guess).
    wall : float
        How far |r| may exceed one there at a cost of half a nat per answer (guess).
    statistic : float
        In scores of units to be added or dropped, which a few rows that look certain must not decide (guess).
    single : float
        Added to twice the probability of a label in float32 (its rounding).
    far : float
        Where all units are saturated and agree: how certain a label is there was itself only estimated (guess).
    contradiction : float
        The same as the least chance of a label that contradicts all units (guess).
    """

    simplex: float = 1e-9
    free: float = 1e-2
    wall: float = 0.05
    statistic: float = 1e-3
    single: float = 8 * float(np.finfo(np.float32).eps)
    far: float = 0.1
    contradiction: float = 0.006


CERTAINTY = ChanceLimits()


class Likelihood(Protocol):
    """What answers y with mean (or log-odds) r can say, elementwise over (n,) arrays."""

    def loss(self, r: Floats, y: Floats, weight: Floats | None = None) -> float:
        """Return minus the log-likelihood, up to a constant; rows may have weights (n,)."""

    def losses(self, r: Floats, y: Floats) -> Floats:
        """Return what each row adds to the loss."""

    def score(self, r: Floats, y: Floats) -> Floats:
        """Return minus the derivative of the loss in each value of r."""

    def curvature(self, r: Floats, y: Floats) -> Floats:
        """Return the weight of each answer in a step."""

    def precision(self, r: Floats) -> Floats:
        """Return the information of each answer about r: what it is expected to tell."""

    def as_gaussian(self, r: Floats, y: Floats) -> Floats:
        """Return answers of mean r and that precision whose score is that of y."""

    def draw(self, r: Floats, rng: np.random.Generator) -> Floats:
        """Return answers of an oracle with mean (or log-odds) r."""

    def price(self, n: int) -> float:
        """Return what twice the log-likelihood of n answers must gain by an unknown."""


@dataclass(frozen=True)
class Gaussian:
    """Additive noise of standard deviation `sd`, times `relative` (n,) where it is uneven."""

    sd: float = 1.0
    relative: Floats | float = 1.0

    def loss(self, r: Floats, y: Floats, weight: Floats | None = None) -> float:
        squares = ((y - r) / self.relative) ** 2
        return float(0.5 * (squares.sum() if weight is None else weight @ squares) / self.sd**2)

    def losses(self, r: Floats, y: Floats) -> Floats:
        return np.asarray(0.5 * ((y - r) / (self.sd * self.relative)) ** 2)

    def score(self, r: Floats, y: Floats) -> Floats:
        return np.asarray((y - r) / (self.sd * self.relative) ** 2)

    def curvature(self, r: Floats, y: Floats) -> Floats:
        return self.precision(r)

    def precision(self, r: Floats) -> Floats:
        return np.full(len(r), (self.sd * self.relative) ** -2)

    def as_gaussian(self, r: Floats, y: Floats) -> Floats:
        return y

    def draw(self, r: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray(r + self.sd * self.relative * rng.standard_normal(len(r)))

    def price(self, n: int) -> float:
        """BIC's."""
        return float(np.log(n))


@dataclass(frozen=True)
class Labels:
    """Labels -1 and +1 with mean r.

    Attributes
    ----------
    certain : float
        ``1 - r^2`` is not taken to be smaller.
    wall : float
        How far |r| may exceed one at a cost of half a nat per answer; inf where it cannot.
    unknown : float
        Price of an unknown: more than units that are not there gain.
    """

    certain: float = CERTAINTY.simplex
    wall: float = np.inf
    unknown: float = 3.5  # guess

    def loss(self, r: Floats, y: Floats, weight: Floats | None = None) -> float:
        losses = self.losses(r, y)
        return float(losses.sum() if weight is None else weight @ losses)

    def losses(self, r: Floats, y: Floats) -> Floats:
        # -log of the chance of the label seen; below the least chance its tangent, so that loss and score stay finite.
        p, least = 0.5 * (1 + y * r), 0.25 * self.certain
        losses = -np.log(np.maximum(p, least))
        if p.min(initial=least) < least:
            losses += np.maximum(least - p, 0.0) / least  # the tangent at the least probability
        if np.isfinite(self.wall):
            losses += 0.5 * (np.maximum(np.abs(r) - 1, 0.0) / self.wall) ** 2
        return np.asarray(losses)

    def score(self, r: Floats, y: Floats) -> Floats:
        inside = y / np.maximum(1 + y * r, 0.5 * self.certain)
        if np.isinf(self.wall):
            return np.asarray(inside)
        return np.asarray(inside - np.sign(r) * np.maximum(np.abs(r) - 1, 0.0) / self.wall**2)

    def curvature(self, r: Floats, y: Floats) -> Floats:
        """Of a label that surprises, and at the wall, the second derivative of the loss, which is larger than the
        precision: by that alone steps would go too far."""
        # Second derivative of -log((1 + y r) / 2), and of the wall.
        seen = np.maximum(1 + y * r, 0.5 * self.certain) ** -2 + np.where(np.abs(r) > 1, self.wall**-2, 0.0)
        return np.asarray(np.maximum(self.precision(r), seen))

    def precision(self, r: Floats) -> Floats:
        return np.asarray(1 / np.maximum(1 - r * r, self.certain))

    def as_gaussian(self, r: Floats, y: Floats) -> Floats:
        return y

    def draw(self, r: Floats, rng: np.random.Generator) -> Floats:
        return np.where(rng.random(len(r)) < 0.5 * (1 + r), 1.0, -1.0)

    def price(self, n: int) -> float:
        """Less than BIC's: labels tell little each, and by BIC a unit would go unseen that its likelihood shows
        beyond doubt."""
        return self.unknown


@dataclass(frozen=True)
class LogOdds:
    """Labels -1 and +1 with log-odds r: ``P(y = 1) = 1 / (1 + exp(-r))``, whatever r is.

    Attributes
    ----------
    least : float
        The information of a label about r is not taken to be smaller.
    """

    least: float = CERTAINTY.simplex

    def loss(self, r: Floats, y: Floats, weight: Floats | None = None) -> float:
        losses = self.losses(r, y)
        return float(losses.sum() if weight is None else weight @ losses)

    def losses(self, r: Floats, y: Floats) -> Floats:
        return np.asarray(np.logaddexp(0.0, -y * r))

    def score(self, r: Floats, y: Floats) -> Floats:
        return np.asarray(y * expit(-y * r))

    def curvature(self, r: Floats, y: Floats) -> Floats:
        return self.precision(r)

    def precision(self, r: Floats) -> Floats:
        return np.asarray(np.maximum(expit(r) * expit(-r), self.least))

    def as_gaussian(self, r: Floats, y: Floats) -> Floats:
        return np.asarray(r + self.score(r, y) / self.precision(r))

    def draw(self, r: Floats, rng: np.random.Generator) -> Floats:
        return np.where(rng.random(len(r)) < expit(r), 1.0, -1.0)

    def price(self, n: int) -> float:
        """BIC's."""
        return float(np.log(n))


_FREE = Labels(CERTAINTY.free, CERTAINTY.wall)


@dataclass(frozen=True)
class Noise:
    """Answers of a black box: additive noise of standard deviation `sd`, or labels with mean r.

    Few labels that look certain are explained best by units far too steep, so that for labels it matters what slope is
    typical. Uneven noise has a factor of `sd` for each answer, `relative` (n,), in the order of the rows of one fit.
    With `log_odds` r is not the mean of labels but their log-odds.
    """

    sd: float
    labels: bool = False
    typical_slope: float | None = None
    relative: Floats | float = 1.0
    log_odds: bool = False

    @property
    def likelihood(self) -> Likelihood:
        """What these answers say."""
        if self.log_odds:
            return LogOdds()
        return _FREE if self.labels else Gaussian(self.sd, self.relative)

    def price(self, n: int) -> float:
        """Return what twice the log-likelihood of n answers must gain by an unknown."""
        return self.likelihood.price(n)

    def loss(self, r: Floats, y: Floats) -> float:
        """Return minus the log-likelihood, up to a constant."""
        return self.likelihood.loss(r, y)

    def score(self, r: Floats, y: Floats) -> Floats:
        """Return minus the derivative of the loss in each value of r."""
        return self.likelihood.score(r, y)

    def curvature(self, r: Floats, y: Floats) -> Floats:
        """Return the weight of each answer in a step."""
        return self.likelihood.curvature(r, y)

    def draw(self, r: Floats, rng: np.random.Generator) -> Floats:
        """Return answers of an oracle with mean r."""
        return self.likelihood.draw(r, rng)

    def precision(self, r: Floats) -> Floats:
        """Return one over the variance of each answer."""
        return self.likelihood.precision(r)
