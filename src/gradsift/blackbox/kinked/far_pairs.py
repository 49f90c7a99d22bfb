"""Whether a kink far out is one unit or two nearly parallel ones, and the angle below which noise hides the second."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from ...checking import Floats
from ...geometry import normalize_rows
from ..asking import Ledger
from .assemble import Found
from .kinked_policy import FAR_PAIRS
from .near_origin import Polished

__all__ = ["FarPairs", "blind_on_path", "look_for_far_pairs"]


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
    for unit in range(net.k):
        alone = net.only(np.arange(net.k) == unit)
        length = float(np.linalg.norm(net.jumps[unit]))
        normal = net.jumps[unit] / length
        step = max(FAR_PAIRS.noise * net.grain.sd, FAR_PAIRS.widths * abs(float(net.w[unit]))) / length
        for _ in range(FAR_PAIRS.directions):
            aside = _far_along(found, unit, step, rng)
            points = aside - net.q[unit] / length * normal + step * np.array([[-1.0], [0.0], [1.0]]) * normal
            answers = ledger.ask(points, "fresh")
            expected = alone.predict(points)  # and lines, which second differences do not see
            miss = abs(float(np.array([1.0, -2.0, 1.0]) @ (answers - expected)))
            error = np.hypot(np.sqrt(6) * net.grain.sd, 2 * found.argument_errors(aside[None])[0, 1 + unit])
            worst, n = max(worst, miss / float(error)), n + 3
            widest = max(widest, step / float(np.linalg.norm(aside)))
    return FarPairs(worst, n, float(np.degrees(np.arctan(widest / _shortfall(len(net.g), FAR_PAIRS.directions)))))


def blind_on_path(found: Found) -> float:
    """Return the angle in degrees below which a second unit beside one of those found might not have shown on the
    path."""
    net = found.net
    lengths = np.linalg.norm(net.jumps, axis=1)
    distances = FAR_PAIRS.on_path * net.grain.sd / lengths
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
