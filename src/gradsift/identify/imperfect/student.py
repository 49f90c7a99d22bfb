"""Rough units and their number from random inputs: a student with units to spare, thinned out one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from ...activations import Activation
from ...checking import Floats
from ...refine import Parameters
from .fit import Fitted, Noise, fit_jointly

__all__ = ["Lesson", "study"]

_RIDGES = (1e-4, 4e-4)  # weight decay of the two starts, over the variance of the answers, for arguments
_WEIGHT_RIDGE = 1e-3
_LEAST_ROWS = 1.4  # per unknown: with fewer a joint fit only finds noise
_JUMP = 1.5  # of the error when a unit is removed that was needed
_BELOW, _WINDOW = 2, 4  # numbers of units below and above the jump that are fitted to the last digit
_FIRST, _AGAIN = 600, 150  # iterations of L-BFGS: from random units, and after each removal


@dataclass(frozen=True)
class Lesson:
    """What the student learned.

    Attributes
    ----------
    fitted : Fitted
        With the number of units that BIC prefers.
    gap : float
        By how much BIC prefers it to the next best number.
    saturated : bool
        The preferred number is so close to the student's own that a larger student is called for.
    """

    fitted: Fitted
    gap: float
    saturated: bool


def study(
    X: Floats, y: Floats, noise: Noise, g: Activation, n_spare: int, scale: float, rng: np.random.Generator
) -> Lesson:
    """Fit students with `n_spare` units and thin them out.

    Parameters
    ----------
    X, y : (n, d) and (n,) arrays
    n_spare : int
        Units of the student, more than the network has.
    scale : float
        Standard deviation of the entries of X.

    Notes
    -----
    Spare units and weight decay make the landscape kind; BIC with the known noise then tells how many are real.
    O(n n_spare d) flops for each of about 1500 steps.
    """
    n, d = X.shape
    best: dict[int, Fitted] = {}
    for ridge in _RIDGES:
        loss = _Loss(X / scale, y, g, ridge * float(y.var()))
        path = loss.thin_out(_random_student(n_spare, d, y, rng), n_spare)
        for k in _worth_fitting(path, n, d):
            fitted = fit_jointly(_unscaled(loss.unpack(path[k].flat, k), scale), X, y, noise, g)
            if k not in best or fitted.loss < best[k].loss:
                best[k] = fitted
    scores = {k: 2 * f.loss + (k * (d + 2) + 1) * float(np.log(n)) for k, f in best.items()}
    scores[0] = 2 * noise.loss(np.full(n, y.mean()), y) + float(np.log(n))
    order = sorted(scores, key=lambda k: scores[k])
    chosen = order[0] or order[1]
    gap = scores[order[1]] - scores[order[0]] if order[0] else -1.0
    return Lesson(best[chosen], gap, chosen + 1 >= n_spare or chosen == max(best))


class _Stage(NamedTuple):
    """A thinned student and its mean squared error."""

    flat: Floats
    error: float


def _worth_fitting(path: dict[int, _Stage], n: int, d: int) -> list[int]:
    """Return the numbers of units from just below the first jump of the error to a few above it."""
    jumps = [k for k in path if k + 1 in path and path[k].error > _JUMP * path[k + 1].error]
    low = max(jumps, default=1)
    return [k for k in path if low - _BELOW <= k <= low + _WINDOW and _LEAST_ROWS * (k * (d + 2) + 1) < n] or [1]


def _random_student(k: int, d: int, y: Floats, rng: np.random.Generator) -> Floats:
    spread = float(y.std())
    return np.concatenate([
        2 * rng.standard_normal(k * d) / np.sqrt(d), 0.3 * rng.standard_normal(k),
        0.5 * spread * rng.standard_normal(k), [float(y.mean())],
    ])  # fmt: skip


def _unscaled(theta: Parameters, scale: float) -> Parameters:
    return theta._replace(A=theta.A / scale)


class _Loss:
    """Mean squared error with weight decay, for scipy; flat students are [A, b, u, c]."""

    def __init__(self, X: Floats, y: Floats, g: Activation, ridge: float) -> None:
        self.X, self.y, self.g, self.ridge = X, y, g, ridge

    def unpack(self, flat: Floats, k: int) -> Parameters:
        kd = k * self.X.shape[1]
        return Parameters(flat[:kd].reshape(k, -1), flat[kd + k : kd + 2 * k], flat[kd : kd + k], float(flat[-1]))

    def __call__(self, flat: Floats) -> tuple[float, Floats]:
        n, d = self.X.shape
        A, u, b, c = self.unpack(flat, (len(flat) - 1) // (d + 2))
        z = self.X @ A.T + b
        values = self.g.value(z)
        e = values @ u + c - self.y
        slopes = self.g.derivative(z) * u * (e / n)[:, None]
        gradient = np.concatenate([
            (slopes.T @ self.X + self.ridge * A).ravel(), slopes.sum(axis=0),
            values.T @ e / n + _WEIGHT_RIDGE * u, [e.mean()],
        ])  # fmt: skip
        decay = 0.5 * self.ridge * float((A * A).sum()) + 0.5 * _WEIGHT_RIDGE * float(u @ u)
        return 0.5 * float(e @ e) / n + decay, gradient

    def descend(self, flat: Floats, n_iterations: int) -> Floats:
        """Return the end of a run of L-BFGS."""
        done = minimize(self, flat, jac=True, method="L-BFGS-B", options={"maxiter": n_iterations, "maxcor": 20})
        return np.asarray(done.x)

    def thin_out(self, flat: Floats, k: int) -> dict[int, _Stage]:
        """Return students with k, k - 1, ..., 1 units, from a random one with k."""
        path = {}
        flat = self.descend(flat, _FIRST)
        while True:
            A, u, b, c = self.unpack(flat, k)
            e = self.g.value(self.X @ A.T + b) @ u + c - self.y
            path[k] = _Stage(flat, float(np.mean(e * e)))
            if k == 1:
                return path
            flat = self.descend(self.without_least(flat, k), _AGAIN)
            k -= 1

    def without_least(self, flat: Floats, k: int) -> Floats:
        """Return the student without the unit whose loss the other weights mend best."""
        A, u, b, c = self.unpack(flat, k)
        features = np.column_stack([self.g.value(self.X @ A.T + b), np.ones(len(self.X))])
        gram = features.T @ features
        gram[np.diag_indices_from(gram)] += 1e-6 * len(self.X)
        inverse = np.linalg.inv(gram)
        weights = inverse @ (features.T @ self.y)
        keep = np.arange(k) != int(np.argmin((weights**2 / np.diag(inverse))[:k]))
        return np.concatenate([A[keep].ravel(), b[keep], u[keep], [c]])
