"""Two parallel or nearly parallel units that no radius separates: read together, by a local two-unit fit.

On an arc such a pair is ``level + w1 g(z1) + w2 g(z2)``. Samples of the arc at several radii settle both units in the
plane; across it two queries per direction settle two coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from ..checking import Floats
from .circle import CircleScan
from .ledger import Ledger
from .links import Link
from .net import Net

__all__ = ["read_pairs"]

_STARTS = 40
_FITS = 1e-4  # of the pair's height, on the circle alone, whose curvature is left out
_SETTLED = 1e-6  # the same at all radii, where arguments are rounded more coarsely
_MOST_TRIES = 6


def read_pairs(
    ledger: Ledger, scan: CircleScan, known: Net, before: Net, n_before: int, rng: np.random.Generator
) -> Net:
    """Return the pairs of units found on the unresolved arcs of a scan; about 2 d queries each.

    Parameters
    ----------
    known, before : Net
        All other units, and those that were known when the scan began.
    n_before : int
        Number of rows stored then.
    """
    found = known.only(np.zeros(known.k, dtype=bool))
    for low, high in scan.unresolved:
        arc = _arc_samples(ledger, scan, known, before, n_before, float(low), float(high))
        pair = None if arc is None else _fit_in_plane(known.link, arc, rng)
        if pair is None:
            continue
        across = _read_across(ledger, scan, known, pair)
        if across is None:
            continue
        local = np.concatenate([pair.first[:, :2], across], axis=1)  # (2, d)
        units = Net(known.link, scan.frame.from_coordinates(local), pair.first[:, 2], pair.weights, 0.0, (None, None))
        found = found.with_units(units)
    return found


@dataclass(frozen=True)
class _PlanePair:
    """Two units in the plane.

    Attributes
    ----------
    first : (2, 3) array
        Plane coordinates and offset of each.
    weights : (2,) array
    level : float
    radius, center : float
        Where on the circle they are.
    """

    link: Link
    first: Floats
    weights: Floats
    level: float
    radius: float
    center: float

    def arguments(self, points: Floats) -> Floats:
        """Return both arguments at plane points (n, 2), shape (n, 2)."""
        return np.asarray(points @ self.first[:, :2].T + self.first[:, 2])

    def bases(self) -> Floats:
        """Return two plane points at which the two units are active in different ways, shape (2, 2)."""
        angles = self.center + np.linspace(-1, 1, 4001) * 4 * self.link.usable / (self.radius * self._slowest())
        points = self.radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        z = self.arguments(points)
        near = [int(np.argmin(np.abs(z[:, unit]))) for unit in (0, 1)]
        if np.abs(z[near[0]] - z[near[1]]).max() < 0.08 * self.link.usable:  # same place: take its two sides
            sides = np.array([-0.08, 0.08]) * self.link.usable
            near = [int(np.argmin(np.abs(z.mean(axis=1) - side))) for side in sides]
        return points[near]

    def _slowest(self) -> float:
        return float(np.linalg.norm(self.first[:, :2], axis=1).min())


@dataclass(frozen=True)
class _Arc:
    """Samples of an arc at several radii, without the other units.

    Attributes
    ----------
    along : (n,) array
        Distance from the arc's centre along the circle's tangent.
    grown : (n,) array
        Distance outwards over the circle's radius, less one.
    values : (n,) array
        Less the mean of the two plateaus.
    half : float
        Half the difference of the plateaus.
    radius, center, level : float
    """

    along: Floats
    grown: Floats
    values: Floats
    half: float
    radius: float
    center: float
    level: float

    @property
    def scale(self) -> float:
        return max(abs(self.half), float(np.abs(self.values).max()))


def _arc_samples(
    ledger: Ledger, scan: CircleScan, known: Net, before: Net, n_before: int, low: float, high: float
) -> _Arc | None:
    """Collect all samples of an arc; None if the half circle itself did not show it."""
    slope = next((s for s in scan.slopes if s.angles[0] <= high and low <= s.angles[-1]), None)
    if slope is None:
        return None
    rows, answers = ledger.X[n_before:], ledger.y[n_before:]
    flat = rows @ scan.frame.plane.T
    radius, angle = np.hypot(*flat.T), np.arctan2(flat[:, 1], flat[:, 0])
    inside = np.abs(radius - np.linalg.norm(rows, axis=1)) < 1e-9 * radius
    inside &= (angle >= slope.angles[0]) & (angle <= slope.angles[-1]) & (radius > 0.9 * scan.radius)
    edges = scan.frame.on_circle(scan.radius, slope.angles[[0, -1]])
    bottom, top = slope.values[[0, -1]] + before.predict(edges) - known.predict(edges)
    half, level, center = 0.5 * (top - bottom), 0.5 * (top + bottom), 0.5 * (low + high)
    values = answers[inside] - known.predict(rows[inside]) - level
    along, outward = radius[inside] * np.sin(angle[inside] - center), radius[inside] * np.cos(angle[inside] - center)
    return _Arc(along, outward / scan.radius - 1, values, float(half), scan.radius, center, float(level))


def _fit_in_plane(link: Link, arc: _Arc, rng: np.random.Generator) -> _PlanePair | None:
    """Fit two units to the samples at all radii, beginning with the circle and adding one radius after the other."""
    radii = np.unique(np.round(arc.grown[arc.grown > 0.5]))
    for profile in _profiles(link, arc, rng) if len(radii) else ():
        # The arguments are rate * along + radial * grown + constant.
        parameters = np.concatenate([profile, [0.0, 0.0]])
        miss = 0.0
        for furthest in radii:
            use = arc.grown < furthest + 0.5

            def residuals(p: Floats, use: NDArray[np.bool_] = use) -> Floats:
                z = _profile_arguments(p, arc.along[use]) + np.outer(arc.grown[use], p[5:])
                return np.asarray((link.odd.value(z) @ [p[4], arc.half - p[4]] - arc.values[use]) / arc.scale)

            fit = least_squares(residuals, parameters, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=400)
            parameters, miss = fit.x, float(np.abs(fit.fun).max())
            if miss > _FITS:
                break
        if miss < _SETTLED:
            return _in_plane(link, parameters, arc)
    return None


def _profile_arguments(p: Floats, along: Floats) -> Floats:
    """Arguments (n, 2) at the circle from (log rate, log rate, constant, constant, ...)."""
    return np.asarray(np.outer(along, np.exp(np.clip(p[:2], -60, 60))) + p[2:4])


def _profiles(link: Link, arc: _Arc, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield fits of two units to the samples on the circle itself, from random starts; few samples allow several."""
    here = np.abs(arc.grown) < 0.5
    along, values = arc.along[here], arc.values[here]
    active = np.abs(np.abs(values) - abs(arc.half)) > 1e-9 * arc.scale
    if active.sum() < 6:
        return
    middle, width = along[active].mean(), np.ptp(along[active])
    scaled = (along - middle) / width

    def residuals(p: Floats) -> Floats:  # log rates, places, weight of the first
        z = np.exp(np.clip(p[:2], -10, 10)) * (scaled[:, None] - p[2:4])
        return np.asarray(link.odd.value(z) @ [p[4], arc.half / arc.scale - p[4]] - values / arc.scale)

    tried: list[Floats] = []
    for _ in range(_STARTS):
        rates = np.log(link.usable * np.exp(rng.uniform(-0.7, 2.0, 2)))
        weight = 0.5 * arc.half / arc.scale + rng.standard_normal()
        start = np.concatenate([rates, rng.uniform(-0.4, 0.4, 2), [weight]])
        fit = least_squares(residuals, start, method="lm", xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=150)
        rates = np.exp(np.clip(fit.x[:2], -10, 10)) / width
        if np.abs(fit.fun).max() > _FITS or any(np.allclose(np.sort(rates), old, rtol=1e-3) for old in tried):
            continue
        tried.append(np.sort(rates))
        yield np.concatenate([np.log(rates), -rates * (middle + width * fit.x[2:4]), [arc.scale * fit.x[4]]])


