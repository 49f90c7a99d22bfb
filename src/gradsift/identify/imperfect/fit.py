"""All replies at once: Levenberg-Marquardt with each unit in a frame along its own direction.

Along a unit the replies settle its slope, across it its direction, and after lever queries the two differ by many
orders of magnitude; a reflection that turns the unit into the first axis keeps them in different columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ...activations import Activation
from ...checking import Floats
from ...refine import Parameters

__all__ = ["Fitted", "Noise", "fit_jointly", "predict"]

_SLOPE_PRIOR = 1.0  # standard deviation of a log-slope about the mean of all
_MOST_ITERATIONS = 40
_HOPELESS = 100.0  # nats per answer: a fit this bad that hardly improves is in a wrong place
_FUTILE = 1e-2  # nats per answer: residuals this far below the noise are rounding, and so are further steps
_CERTAIN = 1e-2  # labels: 1 - r^2 is not taken to be smaller
_WALL = 0.05  # labels: how far |r| may exceed one at a cost of half a nat per answer


@dataclass(frozen=True)
class Noise:
    """Additive noise of standard deviation `sd`, or labels with mean r."""

    sd: float
    labels: bool = False

    def loss(self, r: Floats, y: Floats) -> float:
        """Return minus the log-likelihood, up to a constant; labels: with a wall where |r| exceeds one."""
        if self.labels:
            beyond = np.maximum(np.abs(r) - 1, 0.0) / _WALL
            return float(-np.log(np.clip(0.5 * (1 + y * r), 0.25 * _CERTAIN, 1.0)).sum() + 0.5 * (beyond**2).sum())
        return float(0.5 * ((y - r) ** 2).sum() / self.sd**2)

    def score(self, r: Floats, y: Floats) -> Floats:
        """Return minus the derivative of the loss in each value of r."""
        if self.labels:
            inside = np.where(np.abs(r) < 1, y / np.maximum(1 + y * r, 0.5 * _CERTAIN), 0.0)
            return np.asarray(inside - np.sign(r) * np.maximum(np.abs(r) - 1, 0.0) / _WALL**2)
        return np.asarray((y - r) / self.sd**2)

    def draw(self, r: Floats, rng: np.random.Generator) -> Floats:
        """Return answers of an oracle with mean r."""
        if self.labels:
            return np.where(rng.random(len(r)) < 0.5 * (1 + r), 1.0, -1.0)
        return np.asarray(r + self.sd * rng.standard_normal(len(r)))

    def precision(self, r: Floats) -> Floats:
        """Return one over the variance of each answer."""
        if self.labels:
            return np.asarray(1 / np.maximum(1 - r * r, _CERTAIN))
        return np.full(len(r), self.sd**-2)


def predict(theta: Parameters, X: Floats, g: Activation) -> Floats:
    """Return the values at the rows of X."""
    return np.asarray(g.value(X @ theta.A.T + theta.b) @ theta.u + theta.c)


@dataclass(frozen=True)
class Fitted:
    """The most likely parameters and how sure they are.

    Attributes
    ----------
    theta : Parameters
    mirrors : (k, d) array
        Reflection vectors: ``x - 2 (x v) v`` has the unit along its first axis.
    information : (P, P) array
        Of the local coordinates: per unit (reflected a, b), then all weights and the intercept; P = k (d + 2) + 1.
    loss : float
    residuals : (n,) array
    """

    theta: Parameters
    mirrors: Floats
    information: Floats
    loss: float
    residuals: Floats

    @cached_property
    def covariance(self) -> Floats:
        """(P, P), by the Cholesky factor of the scaled information, or its eigenvectors where it is nearly singular."""
        scale = 1 / np.sqrt(np.diag(self.information))
        scaled = self.information * scale[:, None] * scale
        try:
            factor = cho_factor(scaled, lower=True, check_finite=False)
            if float(np.diag(factor[0]).min()) > 1e-5:
                return np.asarray(cho_solve(factor, np.eye(len(scaled))) * scale[:, None] * scale)
        except (LinAlgError, ValueError):
            pass
        values, vectors = np.linalg.eigh(scaled)
        inverse = (vectors / np.maximum(values, 1e-15)) @ vectors.T
        return np.asarray(inverse * scale[:, None] * scale)

    def block(self, unit: int) -> Floats:
        """(d + 1, d + 1) covariance of one unit's reflected a and its offset."""
        d = self.theta.A.shape[1]
        part = slice(unit * (d + 1), (unit + 1) * (d + 1))
        return self.covariance[part, part]

    def tangent(self, unit: int) -> Floats:
        """(d - 1, d - 1) covariance of one unit's direction."""
        d = self.theta.A.shape[1]
        return np.asarray(self.block(unit)[1:d, 1:d] / (self.theta.A[unit] @ self.theta.A[unit]))


