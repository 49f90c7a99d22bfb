"""Offsets and widths of single units through coarse answers, from answers across each hyperplane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...arguments import Floats
from ...certificate import BOUND
from ...fit.last_digits import fit_to_rounding, with_prior
from ...geometry import normalize_rows
from ...tuned import FACTOR, PRIOR, SHARE, TRIES
from ..ledger import Ledger
from .kink_network import KinkNet, Shape
from .near_origin import NearFit, near_noise, prior_of_offsets, refit
from .path_network import Found
from .settings import NEIGHBOURS, SEGMENT, WIDTHS


class _Width(NamedTuple):
    """Argument of a unit per length along its normal, inverted; `error` is relative."""

    value: float
    error: float


def measure_widths(
    sharp: NearFit, shape: Shape, reach: float, ledger: Ledger, rng: np.random.Generator, scale: float | None = None
) -> NearFit:
    """Return the network with rounded kinks instead of sharp ones; 8 queries per unit, 14 for the first if no scale is
    given.

    Parameters
    ----------
    sharp : NearFit
        With offsets from answers where all units are straight.
    shape : Shape
        Of the true activation; even.
    reach : float
        Distance from a hyperplane beyond which its unit is straight.
    scale : float, optional
        Change of the function at which to look for rounding, where kinks may be sharp.
    """
    widths: list[_Width] = []
    rows, answers = [sharp.X], [sharp.y]
    for unit in range(sharp.found.net.k):
        profile = _WidthProfile(sharp, shape, reach, unit, rng)
        known = np.array([w.value for w in widths if w.error < WIDTHS.doubted])
        if scale is not None:
            places = profile.places(scale / profile.length)
        else:
            places = profile.places(float(np.median(known)) if len(known) else None)
        X = profile.points(places)
        y = ledger.ask(X, "widths")
        widths.append(profile.fit(places, X, y))
        rows.append(X)
        answers.append(y)
    found = sharp.found
    lengths = np.linalg.norm(found.net.jumps, axis=1)
    w = np.sign(found.net.w) * lengths * [width.value for width in widths]
    smooth = replace(
        found,
        net=replace(found.net, shape=shape, w=w),
        weight_errors=np.abs(w) * [width.error for width in widths],
    )
    errors = np.concatenate([sharp.errors[:-1], smooth.weight_errors, sharp.errors[-1:]])
    X, y = np.concatenate(rows), np.concatenate(answers)
    return NearFit(smooth, X, y, near_noise(smooth, X), errors)


def other_widths(polished: NearFit) -> NearFit | None:
    """Return the network with other widths of units whose width is hardly known, where they explain the answers
    better; None if none does. No queries; O(n k^2) flops for each of a few widths of such a unit."""
    best = net = polished.found.net
    lengths = np.linalg.norm(net.jumps, axis=1)
    doubtful = polished.errors[net.k : 2 * net.k] > WIDTHS.doubted * np.abs(net.w)
    typical = float(np.median((np.abs(net.w) / lengths)[doubtful if doubtful.all() else ~doubtful]))
    for unit in np.flatnonzero(doubtful):
        for factor in WIDTHS.others:
            w = best.w.copy()
            w[unit] = np.sign(w[unit]) * lengths[unit] * factor * typical
            best = min(best, refit(polished, replace(best, w=w)), key=polished.half_chi)
    if polished.half_chi(best) > polished.half_chi(net) - np.log(len(WIDTHS.others)):
        return None
    found = replace(polished.found, net=best, weight_errors=np.maximum(polished.found.weight_errors, np.abs(best.w)))
    return replace(polished, found=found)


class _WidthProfile:
    """The line across one unit's hyperplane, through the point where all other units are furthest away."""

    def __init__(self, sharp: NearFit, shape: Shape, reach: float, unit: int, rng: np.random.Generator) -> None:
        self.sharp, self.shape, self.reach, self.unit = sharp, shape, reach, unit
        net = sharp.found.net
        self.length = float(np.linalg.norm(net.jumps[unit]))
        self.normal = net.jumps[unit] / self.length
        self.foot = self._origin(net, rng)

    def _origin(self, net: KinkNet, rng: np.random.Generator) -> Floats:
        along = rng.standard_normal((NEIGHBOURS.candidates, len(self.normal)))
        # Points of the hyperplane: the foot, and random ways along it; where all other units are far they are straight.
        along -= np.outer(along @ self.normal, self.normal)
        along *= FACTOR * self.reach / np.linalg.norm(along, axis=1, keepdims=True)
        feet = -net.q[self.unit] / self.length * self.normal + along
        distances = np.abs(feet @ net.jumps.T + net.q) / np.linalg.norm(net.jumps, axis=1)  # (n, k)
        distances[:, self.unit] = np.inf
        return np.asarray(feet[int(np.argmax(distances.min(axis=1)))])

    def points(self, places: Floats) -> Floats:
        """Return the points (n, d) at these distances from the hyperplane."""
        return np.asarray(self.foot + places[:, None] * self.normal)

    def places(self, width: float | None) -> Floats:
        """Return distances from the hyperplane for a width that is known roughly, (8,), or not at all, (14,)."""
        sizes = self.reach * np.array(WIDTHS.first) if width is None else width * np.array(WIDTHS.places)
        return np.concatenate([-sizes, sizes])

    def fit(self, places: Floats, X: Floats, y: Floats) -> _Width:
        """Return the width that fits best over a grid, the level of the line and the offset being free."""
        net, errors = self.sharp.found.net, self.sharp.errors
        noise = near_noise(self.sharp.found, X)
        misses = y - net.predict(X)
        side = float(np.sign(net.w[self.unit]))
        level = float(np.linalg.norm(errors))
        prior = np.array([level, 3 * errors[self.unit]])
        grid = self.reach * np.geomspace(*WIDTHS.range, WIDTHS.grid)
        chis = np.array([self._chi(width, side, places, misses, noise, prior) for width in grid])
        best = int(np.argmin(chis))
        # Profile likelihood: one standard error is where the sum of squares is larger by one.
        within = grid[chis <= chis[best] + 1]
        step = float(grid[1] / grid[0])
        # No better than the grid: the standard deviation of what is uniform within one of its steps.
        least = (step - 1) / float(np.sqrt(12))
        return _Width(float(grid[best]), max(float(np.sqrt(within[-1] / within[0])) * step - 1, least))

    def _chi(self, width: float, side: float, places: Floats, misses: Floats, noise: Floats, prior: Floats) -> float:
        """Return the sum of squares at one width, with level and offset fitted."""
        u, heights = side * self.length * width, self.length * places

        def problem(shift: Floats) -> tuple[Floats, Callable[[], Floats]]:
            # The unit that is sharp in the model is replaced by a rounded one; a level and a shift of its hyperplane
            # are free.
            z = (heights + shift[1]) / u
            bump = u * (np.maximum(z, 0.0) + self.shape.rest(z))
            sharp = side * np.maximum(side * heights, 0.0)
            slopes = (z > 0) + self.shape.rest_slope(z)
            left = (bump - sharp + shift[0] - misses) / noise
            return left, lambda: np.stack([np.ones(len(z)), slopes], axis=1) / noise[:, None]

        residuals = fit_to_rounding(with_prior(problem, np.zeros(2), prior), np.zeros(2)).residuals
        return float(residuals @ residuals)


