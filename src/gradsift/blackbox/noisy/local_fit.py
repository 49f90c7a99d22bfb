"""All replies at once: Levenberg-Marquardt with each unit in a frame along its own direction.

Along a unit the replies settle its slope, across it its direction, and after lever queries the two differ by many
orders of magnitude; a reflection that turns the unit into the first axis keeps them in different columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ...activations import Activation
from ...checking import Floats
from ...fit import Parameters, predict, value_jacobian

__all__ = ["Fitted", "Noise", "Prior", "fit_jointly", "jacobian", "mirrors_of", "moved", "predict", "reflect"]

_MOST_ITERATIONS = 40
_HOPELESS = 100.0  # nats per answer: a fit this bad that hardly improves is in a wrong place
_ENOUGH = (1e-3, 0.05)  # nats: additive noise, and labels: steps shrink slowly where certain ones meet the wall
_LABEL_SLOPES = 4.0  # one over the variance of log-slopes about the typical one
_DRAG = 0.6  # labels, nats: 1/2 where arguments spread widely, 1 where all are on the slope; levers: in between
_FUTILE = 1e-2  # nats per answer: residuals this far below the noise are rounding, and so are further steps
_LABEL_PRICE = 3.5  # of an unknown: more than units that are not there gain
_CERTAIN = 1e-2  # labels: 1 - r^2 is not taken to be smaller
_WALL = 0.05  # labels: how far |r| may exceed one at a cost of half a nat per answer


@dataclass(frozen=True)
class Prior:
    """What is believed before any answer.

    Attributes
    ----------
    slopes : float
        One over the variance of a log-slope.
    typical : float, optional
        The slope that they vary about; by default the geometric mean of all.
    decay, weight_decay : float
        One over the variance of the entries of A, and of the weights.
    drag : float
        Times d - 1, what an e-fold of a slope costs. Directions are fitted to the noise, too, which makes the most
        likely slopes too steep; integrated over all directions the likelihood has a factor ``|I|^(-1/2)``, and the
        information I of d - 1 coordinates of a direction grows with the slope.
    """

    slopes: float = 1.0
    decay: float = 0.0
    weight_decay: float = 0.0
    typical: float | None = None
    drag: float = 0.0

    def surplus(self, A: Floats) -> Floats:
        """(k,) log-slopes over what is expected of them."""
        logs = np.log(np.maximum(np.linalg.norm(A, axis=1), 1e-300))
        return np.asarray(logs - (logs.mean() if self.typical is None else np.log(self.typical)))

    def loss(self, theta: Parameters) -> float:
        """Return minus its logarithm, up to a constant."""
        decay = self.decay * float((theta.A**2).sum()) + self.weight_decay * float(theta.u @ theta.u)
        surplus = self.surplus(theta.A)
        drag = self.drag * float((theta.A.shape[1] - 1) * surplus.sum())
        return 0.5 * (self.slopes * float((surplus**2).sum()) + decay) + drag


@dataclass(frozen=True)
class Noise:
    """Additive noise of standard deviation `sd`, or labels with mean r.

    Few labels that look certain are explained best by units far too steep, so that for labels it matters what slope is
    typical. Uneven noise has a factor of `sd` for each answer, `relative` (n,), in the order of the rows of one fit.
    """

    sd: float
    labels: bool = False
    typical_slope: float | None = None
    relative: Floats | float = 1.0

    @property
    def prior(self) -> Prior:
        """What is believed about the slopes of units behind such answers."""
        if self.typical_slope is None:
            return Prior()
        return Prior(_LABEL_SLOPES, typical=self.typical_slope, drag=_DRAG)

    def price(self, n: int) -> float:
        """Return what twice the log-likelihood of n answers must gain by an unknown: BIC's, or less for labels.

        Labels tell little each, and by BIC a unit would go unseen that its likelihood shows beyond doubt.
        """
        return _LABEL_PRICE if self.labels else float(np.log(n))

    def loss(self, r: Floats, y: Floats) -> float:
        """Return minus the log-likelihood, up to a constant; labels: with a wall where |r| exceeds one."""
        if self.labels:
            p, least = 0.5 * (1 + y * r), 0.25 * _CERTAIN
            beyond = np.maximum(np.abs(r) - 1, 0.0) / _WALL
            steep = np.maximum(least - p, 0.0) / least  # the tangent at the least probability
            return float((steep - np.log(np.maximum(p, least)) + 0.5 * beyond**2).sum())
        return float(0.5 * (((y - r) / self.relative) ** 2).sum() / self.sd**2)

    def score(self, r: Floats, y: Floats) -> Floats:
        """Return minus the derivative of the loss in each value of r."""
        if self.labels:
            inside = y / np.maximum(1 + y * r, 0.5 * _CERTAIN)
            return np.asarray(inside - np.sign(r) * np.maximum(np.abs(r) - 1, 0.0) / _WALL**2)
        return np.asarray((y - r) / (self.sd * self.relative) ** 2)

    def curvature(self, r: Floats, y: Floats) -> Floats:
        """Return the weight of each answer in a step: its precision; for a label that surprises, and at the wall, the
        second derivative of the loss, which is larger: by the precision alone steps would go too far."""
        if self.labels:
            seen = np.maximum(1 + y * r, 0.5 * _CERTAIN) ** -2 + np.where(np.abs(r) > 1, _WALL**-2, 0.0)
            return np.asarray(np.maximum(self.precision(r), seen))
        return self.precision(r)

    def draw(self, r: Floats, rng: np.random.Generator) -> Floats:
        """Return answers of an oracle with mean r."""
        if self.labels:
            return np.where(rng.random(len(r)) < 0.5 * (1 + r), 1.0, -1.0)
        return np.asarray(r + self.sd * self.relative * rng.standard_normal(len(r)))

    def precision(self, r: Floats) -> Floats:
        """Return one over the variance of each answer."""
        if self.labels:
            return np.asarray(1 / np.maximum(1 - r * r, _CERTAIN))
        return np.full(len(r), (self.sd * self.relative) ** -2)


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
        scale = 1 / np.sqrt(np.maximum(np.diag(self.information), 1e-30))  # what no answer tells stays finite
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
        part = self.theta.layout.own(unit)
        return self.covariance[part, part]

    def studentised(self, X: Floats, noise: Noise, g: Activation) -> Floats:
        """(n,) residuals at the rows X of the fit over their standard deviations: fitting makes residuals smaller."""
        J = jacobian(self.theta, self.mirrors, X, g)
        sd = noise.sd * noise.relative
        leverage = np.einsum("np,np->n", J @ self.covariance, J) / sd**2
        return np.asarray(self.residuals / (sd * np.sqrt(np.maximum(1 - leverage, 0.05))))

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


def fit_jointly(
    theta: Parameters, X: Floats, y: Floats, noise: Noise, g: Activation, *, prior: Prior | None = None,
    most: int = _MOST_ITERATIONS, enough: float | None = None, damping: float = 1e-3,
) -> Fitted:  # fmt: skip
    """Maximise the likelihood with a weak prior on the slopes. O(n P^2) flops per step, n P numbers in memory.

    Ends after `most` steps, or once a step promises less than `enough` nats (0.001; labels: 0.05). `damping` is that of
    the first step, over the diagonal: less suits a start that is nearly right.
    """
    problem = _Problem(X, y, noise, g, noise.prior if prior is None else prior)
    enough = _ENOUGH[noise.labels] if enough is None else enough
    here = problem.look(theta)
    H, slope = problem.equations(here)
    slow = 0
    for _ in range(most):
        scale = 1 / np.sqrt(np.maximum(np.diag(H), 1e-300))
        scaled = H * scale[:, None] * scale
        scaled[np.diag_indices_from(scaled)] += damping
        try:
            step = scale * cho_solve(
                cho_factor(scaled, lower=True, overwrite_a=True, check_finite=False), slope * scale, check_finite=False
            )
        except (LinAlgError, ValueError):
            damping = max(10 * damping, 1e-8)
            continue
        gain = float(slope @ step)
        there = problem.look(moved(here, step))
        if there.loss <= here.loss:
            slow = slow + 1 if here.loss - there.loss < 0.01 * here.loss and here.loss > _HOPELESS * len(y) else 0
            here, damping = there, max(damping / 10, 1e-12)
            if gain < enough or slow == 6 or here.loss < _FUTILE * len(y):
                return replace(here, information=problem.information(here))
            H, slope = problem.equations(here)
        elif gain < 1e-3 * enough or damping > 1e8:
            break
        else:
            damping *= 10
    return replace(here, information=problem.information(here) if noise.labels else H)


def jacobian(theta: Parameters, mirrors: Floats, X: Floats, g: Activation) -> Floats:
    """Return the derivatives of r at the rows of X in the local coordinates, (n, P)."""
    return value_jacobian(theta, X, g, mirrors)


@dataclass(frozen=True)
class _Problem:
    """What is minimised, and its local quadratic model."""

    X: Floats
    y: Floats
    noise: Noise
    g: Activation
    prior: Prior

    def look(self, theta: Parameters) -> Fitted:
        """Return the loss and the residuals at some parameters; no information yet."""
        r = predict(theta, self.X, self.g)
        loss = self.noise.loss(r, self.y) + self.prior.loss(theta)
        return Fitted(theta, mirrors_of(theta.A), np.empty(0), loss if np.isfinite(loss) else np.inf, self.y - r)

    def equations(self, here: Fitted) -> tuple[Floats, Floats]:
        """Return the matrix of a step (Gauss-Newton's for additive noise) and the downhill slope, locally."""
        theta, prior = here.theta, self.prior
        layout = theta.layout
        J = jacobian(theta, here.mirrors, self.X, self.g)
        r = self.y - here.residuals
        slope = J.T @ self.noise.score(r, self.y)
        # The first local coordinate of a unit is its length, up to the sign that the reflection gives it.
        along = np.linalg.norm(theta.A, axis=1) * np.where(theta.A[:, 0] < 0, 1.0, -1.0)
        pull = prior.slopes * prior.surplus(theta.A) + prior.drag * (layout.n_features - 1)
        slope[layout.first] -= pull / along + prior.decay * along
        slope[layout.weights] -= prior.weight_decay * theta.u
        return self._matrix(theta, J, self.noise.curvature(r, self.y)), slope

    def information(self, here: Fitted) -> Floats:
        """Return what such answers are expected to tell, in the local coordinates."""
        J = jacobian(here.theta, here.mirrors, self.X, self.g)
        return self._matrix(here.theta, J, self.noise.precision(self.y - here.residuals))

    def _matrix(self, theta: Parameters, J: Floats, answers: Floats) -> Floats:
        """Return J' J with weighted answers, and the prior's curvature; overwrites J."""
        prior = self.prior
        layout = theta.layout
        J *= np.sqrt(answers)[:, None]
        H: Floats = J.T @ J
        diagonal = np.einsum("pp->p", H)  # a view
        diagonal[layout.first] += prior.slopes / np.maximum((theta.A**2).sum(axis=1), 1e-300)
        layout.rows(diagonal)[:, : layout.n_features] += prior.decay
        diagonal[layout.weights] += prior.weight_decay
        return H


def moved(here: Fitted, step: Floats) -> Parameters:
    """Return the parameters a step away, in local coordinates."""
    theta = here.theta
    change = theta.layout.unpack(step)
    turned = change.A - 2 * np.einsum("kd,kd->k", change.A, here.mirrors)[:, None] * here.mirrors
    return Parameters(
        theta.A + turned,
        theta.u + change.u,
        theta.b + change.b,
        theta.c + change.c,
        None if theta.linear is None or change.linear is None else theta.linear + change.linear,
    )