def _in_plane(link: Link, p: Floats, arc: _Arc) -> _PlanePair:
    """Turn the fitted profile into plane coordinates and offsets."""
    tangent = np.array([-np.sin(arc.center), np.cos(arc.center)])
    outward = np.array([np.cos(arc.center), np.sin(arc.center)])
    rates, constants, radial = np.exp(p[:2]), p[2:4], p[5:]
    first = np.outer(rates, tangent) + np.outer(radial / arc.radius, outward)  # (2, 2)
    solution = np.concatenate([first, (constants - radial)[:, None]], axis=1)
    return _PlanePair(link, solution, np.array([p[4], arc.half - p[4]]), arc.level, arc.radius, arc.center)


def _read_across(ledger: Ledger, scan: CircleScan, known: Net, pair: _PlanePair) -> Floats | None:
    """Return the coordinates of both units across the plane, shape (2, d - 2); None if they cannot be read."""
    n_across = ledger.n_features - 2
    flat = pair.bases()
    bases, at_base = flat @ scan.frame.plane, pair.arguments(flat)  # (2, d), (2 points, 2 units)
    found = np.zeros((2, n_across))
    steepness = np.linalg.norm(pair.first[:, :2], axis=1)
    for start in range(0, n_across, 8):
        todo = np.arange(start, min(start + 8, n_across))
        seen = np.concatenate([pair.first[:, :2], found[:, :start]], axis=1)
        length = 0.06 * pair.link.usable / float(np.sqrt((seen**2).mean(axis=1)).max())
        for _ in range(_MOST_TRIES):
            across = scan.frame.across(todo)
            points = (bases[:, None] + length * across[None]).reshape(-1, ledger.n_features)
            values = (ledger.ask(points, "pairs") - known.predict(points)).reshape(2, -1) - pair.level
            failed = []
            for column, number in enumerate(todo):
                answer = _solve_two(pair, at_base, values[:, column], length, steepness)
                if answer is None:
                    failed.append(number)
                else:
                    found[:, number] = answer
            todo, length = np.array(failed, dtype=np.intp), length / 4
            if not len(todo):
                break
        else:
            return None
    return found


def _solve_two(pair: _PlanePair, at_base: Floats, values: Floats, length: float, steepness: Floats) -> Floats | None:
    """Solve for two coordinates from the values at the two bases; begin as if the units were parallel."""
    scale = float(np.abs(pair.weights).max())

    def residuals(moves: Floats) -> Floats:
        return np.asarray((pair.link.odd.value(at_base + moves) @ pair.weights - values) / scale)

    ratio = steepness / steepness.max()
    grid = np.linspace(-0.6, 0.6, 241) * pair.link.usable
    misses = [np.abs(residuals(turn * ratio)).max() for turn in grid]
    start = grid[int(np.argmin(misses))] * ratio
    fit = least_squares(residuals, start, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=200)
    if np.abs(fit.fun).max() > 1e-9 or np.abs(fit.x).max() > 0.6 * pair.link.usable:
        return None
    return np.asarray(fit.x / length)