def place_parallel_units(found: Found, ledger: Ledger, rng: np.random.Generator) -> Found:
    """Return the network with offsets of nearly parallel units from answers across each of them; two queries or more
    for each such unit, none for others.

    Far enough along its hyperplane a unit is alone, and only its own kink lies between two answers on both sides of it:
    their difference tells where.
    """
    net = found.net
    normals = normalize_rows(net.jumps)
    # Sine of the angle between all pairs of normals; one on the diagonal, where a unit meets itself.
    sines = np.sqrt(np.maximum(0.0, 1 - (normals @ normals.T) ** 2)) + np.eye(net.k)
    neighbours = np.flatnonzero((sines < np.sin(np.radians(NEIGHBOURS.degrees))).any(axis=1))
    for _ in range(TRIES):  # the better offsets are known, the nearer to the origin a unit is alone for sure
        for unit in neighbours[found.placed[neighbours] > BOUND * net.grain.sd]:
            found = _placed(found, int(unit), ledger, rng)
    return found


def _placed(found: Found, unit: int, ledger: Ledger, rng: np.random.Generator) -> Found:
    """Look for a unit's kink farther and farther from where it is thought to be, and take its offset from there."""
    net = found.net
    place = _alone(found, unit, rng)
    if place is None:
        return found
    length = float(np.linalg.norm(net.jumps[unit]))
    normal = net.jumps[unit] / length
    active = (net.arguments(place.foot[None])[0] > 0) & (np.arange(net.k) != unit)
    slope = float((net.g + net.jumps[active].sum(axis=0)) @ normal)  # of all but this unit
    half = max(SEGMENT.apart * net.grain.sd / length, net.shape.half_width)
    while half < place.room:
        low, high = ledger.ask(place.foot + half * np.array([[-1.0], [1.0]]) * normal, "beside")
        # The unit adds its length to the slope on that part of [-half, half] where it is active.
        part = float(high - low - 2 * half * slope) / length
        if (1 - SHARE) * half < part < (1 + SHARE) * half:
            q, placed = net.q.copy(), found.placed.copy()
            q[unit] -= float(np.sign(net.w[unit])) * (half - part) * np.linalg.norm(net.jumps[unit])
            error = np.hypot(net.grain.sd, found.argument_errors(place.foot[None])[0, 1 + unit])
            placed[unit] = np.sqrt(2) * float(error)  # of two answers
            return replace(found, net=replace(net, q=q), placed=placed)
        half *= FACTOR
    return found


class _Place(NamedTuple):
    """A point of a unit's hyperplane, (d,), and how far from it all others are for sure."""

    foot: Floats
    room: float


def _alone(found: Found, unit: int, rng: np.random.Generator) -> _Place | None:
    """Return the place nearest to the origin that is on a known side of all other units; None if there is none."""
    net = found.net
    lengths = np.linalg.norm(net.jumps, axis=1)
    # Distances by which hyperplanes may lie elsewhere, (k,).
    unsure = BOUND / PRIOR * prior_of_offsets(found)[0] / lengths
    others = np.arange(net.k) != unit
    normal = net.jumps[unit] / lengths[unit]
    ways = rng.standard_normal((NEIGHBOURS.candidates, len(normal)))
    ways = normalize_rows(ways - np.outer(ways @ normal, normal))
    centre = -net.q[unit] / lengths[unit] * normal
    far = float(unsure.max()) + float(np.linalg.norm(centre))
    while FACTOR * far < found.path.radius:
        feet = centre + far * ways
        room = np.abs(feet @ net.jumps[others].T + net.q[others]) / lengths[others] - unsure[others]  # (n, k - 1)
        at = int(np.argmax(room.min(axis=1)))
        place = _Place(feet[at], float(room[at].min()))
        if place.room > FACTOR * (unsure[unit] + SEGMENT.apart * net.grain.sd / lengths[unit]):
            return place
        far *= FACTOR
    return None
