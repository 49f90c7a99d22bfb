"""All rows at once, each unit in a frame along its own direction: the fit behind noisy and bounded boxes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from ..activations import Activation
from ..arguments import Floats
from ..likelihood import Noise
from ..tuned import MOST_STEPS, NATS
from .constraints import Prior, slope_prior
from .covariance import LEVELS, Fitted, cones
from .gauss_newton import Limits, LocalModel, minimise
from .jacobian import predict, value_jacobian
from .parameters import Parameters


def mirror_of(A: Floats) -> Floats:
    """Return the reflection vector of each row, (k, d): Householder, away from cancellation."""
    v = A / np.linalg.norm(A, axis=1, keepdims=True)
    # v = a / |a| + sign(a_1) e_1 takes a to the first axis; with the other sign the sum would cancel for a near e_1.
    v[:, 0] += np.where(v[:, 0] < 0, -1.0, 1.0)
    return np.asarray(v / np.linalg.norm(v, axis=1, keepdims=True))


def mirror_rows(rows: Floats, v: Floats) -> Floats:
    """Return the rows reflected; its own inverse."""
    return np.asarray(rows - np.outer(2 * (rows @ v), v))


def moved_by(theta: Parameters, mirrors: Floats, step: Floats) -> Parameters:
    """Return the parameters a step away, in local coordinates."""
    change = theta.layout.unpack(step)
    turned = change.A - 2 * np.einsum("kd,kd->k", change.A, mirrors)[:, None] * mirrors
    linear = None if theta.linear is None or change.linear is None else theta.linear + change.linear
    return Parameters(theta.A + turned, theta.u + change.u, theta.b + change.b, theta.c + change.c, linear)


@dataclass(frozen=True)
class JointTuning:
    """When the joint fit stops.

    Attributes
    ----------
    enough : float
        Nats that a step must promise; with labels, where steps shrink slowly once certain ones meet the wall, more.
    futile : float
        Nats per answer: residuals this far below the noise are rounding, and so are further steps; as many times one
        nat are a wrong place if the fit hardly improves.
    """

    enough: float = 1e-4  # guess
    futile: float = 1e-2  # guess


TUNING = JointTuning()


class _RowPoint(NamedTuple):
    theta: Parameters
    objective: float
    r: Floats  # (n,) values


class _Rows:
    """The objective of rows in memory; the local coordinates at a place are the mirrored ones."""

    def __init__(self, X: Floats, y: Floats, noise: Noise, g: Activation, prior: Prior) -> None:
        self.X, self.y, self.g, self.prior = X, y, g, prior
        self.likelihood = noise.likelihood

    def look(self, theta: Parameters) -> _RowPoint:
        with np.errstate(over="ignore", invalid="ignore"):  # a step may go far too far: it is not taken
            r = predict(theta, self.X, self.g)
            objective = self.likelihood.loss(r, self.y) + self.prior.loss(theta)
        return _RowPoint(theta, objective if np.isfinite(objective) else np.inf, r)

    def model(self, here: _RowPoint) -> LocalModel:
        """Gauss-Newton's for additive noise. O(n P^2) flops, n P numbers."""
        mirrors = mirror_of(here.theta.A)
        J = value_jacobian(here.theta, self.X, self.g, mirrors)
        # In reflected coordinates a unit's first coordinate is its length, the others its direction: the prior on
        # slopes then touches one diagonal entry a unit.
        gradient = here.theta.layout.pack(_mirrored(self.prior.gradient(here.theta), mirrors))
        gradient -= J.T @ self.likelihood.score(here.r, self.y)
        return LocalModel(self._matrix(here, J, self.likelihood.curvature(here.r, self.y)), gradient, False, mirrors)

    def model_at(self, model: LocalModel, here: _RowPoint, there: _RowPoint) -> None:
        return None  # rows in memory are few, and a new matrix is worth its time

    def moved(self, here: _RowPoint, model: LocalModel, step: Floats) -> Parameters:
        return moved_by(here.theta, model.memory, step)

    def information(self, here: _RowPoint, mirrors: Floats) -> Floats:
        """Return what such answers are expected to tell, in the local coordinates."""
        J = value_jacobian(here.theta, self.X, self.g, mirrors)
        return self._matrix(here, J, self.likelihood.precision(here.r))

    def _matrix(self, here: _RowPoint, J: Floats, answers: Floats) -> Floats:
        """Return J' J with weighted answers, and the prior's curvature; overwrites J."""
        # J' W J as (W^1/2 J)' (W^1/2 J): one symmetric product, half the flops of a general one.
        J *= np.sqrt(answers)[:, None]
        H: Floats = J.T @ J
        layout = here.theta.layout
        diagonal = np.einsum("pp->p", H)  # a view
        diagonal += layout.pack(self.prior.precision(here.theta))
        diagonal[layout.first] += self.prior.along(here.theta.A)  # a unit's first local coordinate is its length
        return H


