"""Two nearly parallel units: whether a kink far out is one unit or two, and the offsets of both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from ...arguments import Floats
from ...geometry import normalize_rows
from ..ledger import Ledger
from .near_origin import Polished, offset_priors
from .path_network import Found
from .settings import FAR_PAIRS, GRAIN, NEAR_ORIGIN, NEIGHBOURS


@dataclass(frozen=True)
class FarPairs:
    """What three answers across each unit, far out, say.

    Attributes
    ----------
    worst : float
        Largest miss of a second difference over its error.
    n : int
        Answers asked.
    blind : float
        Angle in degrees below which a second unit beside one of those found might not have shown.
    """

    worst: float
    n: int
    blind: float


def look_for_far_pairs(polished: Polished, ledger: Ledger, rng: np.random.Generator) -> FarPairs:
    """Ask on both sides of each unit and on its hyperplane, far out in random directions along it; 6 queries per unit.

    All other units are straight there, so that the second difference is that of the unit alone. A second unit at an
    angle t crosses the line at a distance t L <v, e>, for a direction v at length L and e that of the second one, and
    beyond the answers it takes its share of the second difference away.
    """
    found, net = polished.found, polished.found.net
    worst, widest, n = 0.0, 0.0, 0
    ends = np.stack([leg.points(0.0) for leg in found.path.legs])
    sigma = net.grain.of(float(np.abs(net.predict(ends)).max()))  # single precision errs by a share of the answer
    for unit in range(net.k):
        alone = net.only(np.arange(net.k) == unit)
        length = float(np.linalg.norm(net.jumps[unit]))
        normal = net.jumps[unit] / length
        width = 0.0 if net.shape.sharp else FAR_PAIRS.widths * abs(float(net.w[unit]))
        step = max(FAR_PAIRS.noise * sigma, width) / length
        for _ in range(FAR_PAIRS.directions):
            aside = _far_along(found, unit, step, rng)
            points = aside - net.q[unit] / length * normal + step * np.array([[-1.0], [0.0], [1.0]]) * normal
            answers = ledger.ask(points, "fresh")
            expected = alone.predict(points)  # and lines, which second differences do not see
            miss = abs(float(np.array([1.0, -2.0, 1.0]) @ (answers - expected)))
            error = np.hypot(np.sqrt(6) * sigma, 2 * found.argument_errors(aside[None])[0, 1 + unit])
            worst, n = max(worst, miss / float(error)), n + 3
            widest = max(widest, step / float(np.linalg.norm(aside)))
    return FarPairs(worst, n, float(np.degrees(np.arctan(widest / _shortfall(len(net.g), FAR_PAIRS.directions)))))


def blind_on_path(found: Found) -> float:
    """Return the angle in degrees below which a second unit beside one of those found might not have shown on the
    path."""
    net = found.net
    lengths = np.linalg.norm(net.jumps, axis=1)
    distances = FAR_PAIRS.on_path * net.grain.of(float(np.abs(net.predict(found.far_points)).max())) / lengths
    widest = float((distances / np.linalg.norm(found.far_points, axis=1)).max(initial=0.0))
    return float(np.degrees(np.arctan(widest / _shortfall(len(net.g), 1))))


def _far_along(found: Found, unit: int, step: float, rng: np.random.Generator) -> Floats:
    """Return a vector along a unit's hyperplane, (d,): so long that errors of its direction move the kink by a small
    part of a step, and of a few random ones that with most room to the other units."""
    net = found.net
    lengths = np.linalg.norm(net.jumps, axis=1)
    normal = net.jumps[unit] / lengths[unit]
    ways = rng.standard_normal((FAR_PAIRS.candidates, len(normal)))
    ways = normalize_rows(ways - np.outer(ways @ normal, normal))
    errors = found.argument_errors(ways)[:, 1 + unit] / lengths[unit]
    vectors = ways * np.minimum(FAR_PAIRS.moved * step / errors, found.path.radius)[:, None]
    others = np.arange(net.k) != unit
    room = np.abs(vectors @ net.jumps[others].T + net.q[others]) / lengths[others]
    return np.asarray(vectors[int(np.argmax(room.min(axis=1, initial=np.inf)))])


def _shortfall(d: int, n: int) -> float:
    """Return c such that n random directions in d - 1 dimensions all have a cosine below c with a given one, in so
    many of all cases as FAR_PAIRS.missed; their density at zero is taken for all cosines."""
    density = 2 / np.sqrt(np.pi) * np.exp(gammaln((d - 1) / 2) - gammaln((d - 2) / 2))
    return min(1.0, float(FAR_PAIRS.missed ** (1 / n) / density))


def place_neighbours(found: Found, ledger: Ledger, rng: np.random.Generator) -> Found:
    """Return the network with offsets of nearly parallel units from answers across each of them; two queries or more
    for each such unit, none for others.

    Far enough along its hyperplane a unit is alone, and only its own kink lies between two answers on both sides of it:
    their difference tells where.
    """
    net = found.net
    normals = normalize_rows(net.jumps)
    sines = np.sqrt(np.maximum(0.0, 1 - (normals @ normals.T) ** 2)) + np.eye(net.k)
    neighbours = np.flatnonzero((sines < np.sin(np.radians(NEIGHBOURS.degrees))).any(axis=1))
    for _ in range(
        NEIGHBOURS.rounds
    ):  # the better offsets are known, the nearer to the origin a unit is alone for sure
        for unit in neighbours[found.placed[neighbours] > NEIGHBOURS.enough * net.grain.sd]:
            seen = _sighting(found, int(unit), ledger, rng)
            if seen is None:
                continue
            q, placed = found.net.q.copy(), found.placed.copy()
            q[unit] -= seen.shift * np.linalg.norm(net.jumps[unit])
            placed[unit] = seen.error
            found = replace(found, net=replace(found.net, q=q), placed=placed)
    return found


class _Sighting(NamedTuple):
    """How far a unit's hyperplane lies from where it was thought, along its normal, and the error of its offset."""

    shift: float
    error: float


