"""Queries far out in a unit's own plane: its direction error is amplified there, the noise is not."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...activations import Activation
from ...checking import Floats
from ...fit import Fitted, predict, reflect
from ...geometry import orthonormal_rows
from ...likelihood import Noise
from .tuning import LEVERS

__all__ = ["clear_of", "lever_points", "lever_sets", "surprise"]


def lever_sets(fitted: Fitted, unit: int, sd: float) -> int:
    """Return how many sets of levers about double what is known about a unit's direction."""
    gain = 0.6 * LEVERS.longest * abs(float(fitted.theta.u[unit])) / max(sd, 1e-300)
    return int(np.clip(np.ceil(gain**-2 if gain > 0.1 else 100.0), 1, 100))


def lever_points(fitted: Fitted, unit: int, length: float, rng: np.random.Generator) -> Floats:
    """Return up to d - 1 points whose argument of one unit is as uncertain as `length`; shape (n, d).

    They are combinations of the eigenvectors of the direction's covariance, each stretched by one over its standard
    error, with orthogonal coefficients. Points at which the sign of another unit is in doubt are left out.
    """
    a, b = fitted.theta.A[unit], fitted.theta.b[unit]
    d = len(a)
    values, vectors = np.linalg.eigh(fitted.block(unit)[1:d, 1:d])
    reach = length / np.sqrt(np.maximum(values, 1e-30 * max(float(values.max()), 1e-300)))
    best = np.empty((0, d))
    for _ in range(LEVERS.draws):
        across = orthonormal_rows(d - 1, d - 1, rng) * reach @ vectors.T  # (d - 1, d - 1)
        local = np.concatenate([np.zeros((d - 1, 1)), across], axis=1)
        points = reflect(local, fitted.mirrors[unit]) - b * a / (a @ a)
        good = points[clear_of([other for other in range(len(fitted.theta.u)) if other != unit], fitted, points)]
        if len(good) > len(best):
            best = good
        if len(best) == d - 1:
            break
    return best


def clear_of(units: Iterable[int], fitted: Fitted, points: Floats, margin: float = 2.5) -> NDArray[np.bool_]:
    """Tell at which points each of some units is either known well or saturated, by `margin` standard errors."""
    clear = np.ones(len(points), dtype=bool)
    for unit in units:
        z = np.abs(points @ fitted.theta.A[unit] + fitted.theta.b[unit])
        doubt = argument_errors(fitted, unit, points)
        clear &= (doubt < LEVERS.longest) | (z > LEVERS.quiet + margin * doubt)
    return clear


def argument_errors(fitted: Fitted, unit: int, points: Floats) -> Floats:
    """Return the standard error of one unit's argument at each point."""
    local = np.concatenate([reflect(points, fitted.mirrors[unit]), np.ones((len(points), 1))], axis=1)
    return np.asarray(np.sqrt(np.maximum(np.einsum("ni,ij,nj->n", local, fitted.block(unit), local), 0)))


def surprise(fitted: Fitted, points: Floats, answers: Floats, noise: Noise, g: Activation) -> Floats:
    """Return the squares of new residuals over what the fit foretold, (n,); about 1 if its errors are honest."""
    theta = fitted.theta
    r = predict(theta, points, g)
    slopes = g.derivative(points @ theta.A.T + theta.b) * theta.u  # (n, k)
    spread = 1 / noise.precision(r)
    for unit, u in enumerate(theta.u):
        spread += np.minimum((slopes[:, unit] * argument_errors(fitted, unit, points)) ** 2, u**2)
    return np.asarray((answers - r) ** 2 / spread)
