"""All rows at once, each unit in a frame along its own direction: the fit behind noisy and bounded boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..activations import Activation
from ..arguments import Floats
from ..likelihood import Noise
from .constraints import Prior, slope_prior
from .covariance import Fitted
from .gauss_newton import Limits, Quadratic, minimise
from .jacobian import predict, value_jacobian
from .parameters import Parameters


def mirrors_of(A: Floats) -> Floats:
    """Return the reflection vector of each row, (k, d): Householder, away from cancellation."""
    v = A / np.linalg.norm(A, axis=1, keepdims=True)
    v[:, 0] += np.where(v[:, 0] < 0, -1.0, 1.0)
    return np.asarray(v / np.linalg.norm(v, axis=1, keepdims=True))


def reflect(rows: Floats, v: Floats) -> Floats:
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
    most : int
        Steps.
    enough, enough_for_labels : float
        Nats that a step must promise; with labels steps shrink slowly where certain ones meet the wall.
    futile : float
        Nats per answer: residuals this far below the noise are rounding, and so are further steps.
    hopeless : float
        Nats per answer: a fit this bad that hardly improves is in a wrong place.
    """

    most: int = 40  # guess
    enough: float = 1e-4  # guess
    enough_for_labels: float = 1e-2  # guess
    futile: float = 1e-2  # guess
    hopeless: float = 100.0  # guess


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

    def model(self, here: _RowPoint) -> Quadratic:
        """Gauss-Newton's for additive noise. O(n P^2) flops, n P numbers."""
        mirrors = mirrors_of(here.theta.A)
        J = value_jacobian(here.theta, self.X, self.g, mirrors)
        gradient = here.theta.layout.pack(_in_mirrors(self.prior.gradient(here.theta), mirrors))
        gradient -= J.T @ self.likelihood.score(here.r, self.y)
        return Quadratic(self._matrix(here, J, self.likelihood.curvature(here.r, self.y)), gradient, False, mirrors)

    def carried(self, model: Quadratic, here: _RowPoint, there: _RowPoint) -> None:
        return None  # rows in memory are few, and a new matrix is worth its time

    def move(self, here: _RowPoint, model: Quadratic, step: Floats) -> Parameters:
        return moved_by(here.theta, model.memory, step)

    def information(self, here: _RowPoint, mirrors: Floats) -> Floats:
        """Return what such answers are expected to tell, in the local coordinates."""
        J = value_jacobian(here.theta, self.X, self.g, mirrors)
        return self._matrix(here, J, self.likelihood.precision(here.r))

    def _matrix(self, here: _RowPoint, J: Floats, answers: Floats) -> Floats:
        """Return J' J with weighted answers, and the prior's curvature; overwrites J."""
        J *= np.sqrt(answers)[:, None]
        H: Floats = J.T @ J
        layout = here.theta.layout
        diagonal = np.einsum("pp->p", H)  # a view
        diagonal += layout.pack(self.prior.precisions(here.theta))
        diagonal[layout.first] += self.prior.along(here.theta.A)  # a unit's first local coordinate is its length
        return H


def fit_jointly(
    theta: Parameters, X: Floats, y: Floats, noise: Noise, g: Activation, *, prior: Prior | None = None,
    most: int = TUNING.most, enough: float | None = None, damping: float = 1e-3,
) -> Fitted:  # fmt: skip
    """Maximise the likelihood with a weak prior on the slopes. O(n P^2) flops per step, n P numbers in memory.

    Ends after `most` steps, or once a step promises less than `enough` nats (1e-4; labels: 0.01). `damping` is that of
    the first step, over the diagonal: less suits a start that is nearly right.
    """
    problem = _Rows(X, y, noise, g, slope_prior(noise) if prior is None else prior)
    if enough is None:
        enough = TUNING.enough_for_labels if noise.labels else TUNING.enough
    first = problem.look(theta)
    limits = Limits(enough, most, TUNING.futile * len(y), TUNING.hopeless * len(y))
    end = minimise(problem, first, problem.model(first), limits, damping)
    here, mirrors = end.here, end.model.memory
    information = problem.information(here, mirrors) if noise.labels else end.model.matrix
    return Fitted(here.theta, mirrors, information, here.objective, y - here.r)


def _in_mirrors(theta: Parameters, mirrors: Floats) -> Parameters:
    turned = theta.A - 2 * np.einsum("kd,kd->k", theta.A, mirrors)[:, None] * mirrors
    return theta._replace(A=turned)
