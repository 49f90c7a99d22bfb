"""Whether a network of kinks can be believed: error bounds, fresh points, pairs of units that look like one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from ...arguments import Floats
from ...certificate import BOUND, COARSE_KINKS, KINKED_UNITS, KINKS_IN_NOISE, Evidence, Fresh, Verdict, certify, n_of
from ...certificate import noise_rules as imperfect
from ...geometry import normalize_rows
from ...tuned import SHARE
from ..ledger import Ledger
from .kink_network import KinkNet, shape_of
from .near_origin import NearFit, near_noise, parameter_sizes
from .other_activations import Rivals
from .path_network import Found
from .settings import BEYOND, FAR_PAIRS, NEAR_ORIGIN, NEIGHBOURS


@dataclass(frozen=True)
class UnitBounds:
    """Error bounds of each unit, relative.

    Attributes
    ----------
    jumps, offsets, weights : (k,) arrays
    linear : float
        Of the linear term, over the longest jump.
    """

    jumps: Floats
    offsets: Floats
    weights: Floats
    linear: float

    @property
    def units(self) -> Floats:
        """The largest for each unit, (k,)."""
        return np.asarray(np.max([self.jumps, self.offsets, self.weights], axis=0))

    @property
    def worst(self) -> float:
        """The largest of all."""
        return max(float(self.units.max(initial=0.0)), self.linear)


def bounds_of(polished: NearFit) -> UnitBounds:
    """Return what rounding leaves of every parameter."""
    found, net = polished.found, polished.found.net
    lengths = np.linalg.norm(net.jumps, axis=1)
    # The last direction of each jump comes from its offset over the radius of the crossing; all others from gradients.
    pulled = polished.errors[: net.k] / np.abs((found.asides * found.far_points).sum(axis=1))
    jumps = np.hypot(np.linalg.norm(found.jump_errors, axis=1), pulled) / lengths
    relative = polished.errors / parameter_sizes(net)
    weights = np.zeros(net.k) if net.shape.sharp else relative[net.k : 2 * net.k]
    linear = float(np.linalg.norm(found.linear_errors)) / float(lengths.max(initial=1e-300))
    return UnitBounds(BOUND * jumps, BOUND * relative[: net.k], BOUND * weights, BOUND * linear)


def far_pair(found: Found, rng: np.random.Generator) -> Floats:
    """Return two opposite points far beyond the path: a unit that it missed is active at one of them."""
    way = normalize_rows(rng.standard_normal((1, len(found.net.g)))) * (BEYOND * found.path.radius)
    return np.concatenate([way, -way])


def near_points(found: Found, rng: np.random.Generator) -> Floats:
    """Return pairs of opposite points around the hyperplanes: nearly every unit is active at one point of a pair."""
    net = found.net
    lengths = np.linalg.norm(net.jumps, axis=1)
    sizes = np.abs(net.q) / lengths + (0.0 if net.shape.sharp else np.abs(net.w) / lengths)
    d = len(net.g)
    n_pairs = NEAR_ORIGIN.fresh // 2 if net.grain.sd else 1
    radii = float(np.median(sizes)) * np.sqrt(d) * rng.uniform(*NEAR_ORIGIN.around, n_pairs)
    ways = radii[:, None] * normalize_rows(rng.standard_normal((n_pairs, d)))
    return np.concatenate([ways, -ways])


def worst_residual(polished: NearFit, X: Floats, y: Floats) -> float:
    """Return the worst miss of answers over what rounding and the errors of all parameters explain.

    Through noise, where no single miss is large, their root mean square counts, too.
    """
    found, net = polished.found, polished.found.net
    if not len(X):
        return 0.0
    derivatives = net.near_derivatives(X)
    # An answer may miss by its own noise, and by what the errors of q, w and c make of it: both in squares.
    lost = np.linalg.norm(derivatives * polished.errors, axis=1)
    misses = np.abs(y - net.predict(X)) / np.hypot(near_noise(found, X), lost)
    scatter = float(np.sqrt(np.mean(misses**2))) if net.grain.sd else 0.0
    return max(float(misses.max()), BOUND * scatter)


def certify_kinks(
    polished: NearFit,
    bounds: UnitBounds,
    chi: float,
    fresh: float,
    n_fresh: int,
    ledger: Ledger,
    rivals: Rivals | None = None,
    blind: float = 0.0,
) -> Verdict:
    """Return the verdict on a polished network.

    Parameters
    ----------
    chi, fresh : float
        Worst misses of all stored answers and of fresh ones, over what rounding explains.
    rivals : Rivals, optional
        How other activations do, where answers are coarse.
    blind : float
        Angle in degrees below which noise hides the second of two nearly parallel units.
    """
    net, is_exact = polished.found.net, polished.found.net.grain.is_exact
    lengths = np.linalg.norm(net.jumps, axis=1)
    limits = KINKED_UNITS if is_exact else COARSE_KINKS
    own = []
    if net.grain.is_single:  # through noise standard errors say it
        own.append(imperfect.known_offsets(float(bounds.offsets.max(initial=0.0))))
    if rivals is not None:
        own.append(
            imperfect.activation(rivals.best, rivals.gain, KINKS_IN_NOISE, instead=_note_on_activation(net, rivals))
        )
        if not net.shape.sharp:
            own.append(imperfect.rounded_kinks(rivals.sharper))
    verdict = certify(
        Evidence(
            n_of(net.k, f"{net.shape.name} unit"), ledger.n_queries, chi, Fresh(n_fresh, fresh, where=" near and far"),
            float((bounds.units if is_exact else bounds.jumps).max(initial=0.0)), _worst_unit(net, bounds),
            linear=bounds.linear, faintest=float(lengths.min() / lengths.max()) if net.k else None, own=tuple(own),
            limit="noise" if net.grain.has_noise else "rounding",
            kept="a relative error" if is_exact else "in the directions a relative error",
            rest=_left_open(net, rivals, blind),
        ),
        limits,
    )  # fmt: skip
    # First: no activation may be advised where two units may look like one.
    paired = None if rivals is None else rivals.paired
    return verdict if paired is None else verdict.add(imperfect.parallel_pairs(*paired), first=True)


def _note_on_activation(net: KinkNet, rivals: Rivals) -> str:
    """Say what to do instead of trying the activation that explains the answers best; nothing if that may help."""
    if not shape_of(rivals.best).even:
        return f"Coarse answers do not let {rivals.best} units be found: ask for more exact ones."
    units = normalize_rows(net.jumps)
    closest = float(np.abs(units @ units.T - np.eye(net.k)).max(initial=0.0))
    angle = float(np.degrees(np.arccos(min(1.0, closest))))
    if angle < NEIGHBOURS.degrees:
        return (
            f"Average answers inside the oracle: two units are {angle:.2g} degrees apart, and an error in one may look "
            "like another activation."
        )
    return ""


def _worst_unit(net: KinkNet, bounds: UnitBounds) -> str:
    """Say what makes the unit that is known worst hard to know: a faint weight, a neighbour, answers of few digits."""
    if not net.k:
        return "no unit"
    lengths = np.linalg.norm(net.jumps, axis=1)
    at = int(np.argmax(bounds.units if net.grain.is_exact else bounds.jumps))
    cosines = np.abs(net.jumps @ net.jumps[at]) / (lengths * lengths[at])
    angle = float(np.degrees(np.arccos(min(1.0, np.delete(cosines, at).max(initial=0.0)))))
    faint = lengths[at] / lengths.max()
    reasons = [f"its weight is {faint:.1g} of the largest"] if faint < SHARE else []
    reasons += [f"another unit is {angle:.2g} degrees beside it"] if angle < NEIGHBOURS.degrees else []
    reasons += ["answers are single precision"] if net.grain.is_single else []
    return f"a unit (precision limit{': ' if reasons else ''}{', '.join(reasons)})"


def _left_open(net: KinkNet, rivals: Rivals | None, blind: float) -> str:
    """Say what coarse answers leave open: the activation, and second units beside those that were found."""
    second = f"; a second unit within {blind:.1g} degrees of a found one would not have shown" if blind else ""
    if rivals is not None and rivals.alike:
        return f"; not told apart: {' and '.join(rivals.alike)} units{second}"
    if net.shape.sharp and net.grain.sd:
        return f"; kinks that are rounded within the noise would look the same{second}"
    return second


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


def look_for_far_pairs(polished: NearFit, ledger: Ledger, rng: np.random.Generator) -> FarPairs:
    """Ask on both sides of each unit and on its hyperplane, far out in random directions along it; 6 queries per unit.

    All other units are straight there, so that the second difference is that of the unit alone. A second unit at an
    angle t crosses the line at a distance t L <v, e>, for a direction v at length L and e that of the second one, and
    beyond the answers it takes its share of the second difference away.
    """
    found, net = polished.found, polished.found.net
    worst, widest, n = 0.0, 0.0, 0
    ends = np.stack([segment.points(0.0) for segment in found.path.segments])
    sigma = net.grain.error_of(float(np.abs(net.predict(ends)).max()))  # single precision errs by a share of the answer
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
            # The second difference of f at -s, 0, s is that of the one kink between: lines and all other units cancel.
            miss = abs(float(np.array([1.0, -2.0, 1.0]) @ (answers - expected)))
            error = np.hypot(np.sqrt(6) * sigma, 2 * found.argument_errors(aside[None])[0, 1 + unit])
            worst, n = max(worst, miss / float(error)), n + 3
            widest = max(widest, step / float(np.linalg.norm(aside)))
    return FarPairs(worst, n, float(np.degrees(np.arctan(widest / _likely_overlap(len(net.g), FAR_PAIRS.directions)))))


def blind_on_path(found: Found) -> float:
    """Return the angle in degrees below which a second unit beside one of those found might not have shown on the
    path."""
    net = found.net
    lengths = np.linalg.norm(net.jumps, axis=1)
    distances = FAR_PAIRS.on_path * net.grain.error_of(float(np.abs(net.predict(found.far_points)).max())) / lengths
    widest = float((distances / np.linalg.norm(found.far_points, axis=1)).max(initial=0.0))
    return float(np.degrees(np.arctan(widest / _likely_overlap(len(net.g), 1))))


def _far_along(found: Found, unit: int, step: float, rng: np.random.Generator) -> Floats:
    """Return a vector along a unit's hyperplane, (d,): so long that errors of its direction move the kink by a small
    part of a step, and of a few random ones that with most room to the other units."""
    net = found.net
    lengths = np.linalg.norm(net.jumps, axis=1)
    normal = net.jumps[unit] / lengths[unit]
    ways = rng.standard_normal((NEIGHBOURS.candidates, len(normal)))
    ways = normalize_rows(ways - np.outer(ways @ normal, normal))
    errors = found.argument_errors(ways)[:, 1 + unit] / lengths[unit]
    # As far along as the error of the normal moves the hyperplane by a small part of the step only.
    vectors = ways * np.minimum(FAR_PAIRS.moved * step / errors, found.path.radius)[:, None]
    others = np.arange(net.k) != unit
    room = np.abs(vectors @ net.jumps[others].T + net.q[others]) / lengths[others]
    return np.asarray(vectors[int(np.argmax(room.min(axis=1, initial=np.inf)))])


def _likely_overlap(d: int, n: int) -> float:
    """Return c such that n random directions in d - 1 dimensions all have a cosine below c with a given one, in so
    many of all cases as FAR_PAIRS.missed; their density at zero is taken for all cosines."""
    # The cosine of a random direction in m = d - 1 dimensions has density 2 Gamma(m/2) / (sqrt(pi) Gamma((m-1)/2)) at
    # 0; n directions all have a small one, |cos| < c, with chance (density c)^n.
    density = 2 / np.sqrt(np.pi) * np.exp(gammaln((d - 1) / 2) - gammaln((d - 2) / 2))
    return min(1.0, float(FAR_PAIRS.missed ** (1 / n) / density))
