"""Offsets of nearly parallel units, one by one: near the origin only the sum of the two shows almost everywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...checking import Floats
from ...geometry import normalize_rows
from ..asking import Ledger
from .assemble import Found
from .kinked_policy import GRAIN, NEAR_ORIGIN, NEIGHBOURS
from .near_origin import offset_priors

__all__ = ["place_neighbours"]


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
