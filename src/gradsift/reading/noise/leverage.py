"""Inputs of high leverage: far out in a unit's own plane for noise, next to certainty for labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...activations import Activation
from ...arguments import Floats
from ...fit import Fitted, Parameters, mirror_rows, predict
from ...geometry import orthonormal_rows
from ...likelihood import Noise
from .settings import DOUBT, INFORMATIVE, LABEL_LEVERAGE, SCALE


def informative_points(theta: Parameters, radius: float, n: int, g: Activation, rng: np.random.Generator) -> Floats:
    """Return n points, shape (n, d), at which each unit's argument is one of a few informative ones.

    For k <= d every combination of arguments has such a point, ``x = A^+ (z - b)`` and anything orthogonal to all
    units; for more units the point is the best compromise.
    """
    k, d = theta.A.shape
    inner = rng.random((n, k)) < INFORMATIVE.inner
    z = rng.choice([-1.0, 1.0], (n, k)) * np.where(inner, SCALE.steep, SCALE.quiet)
    # Solve A x + b = z by least squares. Nearly parallel units must not send x far away, hence the cutoff; what is
    # orthogonal to all units is free and drawn at random.
    inverse = np.linalg.pinv(theta.A, rcond=0.05)
    free = np.eye(d) - np.linalg.pinv(theta.A) @ theta.A
    return np.asarray((z - theta.b) @ inverse.T + radius * rng.standard_normal((n, d)) @ free)


def leverage_repeats(fitted: Fitted, unit: int, sd: float) -> int:
    """Return how many sets of such points about double what is known about a unit's direction."""
    # The argument's error at a point of leverage is `steep`, and an answer there moves by about 0.6 u times that: as
    # many answers as make this a signal of one standard deviation.
    gain = 0.6 * SCALE.steep * abs(float(fitted.theta.u[unit])) / max(sd, 1e-300)
    return int(np.clip(np.ceil(gain**-2 if gain > 0.1 else 100.0), 1, 100))


def leverage_points(fitted: Fitted, unit: int, length: float, rng: np.random.Generator) -> Floats:
    """Return up to d - 1 points whose argument of one unit is as uncertain as `length`; shape (n, d).

    They are combinations of the eigenvectors of the direction's covariance, each stretched by one over its standard
    error, with orthogonal coefficients. Points at which the sign of another unit is in doubt are left out.
    """
    a, b = fitted.theta.A[unit], fitted.theta.b[unit]
    d = len(a)
    values, vectors = np.linalg.eigh(fitted.block(unit)[1:d, 1:d])
    # In the unit's frame the direction's covariance has eigenvalues s_i^2: a point at length / s_i along eigenvector i
    # has an argument with standard error `length`, whatever the eigenvector.
    reach = length / np.sqrt(np.maximum(values, 1e-30 * max(float(values.max()), 1e-300)))
    best = np.empty((0, d))
    for _ in range(DOUBT.most):
        across = orthonormal_rows(d - 1, d - 1, rng) * reach @ vectors.T  # (d - 1, d - 1)
        local = np.concatenate([np.zeros((d - 1, 1)), across], axis=1)
        points = mirror_rows(local, fitted.mirrors[unit]) - b * a / (a @ a)
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
        clear &= (doubt < SCALE.steep) | (z > SCALE.spread + margin * doubt)
    return clear


def argument_errors(fitted: Fitted, unit: int, points: Floats) -> Floats:
    """Return the standard error of one unit's argument at each point."""
    local = np.concatenate([mirror_rows(points, fitted.mirrors[unit]), np.ones((len(points), 1))], axis=1)
    return np.asarray(np.sqrt(np.maximum(np.einsum("ni,ij,nj->n", local, fitted.block(unit), local), 0)))


def squared_standardised_residuals(
    fitted: Fitted, points: Floats, answers: Floats, noise: Noise, g: Activation
) -> Floats:
    """Return the squares of new residuals over what the fit foretold, (n,); about 1 if its errors are honest."""
    theta = fitted.theta
    r = predict(theta, points, g)
    slopes = g.derivative(points @ theta.A.T + theta.b) * theta.u  # (n, k)
    # Expected variance of a residual: noise, and errors of arguments to first order. A unit changes a value by no more
    # than about its weight, however uncertain its argument is.
    spread = 1 / noise.precision(r)
    for unit, u in enumerate(theta.u):
        spread += np.minimum((slopes[:, unit] * argument_errors(fitted, unit, points)) ** 2, u**2)
    return np.asarray((answers - r) ** 2 / spread)


_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(7)


class _Frame(NamedTuple):
    """Coordinates of a unit's plane in which its argument is equally uncertain in all directions.

    foot: the plane's point next to the origin; axes: (d - 1, d) rows per standard deviation of the argument.
    """

    foot: Floats
    axes: Floats