def mirrors_of(A: Floats) -> Floats:
    """Return the reflection vector of each row: Householder, away from cancellation."""
    v = A / np.linalg.norm(A, axis=1, keepdims=True)
    v[:, 0] += np.where(v[:, 0] < 0, -1.0, 1.0)
    return np.asarray(v / np.linalg.norm(v, axis=1, keepdims=True))


def reflect(rows: Floats, v: Floats) -> Floats:
    """Return the rows reflected; its own inverse."""
    return np.asarray(rows - np.outer(2 * (rows @ v), v))


def fit_jointly(theta: Parameters, X: Floats, y: Floats, noise: Noise, g: Activation, damping: float = 1e-3) -> Fitted:
    """Maximise the likelihood with a weak prior on the slopes. O(n P^2) flops per step, n P numbers in memory.

    `damping` is that of the first step, over the diagonal: less suits a start that is nearly right.
    """
    here = _look(theta, X, y, noise, g)
    H, slope = _equations(here, X, y, noise, g)
    slow = 0
    for _ in range(_MOST_ITERATIONS):
        scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
        try:
            scaled = H / scale[:, None] / scale
            factor = cho_factor(scaled + damping * np.eye(len(scaled)), lower=True, check_finite=False)
        except (LinAlgError, ValueError):
            damping = max(10 * damping, 1e-8)
            continue
        step = cho_solve(factor, slope / scale) / scale
        gain = float(slope @ step)
        there = _look(_moved(here, step), X, y, noise, g)
        if there.loss <= here.loss:
            settled = gain < 1e-3
            slow = slow + 1 if here.loss - there.loss < 0.01 * here.loss and here.loss > _HOPELESS * len(y) else 0
            if slow == 6:
                settled = True
            here, damping = there, max(damping / 10, 1e-12)
            H, slope = _equations(here, X, y, noise, g)
            if settled or here.loss < _FUTILE * len(y):
                break
        elif gain < 1e-6:
            break
        else:
            damping *= 10
            if damping > 1e8:
                break
    return Fitted(here.theta, here.mirrors, H, here.loss, here.residuals)


def _look(theta: Parameters, X: Floats, y: Floats, noise: Noise, g: Activation) -> Fitted:
    r = predict(theta, X, g)
    lengths = np.linalg.norm(theta.A, axis=1)
    logs = np.log(np.maximum(lengths, 1e-300))
    prior = 0.5 * float(((logs - logs.mean()) ** 2).sum()) / _SLOPE_PRIOR**2
    loss = noise.loss(r, y) + prior
    return Fitted(theta, mirrors_of(theta.A), np.empty(0), loss if np.isfinite(loss) else np.inf, y - r)


def jacobian(theta: Parameters, mirrors: Floats, X: Floats, g: Activation) -> Floats:
    """Return the derivatives of r at the rows of X in the local coordinates, (n, P)."""
    k, d = theta.A.shape
    z = X @ theta.A.T + theta.b
    active = g.derivative(z) * theta.u
    J = np.empty((len(X), k * (d + 2) + 1))
    for unit in range(k):
        part = J[:, unit * (d + 1) : (unit + 1) * (d + 1)]
        part[:, :d] = reflect(X, mirrors[unit])
        part[:, d] = 1.0
        part *= active[:, unit, None]
    J[:, k * (d + 1) : -1] = g.value(z)
    J[:, -1] = 1.0
    return J


def _equations(here: Fitted, X: Floats, y: Floats, noise: Noise, g: Activation) -> tuple[Floats, Floats]:
    """Return the Gauss-Newton matrix and the downhill slope in the local coordinates."""
    theta = here.theta
    k, d = theta.A.shape
    J = jacobian(theta, here.mirrors, X, g)
    weight = noise.precision(y - here.residuals)
    H = (J * weight[:, None]).T @ J
    slope = J.T @ noise.score(y - here.residuals, y)
    lengths = np.linalg.norm(theta.A, axis=1)
    logs = np.log(lengths)
    # The first local coordinate of a unit is its length, up to the sign that the reflection gives it.
    at = np.arange(k) * (d + 1)
    along = np.array([reflect(theta.A[i : i + 1], here.mirrors[i])[0, 0] for i in range(k)])
    H[at, at] += 1 / (_SLOPE_PRIOR * lengths) ** 2
    slope[at] -= (logs - logs.mean()) / (_SLOPE_PRIOR**2 * along)
    return H, slope


def _moved(here: Fitted, step: Floats) -> Parameters:
    theta = here.theta
    k, d = theta.A.shape
    own = step[: k * (d + 1)].reshape(k, d + 1)
    turned = own[:, :d] - 2 * np.einsum("kd,kd->k", own[:, :d], here.mirrors)[:, None] * here.mirrors
    return Parameters(
        theta.A + turned, theta.u + step[k * (d + 1) : -1], theta.b + own[:, d], theta.c + float(step[-1])
    )
