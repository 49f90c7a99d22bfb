"""Where a label says most: next to certainty, where the other units agree.

A label of mean r has variance ``1 - r^2``. On the slope of a unit of weight u, where the others are saturated and add
up to almost one, that is about 2u, so that the label says about u/2 of the unit's argument; elsewhere only u^2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...activations import Activation
from ...checking import Floats
from ...fit import Fitted, reflect
from ...geometry import orthonormal_rows
from .levers import argument_errors
from .tuning import LABEL_LEVERS

__all__ = ["label_levers", "news"]

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
    return _Frame(np.asarray(-b * a / (a @ a)), reflect(local, fitted.mirrors[unit]))


def label_levers(
    fitted: Fitted, unit: int, length: float, wanted: float, g: Activation, rng: np.random.Generator
) -> Floats:
    """Return lever points of one unit that multiply what is known about its direction by ``1 + wanted``; shape (n, d).

    They lie on both sides of its plane, next to it.

    Each is the better of two: as it comes, or turned so that the others agree on a random label.
    """
    frame, a = _frame(fitted, unit), fitted.theta.A[unit]
    points: list[Floats] = []
    told = 0.0
    while told < wanted and len(points) < LABEL_LEVERS.most_sets:
        coordinates = length * orthonormal_rows(len(frame.axes), len(frame.axes), rng)
        labels = rng.choice([-1.0, 1.0], len(coordinates))  # both: on one side a turn looks like an offset
        choices = [coordinates, _agreeing(fitted, unit, frame, coordinates, labels)]
        beside = rng.choice([-LABEL_LEVERS.beside, LABEL_LEVERS.beside], len(coordinates))[:, None] * a / (a @ a)
        rows = np.array([frame.foot + beside + one @ frame.axes for one in choices])  # (2, d - 1, d)
        said = np.array([news(fitted, unit, part, g) for part in rows])
        best = np.argmax(said, axis=0)
        points.append(rows[best, np.arange(len(best))])
        told += float(said.max(axis=0).mean())
    return np.concatenate(points)


def _agreeing(fitted: Fitted, unit: int, frame: _Frame, coordinates: Floats, labels: Floats) -> Floats:
    """Return levers of the same length, turned so that the other units are saturated on the side of a label each."""
    theta = fitted.theta
    others = np.flatnonzero(np.arange(len(theta.u)) != unit)
    if len(others) == 0:
        return coordinates
    moves = theta.A[others] @ frame.axes.T  # (k - 1, d - 1)
    rest = theta.A[others] @ frame.foot + theta.b[others]
    points = frame.foot + coordinates @ frame.axes
    doubts = np.column_stack([argument_errors(fitted, int(other), points) for other in others])
    sizes = np.maximum(
        np.abs(points @ theta.A[others].T + theta.b[others]), LABEL_LEVERS.saturated + LABEL_LEVERS.sure * doubts
    )
    inverse = np.linalg.pinv(moves)
    aside = (labels[:, None] * np.sign(theta.u[others]) * sizes - rest) @ inverse.T
    along = coordinates - coordinates @ moves.T @ inverse.T
    length = np.linalg.norm(coordinates, axis=1)
    spent = np.linalg.norm(aside, axis=1)
    aside *= np.minimum(1.0, LABEL_LEVERS.aside * length / np.maximum(spent, 1e-300))[:, None]
    left = np.sqrt(length**2 - (aside**2).sum(axis=1))
    return np.asarray(aside + along * (left / np.maximum(np.linalg.norm(along, axis=1), 1e-300))[:, None])


def news(fitted: Fitted, unit: int, points: Floats, g: Activation) -> Floats:
    """Return what a label at each point is expected to say of one unit's argument, over what is known of it, (n,).

    The other units' arguments are integrated out: a label whose mean they leave in doubt is an uncertain one. No
    label is taken to be surer than the unit itself allows, ``1 - |r| >= |u| (1 - |g|)``.
    """
    theta = fitted.theta
    r = np.full(len(points), theta.c)
    for other in np.flatnonzero(np.arange(len(theta.u)) != unit):
        r += theta.u[other] * (g.value(_arguments(fitted, int(other), points)) @ _SHARES) / _SHARES.sum()
    z, u = _arguments(fitted, unit, points), abs(float(theta.u[unit]))
    value = g.value(z)
    variance = np.maximum(1 - (r[:, None] + theta.u[unit] * value) ** 2, u * (1 - np.abs(value)))
    information = (u * g.derivative(z)) ** 2 / np.maximum(variance, 1e-300)
    return np.asarray(information @ _SHARES / _SHARES.sum() * argument_errors(fitted, unit, points) ** 2)


def _arguments(fitted: Fitted, unit: int, points: Floats) -> Floats:
    """Return likely arguments of one unit at each point, (n, 7): the nodes of a quadrature."""
    z = points @ fitted.theta.A[unit] + fitted.theta.b[unit]
    return np.asarray(z[:, None] + argument_errors(fitted, unit, points)[:, None] * _NODES)