def _frame(fitted: Fitted, unit: int) -> _Frame:
    a, b = fitted.theta.A[unit], fitted.theta.b[unit]
    d = len(a)
    values, vectors = np.linalg.eigh(fitted.block(unit)[1:d, 1:d])
    reach = 1 / np.sqrt(np.maximum(values, 1e-30 * max(float(values.max()), 1e-300)))
    local = np.concatenate([np.zeros((d - 1, 1)), (vectors * reach).T], axis=1)
    return _Frame(np.asarray(-b * a / (a @ a)), mirror_rows(local, fitted.mirrors[unit]))


def leverage_points_for_labels(
    fitted: Fitted, unit: int, length: float, wanted: float, g: Activation, rng: np.random.Generator
) -> Floats:
    """Return points that multiply what is known about a unit's direction by ``1 + wanted``; shape (n, d).

    They lie on both sides of its plane, next to it.

    Each is the better of two: as it comes, or turned so that the others agree on a random label.
    """
    frame, a = _frame(fitted, unit), fitted.theta.A[unit]
    points: list[Floats] = []
    told = 0.0
    while told < wanted and len(points) < DOUBT.most:
        coordinates = length * orthonormal_rows(len(frame.axes), len(frame.axes), rng)
        labels = rng.choice([-1.0, 1.0], len(coordinates))  # both: on one side a turn looks like an offset
        choices = [coordinates, _turned_to_labels(fitted, unit, frame, coordinates, labels)]
        beside = rng.choice([-SCALE.steep, SCALE.steep], len(coordinates))[:, None] * a / (a @ a)
        rows = np.array([frame.foot + beside + one @ frame.axes for one in choices])  # (2, d - 1, d)
        said = np.array([information_of_labels(fitted, unit, part, g) for part in rows])
        best = np.argmax(said, axis=0)
        points.append(rows[best, np.arange(len(best))])
        told += float(said.max(axis=0).mean())
    return np.concatenate(points)


def _turned_to_labels(fitted: Fitted, unit: int, frame: _Frame, coordinates: Floats, labels: Floats) -> Floats:
    """Return points as far out, turned so that the other units are saturated on the side of a label each."""
    theta = fitted.theta
    others = np.flatnonzero(np.arange(len(theta.u)) != unit)
    if len(others) == 0:
        return coordinates
    # Solve (foot + t axes) a_l + b_l = +-size_l for all other units l by least squares, and keep the part of t that
    # changes none of them, stretched so that the length of t stays the same.
    moves = theta.A[others] @ frame.axes.T  # (k - 1, d - 1)
    rest = theta.A[others] @ frame.foot + theta.b[others]
    points = frame.foot + coordinates @ frame.axes
    doubts = np.column_stack([argument_errors(fitted, int(other), points) for other in others])
    sizes = np.maximum(
        np.abs(points @ theta.A[others].T + theta.b[others]), LABEL_LEVERAGE.clear + LABEL_LEVERAGE.clear * doubts
    )
    inverse = np.linalg.pinv(moves)
    aside = (labels[:, None] * np.sign(theta.u[others]) * sizes - rest) @ inverse.T
    along = coordinates - coordinates @ moves.T @ inverse.T
    length = np.linalg.norm(coordinates, axis=1)
    spent = np.linalg.norm(aside, axis=1)
    # No more than half of the squared distance goes into making the other units agree.
    aside *= np.minimum(1.0, np.sqrt(0.5) * length / np.maximum(spent, 1e-300))[:, None]
    left = np.sqrt(length**2 - (aside**2).sum(axis=1))
    return np.asarray(aside + along * (left / np.maximum(np.linalg.norm(along, axis=1), 1e-300))[:, None])


def information_of_labels(fitted: Fitted, unit: int, points: Floats, g: Activation) -> Floats:
    """Return what a label at each point is expected to say of one unit's argument, over what is known of it, (n,).

    The other units' arguments are integrated out: a label whose mean they leave in doubt is an uncertain one. No
    label is taken to be surer than the unit itself allows, ``1 - |r| >= |u| (1 - |g|)``.
    """
    theta = fitted.theta
    # Mean of the label with all other arguments integrated out by Gauss and Hermite's rule, unit by unit.
    r = np.full(len(points), theta.c)
    for other in np.flatnonzero(np.arange(len(theta.u)) != unit):
        r += theta.u[other] * (g.value(_arguments(fitted, int(other), points)) @ _SHARES) / _SHARES.sum()
    z, u = _arguments(fitted, unit, points), abs(float(theta.u[unit]))
    value = g.value(z)
    variance = np.maximum(1 - (r[:, None] + theta.u[unit] * value) ** 2, u * (1 - np.abs(value)))
    # Fisher information of a label on z is (dr/dz)^2 / (1 - r^2), averaged over what is known of z.
    information = (u * g.derivative(z)) ** 2 / np.maximum(variance, 1e-300)
    return np.asarray(information @ _SHARES / _SHARES.sum() * argument_errors(fitted, unit, points) ** 2)


def _arguments(fitted: Fitted, unit: int, points: Floats) -> Floats:
    """Return likely arguments of one unit at each point, (n, 7): the nodes of a quadrature."""
    z = points @ fitted.theta.A[unit] + fitted.theta.b[unit]
    return np.asarray(z[:, None] + argument_errors(fitted, unit, points)[:, None] * _NODES)
