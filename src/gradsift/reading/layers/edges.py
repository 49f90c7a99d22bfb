"""Slope and offset of every unit of the first layer, read on an edge of the cube: all other units stand still."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...fit.gauss_newton import descend
from ...fit.jacobian import Layers, layer_values
from ...geometry import normalize_rows
from ..ledger import Ledger
from .hyperplanes import FirstLayer
from .settings import POLICY
from .upper_layers import FirstLayerScale

_SLOPE_STARTS = np.array([0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0])  # starts, over what the width of the step suggests
_OFFSET_STARTS = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])
_PLACES = np.array([-15.0, -6.0, -3.0, -1.8, -1.0, -0.5, 0.0, 0.5, 1.0, 1.8, 3.0, 6.0, 15.0])  # over half its width
_REACHES = (1.0, 1.0, 4.0, 10.0)  # radii at which edges of a unit are asked for, over that given; guess
_SLOPES_ALLOWED = (0.02, 50.0)  # over what the width of the step suggests
_FITS = 1e-4  # of the spread of the answers


@dataclass(frozen=True)
class _Edge:
    """Rows on the slope of one unit: signs of all units (n, k), heights over its hyperplane (n,), answers (n,)."""

    unit: int
    signs: Floats
    heights: Floats
    answers: Floats


class _EdgeFit(NamedTuple):
    """Logarithm of the slope and offset, (2,), what they leave over the spread of the answers, and whether the rows
    determine both: on plateaus and in the middle of the slope any slope will do."""

    parameters: Floats
    rms: float
    determined: bool

    @property
    def good(self) -> bool:
        return self.determined and self.rms <= _FITS


def read_slopes(
    ledger: Ledger, first: FirstLayer, upper: Layers, g: Activation, radius: float, rng: np.random.Generator
) -> FirstLayerScale:
    """Fit slope and offset of every unit to rows on its slope; new ones only where those asked so far do not suffice.

    Parameters
    ----------
    upper : Layers
        All layers above the first.
    """
    log_slopes, offsets = np.zeros(len(first)), np.zeros(len(first))
    for unit in range(len(first)):
        edge = _known_edge(ledger, first, unit)
        # Fewer rows than were asked across one hyperplane may lie on plateaus alone.
        found = _fit(edge, upper, g, first.planes[unit].width) if len(edge.heights) >= len(_PLACES) else None
        for reach in _REACHES:
            if found is not None and found.good:
                break
            asked = _asked_edge(ledger, first, unit, upper, g, reach * radius, rng)
            again = None if asked is None else _fit(asked, upper, g, first.planes[unit].width)
            found = _better(found, again)
        log_slopes[unit] = np.log(2 / first.planes[unit].width)
        if found is not None and np.isfinite(found.parameters).all():
            low, high = log_slopes[unit] + np.log(_SLOPES_ALLOWED)
            log_slopes[unit], offsets[unit] = np.clip(found.parameters[0], low, high), found.parameters[1]
    return FirstLayerScale(log_slopes, offsets)


def _better(one: _EdgeFit | None, other: _EdgeFit | None) -> _EdgeFit | None:
    """Return the fit that determines slope and offset, or else leaves less."""
    fits = [fit for fit in (one, other) if fit is not None]
    return min(fits, key=lambda fit: (not fit.determined, fit.rms), default=None)


def _known_edge(ledger: Ledger, first: FirstLayer, unit: int) -> _Edge:
    """Collect rows asked so far near the point at which the hyperplane was read."""
    X, y = ledger.X, ledger.y
    near = np.flatnonzero(np.linalg.norm(X - first.planes[unit].point, axis=1) < 4 * first.margin)
    heights = first.distance(X[near])
    alone = (np.abs(np.delete(heights, unit, axis=1)) > first.margin).all(axis=1)
    return _Edge(unit, np.sign(heights[alone]), heights[alone, unit], y[near[alone]])


def _asked_edge(
    ledger: Ledger, first: FirstLayer, unit: int, upper: Layers, g: Activation, radius: float, rng: np.random.Generator
) -> _Edge | None:
    """Ask across the hyperplane where all other units stand still and the layers above let this one show most; None if
    there is no such place nearby."""
    plane = first.planes[unit]
    ways = rng.standard_normal((POLICY.candidates, ledger.n_features))
    ways -= np.outer(ways @ plane.normal, plane.normal)
    bases = plane.level * plane.normal + radius * normalize_rows(ways)
    heights = first.distance(bases)
    alone = (np.abs(np.delete(heights, unit, axis=1)) > 2 * first.margin).all(axis=1)
    if not alone.any():
        return None
    ends = []
    for sign in (-1.0, 1.0):
        signs = np.sign(heights[alone])
        signs[:, unit] = sign
        ends.append(layer_values(upper, signs, g).values)
    base = bases[alone][int(np.argmax(np.abs(ends[1] - ends[0])))]
    rows = base + (_PLACES * 0.5 * plane.width)[:, None] * plane.normal
    answers = ledger.ask(rows, "first layer")
    heights = first.distance(rows)
    return _Edge(unit, np.sign(heights), heights[:, unit], answers)


def _fit(edge: _Edge, upper: Layers, g: Activation, width: float) -> _EdgeFit:
    spread = float(edge.answers.std()) or 1.0
    inputs = edge.signs.copy()

    def problem(theta: Floats) -> tuple[Floats, Callable[[], Floats]]:
        slope = float(np.exp(np.clip(theta[0], -40, 40)))
        arguments = slope * edge.heights + theta[1]
        inputs[:, edge.unit] = g.value(arguments)
        passed = layer_values(upper, inputs, g)
        by_z = (passed.slopes[0] @ upper[0][0][:, edge.unit]) * g.derivative(arguments) / spread
        return (passed.values - edge.answers) / spread, lambda: np.stack([by_z * edge.heights * slope, by_z], axis=1)

    # The problem has two unknowns and many local minima: the best of a grid are descended from.
    starts = []
    for slope in _SLOPE_STARTS / width:
        for offset in _OFFSET_STARTS:
            start = np.array([np.log(slope), offset])
            left = problem(start)[0]
            starts.append((float(left @ left), start))
    starts.sort(key=lambda pair: pair[0])
    best = descend(problem, starts[0][1], 60, 1e-12, POLICY.patience)
    for _, start in starts[1:4]:
        if best.rms < 1e-6:
            break
        best = min(best, descend(problem, start, 60, 1e-12, POLICY.patience), key=lambda d: d.rms)
    # Smallest singular value of the Jacobian: what the least determined combination of slope and offset changes.
    J = problem(best.parameters)[1]()
    least = float(np.linalg.norm(J, ord=-2)) / np.sqrt(len(J)) if np.isfinite(J).all() else 0.0
    return _EdgeFit(best.parameters, best.rms, least > POLICY.faint)
