"""A unit too many in a network that meets all answers: it can go, or two can be one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...activations import Activation
from ...checking import Floats
from .policy import POLICY
from .tower import Layers, pass_through
from .whole import Whole, fit_whole

__all__ = ["leaner"]


class _Merger(NamedTuple):
    """A unit of a layer is replaced by an affine function of another; `left` is what that leaves of it above."""

    left: float
    layer: int
    unit: int
    other: int
    slope: float
    constant: float


def leaner(fit: Whole, X: Floats, y: Floats, g: Activation, eps: float, limit: float) -> Whole | None:
    """Return a network with one unit fewer above the first layer that meets all answers within `limit` roundings, and
    as well as before: a faint unit is not one too many.

    None if there is none among those that change least. At most `POLICY.mergers` fits.
    """
    for merger in sorted(_mergers(fit.layers, X, g))[: POLICY.mergers]:
        fewer = fit_whole(_merged(fit.layers, merger), X, y, g, eps)
        if fewer.worst < limit and fewer.chi < POLICY.as_well * max(fit.chi, POLICY.rounding):
            return fewer
    return None


def _mergers(layers: Layers, X: Floats, g: Activation) -> list[_Merger]:
    """Return for each unit above the first layer the other that follows it best."""
    passed, found = pass_through(layers, X, g), []
    for number in range(1, len(layers) - 1):
        active, above = passed.inputs[number + 1], layers[number + 1][0]
        means = active.mean(axis=0)
        products = (active - means).T @ (active - means) / len(active)
        sizes = np.diag(products) + 1e-300
        for unit in range(len(means) if len(means) > 1 else 0):
            shares = np.where(np.arange(len(means)) == unit, 0.0, products[unit] ** 2 / sizes)
            other = int(np.argmax(shares))
            slope = float(products[unit, other] / sizes[other]) if other != unit else 0.0
            left = np.sqrt(max(0.0, sizes[unit] - shares[other])) * np.linalg.norm(above[:, unit])
            found.append(_Merger(float(left), number, unit, other, slope, float(means[unit] - slope * means[other])))
    return found


def _merged(layers: Layers, merger: _Merger) -> Layers:
    _, number, unit, other, slope, constant = merger
    (W, b), (V, c) = layers[number], layers[number + 1]
    above = V.copy()
    above[:, other] += slope * V[:, unit]
    kept = np.delete(np.arange(len(b)), unit)
    after = (above[:, kept], c + constant * V[:, unit])
    return [*layers[:number], (W[kept], b[kept]), after, *layers[number + 2 :]]