def _sighting(found: Found, unit: int, ledger: Ledger, rng: np.random.Generator) -> _Sighting | None:
    """Look for a unit's kink farther and farther from where it is thought to be; None if no place tells."""
    net = found.net
    place = _alone(found, unit, rng)
    if place is None:
        return None
    length = float(np.linalg.norm(net.jumps[unit]))
    normal = net.jumps[unit] / length
    active = (net.arguments(place.foot[None])[0] > 0) & (np.arange(net.k) != unit)
    slope = float((net.g + net.jumps[active].sum(axis=0)) @ normal)  # of all but this unit
    half = max(NEIGHBOURS.first * net.grain.sd / length, GRAIN.near_blur * net.shape.blur)
    while half < place.room:
        low, high = ledger.ask(place.foot + half * np.array([[-1.0], [1.0]]) * normal, "beside")
        # The unit adds its length to the slope on that part of [-half, half] where it is active.
        part = float(high - low - 2 * half * slope) / length
        if NEIGHBOURS.within * half < part < (2 - NEIGHBOURS.within) * half:
            error = np.hypot(net.grain.sd, found.argument_errors(place.foot[None])[0, 1 + unit])
            return _Sighting(float(np.sign(net.w[unit])) * (half - part), NEIGHBOURS.error * float(error))
        half *= NEIGHBOURS.further
    return None


class _Place(NamedTuple):
    """A point of a unit's hyperplane, (d,), and how far from it all others are for sure."""

    foot: Floats
    room: float


def _alone(found: Found, unit: int, rng: np.random.Generator) -> _Place | None:
    """Return the place nearest to the origin that is on a known side of all other units; None if there is none."""
    net = found.net
    lengths = np.linalg.norm(net.jumps, axis=1)
    unsure = NEIGHBOURS.deviations / NEAR_ORIGIN.prior * offset_priors(found)[0] / lengths
    others = np.arange(net.k) != unit
    normal = net.jumps[unit] / lengths[unit]
    ways = rng.standard_normal((NEIGHBOURS.candidates, len(normal)))
    ways = normalize_rows(ways - np.outer(ways @ normal, normal))
    centre = -net.q[unit] / lengths[unit] * normal
    far = NEIGHBOURS.nearest * float(unsure.max()) + float(np.linalg.norm(centre))
    while far < NEIGHBOURS.farthest * found.path.radius:
        feet = centre + far * ways
        room = np.abs(feet @ net.jumps[others].T + net.q[others]) / lengths[others] - unsure[others]  # (n, k - 1)
        at = int(np.argmax(room.min(axis=1)))
        place = _Place(feet[at], float(room[at].min()))
        if place.room > NEIGHBOURS.wide * (unsure[unit] + NEIGHBOURS.first * net.grain.sd / lengths[unit]):
            return place
        far *= NEIGHBOURS.further
    return None
