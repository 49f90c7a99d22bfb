"""All replies at once: Levenberg-Marquardt with each unit in a frame along its own direction."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ...activations import Activation
from ...checking import Floats
from ...fit import Fitted, Parameters, mirrors_of, moved_by, predict, reflect, value_jacobian
from ...likelihood import Noise

__all__ = [
    "Fitted",
    "Noise",
    "Prior",
    "fit_jointly",
    "jacobian",
    "mirrors_of",
    "moved",
    "predict",
    "reflect",
    "slope_prior",
]

_MOST_ITERATIONS = 40
_HOPELESS = 100.0  # nats per answer: a fit this bad that hardly improves is in a wrong place
_ENOUGH = (1e-3, 0.05)  # nats: additive noise, and labels: steps shrink slowly where certain ones meet the wall
_LABEL_SLOPES = 4.0  # one over the variance of log-slopes about the typical one
_DRAG = 0.6  # labels, nats: 1/2 where arguments spread widely, 1 where all are on the slope; levers: in between
_FUTILE = 1e-2  # nats per answer: residuals this far below the noise are rounding, and so are further steps


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


def slope_prior(noise: Noise) -> Prior:
    """Return what is believed about the slopes of units behind such answers."""
    if noise.typical_slope is None:
        return Prior()
    return Prior(_LABEL_SLOPES, typical=noise.typical_slope, drag=_DRAG)


def fit_jointly(
    theta: Parameters, X: Floats, y: Floats, noise: Noise, g: Activation, *, prior: Prior | None = None,
    most: int = _MOST_ITERATIONS, enough: float | None = None, damping: float = 1e-3,
) -> Fitted:  # fmt: skip
    """Maximise the likelihood with a weak prior on the slopes. O(n P^2) flops per step, n P numbers in memory.

    Ends after `most` steps, or once a step promises less than `enough` nats (0.001; labels: 0.05). `damping` is that of
    the first step, over the diagonal: less suits a start that is nearly right.
    """
    problem = _Problem(X, y, noise, g, slope_prior(noise) if prior is None else prior)
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


def moved(here: Fitted, step: Floats) -> Parameters:
    """Return the parameters a step away, in local coordinates."""
    return moved_by(here.theta, here.mirrors, step)


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