def fit_jointly(
    theta: Parameters, X: Floats, y: Floats, noise: Noise, g: Activation, *, prior: Prior | None = None,
    most: int = MOST_STEPS, enough: float | None = None, damping: float = 1e-3,
) -> Fitted:  # fmt: skip
    """Maximise the likelihood with a weak prior on the slopes. O(n P^2) flops per step, n P numbers in memory.

    Ends after `most` steps, or once a step promises less than `enough` nats (1e-4; labels: 0.02). `damping` is that of
    the first step, over the diagonal: less suits a start that is nearly right.
    """
    problem = _Rows(X, y, noise, g, slope_prior(noise) if prior is None else prior)
    if enough is None:
        enough = NATS if noise.labels else TUNING.enough
    first = problem.look(theta)
    # An objective is in nats per answer here: far below one is rounding, far above one a wrong place.
    limits = Limits(enough, most, TUNING.futile * len(y), len(y) / TUNING.futile)
    end = minimise(problem, first, problem.model(first), limits, damping)
    here, mirrors = end.here, end.model.memory
    # For labels steps use the observed curvature, which surprises inflate; errors need the expected one (Fisher).
    information = problem.information(here, mirrors) if noise.labels else end.model.matrix
    return Fitted(here.theta, mirrors, information, here.objective, y - here.r)


def _mirrored(theta: Parameters, mirrors: Floats) -> Parameters:
    turned = theta.A - 2 * np.einsum("kd,kd->k", theta.A, mirrors)[:, None] * mirrors
    return theta._replace(A=turned)


class Calibration(NamedTuple):
    """Factors by which cones must widen: `stop` those of 99%, `report` those of 95%, `surely` those of 99.9%."""

    stop: float
    report: float
    surely: float


def calibration(
    fitted: Fitted, X: Floats, noise: Noise, g: Activation, rng: np.random.Generator, n_draws: int = 16,
    settle: Callable[[Fitted, Floats], Fitted] = lambda again, y: again,
) -> Calibration:  # fmt: skip
    """Return the factors by which cones must widen to hold what they promise: a studentised parametric bootstrap.

    New answers are drawn from the fitted network at the same points and fitted again, noise included; a factor is
    the quantile of the largest error over its cone, from a Gaussian with the mean and spread of the draws, and for the
    surest claim from Student's distribution, since so high a quantile of a few draws is itself uncertain. Few replies
    per unknown make slopes too steep and noise too small, and this is what it mends. `settle` is what was done to the
    fit after fitting, for a fit and its answers. `n_draws` joint fits.
    """
    truth = fitted.theta
    r = predict(truth, X, g)
    freedom = max(len(X) - len(fitted.information), 1)
    ratios = np.empty((len(LEVELS), n_draws))
    for draw in range(n_draws):
        answers = noise.draw(r, rng)
        again = settle(fit_jointly(truth, X, answers, noise, g), answers)
        errors = _angles(again.theta.A, truth.A)
        if not noise.labels:
            errors = errors / (np.sqrt((again.residuals**2).sum() / freedom) / noise.sd)
        # Studentised: the largest error over its own cone, so that draws with little information count as such.
        ratios[:, draw] = [(errors / np.maximum(cones(again, level), 1e-300)).max() for level in LEVELS]
    # A new draw exceeds m earlier ones as Student's t does, with m - 1 degrees of freedom and variance 1 + 1/m.
    surely = np.sqrt(1 + 1 / n_draws) * stdtrit(n_draws - 1, LEVELS[2])
    quantiles = np.append(ndtri(LEVELS[:2]), surely)
    return Calibration(*np.maximum(1.0, ratios.mean(axis=1) + quantiles * ratios.std(axis=1, ddof=1)).tolist())


def _angles(A: Floats, B: Floats) -> Floats:
    """Return the distances between the directions of matching rows."""
    a, b = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (A, B))
    return np.asarray(np.linalg.norm(a - b, axis=1))
