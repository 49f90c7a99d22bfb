"""Whether to vouch for a network of kinks, and the points that tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arguments import Floats
from ...certificate import BOUND, COARSE_KINKS, KINKED_UNITS, KINKS_IN_NOISE, Evidence, Fresh, Verdict, certify, n_of
from ...certificate import noise_rules as imperfect
from ...geometry import normalize_rows
from ..ledger import Ledger
from .answer_precision import EXACT_ANSWERS
from .kink_network import KinkNet
from .near_origin import Polished, near_noise, parameter_sizes
from .other_activations import Rivals
from .path_network import Found
from .settings import VOUCH
from .shape import shape_of


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


def bounds_of(polished: Polished) -> UnitBounds:
    """Return what rounding leaves of every parameter."""
    found, net = polished.found, polished.found.net
    lengths = np.linalg.norm(net.jumps, axis=1)
    pulled = polished.errors[: net.k] / np.abs((found.asides * found.far_points).sum(axis=1))
    jumps = np.hypot(np.linalg.norm(found.jump_errors, axis=1), pulled) / lengths
    relative = polished.errors / parameter_sizes(net)
    weights = np.zeros(net.k) if net.shape.sharp else relative[net.k : 2 * net.k]
    linear = float(np.linalg.norm(found.linear_errors)) / float(lengths.max(initial=1e-300))
    return UnitBounds(BOUND * jumps, BOUND * relative[: net.k], BOUND * weights, BOUND * linear)


def far_pair(found: Found, rng: np.random.Generator) -> Floats:
    """Return two opposite points far beyond the path: a unit that it missed is active at one of them."""
    way = normalize_rows(rng.standard_normal((1, len(found.net.g)))) * (VOUCH.far * found.path.radius)
    return np.concatenate([way, -way])


def near_points(found: Found, rng: np.random.Generator) -> Floats:
    """Return pairs of opposite points around the hyperplanes: nearly every unit is active at one point of a pair."""
    net = found.net
    lengths = np.linalg.norm(net.jumps, axis=1)
    sizes = np.abs(net.q) / lengths + (0.0 if net.shape.sharp else np.abs(net.w) / lengths)
    d = len(net.g)
    n_pairs = VOUCH.pairs_in_noise if net.grain.sd else 1
    radii = float(np.median(sizes)) * np.sqrt(d) * rng.uniform(*VOUCH.around, n_pairs)
    ways = radii[:, None] * normalize_rows(rng.standard_normal((n_pairs, d)))
    return np.concatenate([ways, -ways])


def foretold(polished: Polished, X: Floats, y: Floats) -> float:
    """Return the worst miss of answers over what rounding and the errors of all parameters explain.

    Through noise, where no single miss is large, their root mean square counts, too.
    """
    found, net = polished.found, polished.found.net
    if not len(X):
        return 0.0
    derivatives = net.near_derivatives(X)
    lost = np.linalg.norm(derivatives * polished.errors, axis=1)
    misses = np.abs(y - net.predict(X)) / np.hypot(near_noise(found, X), lost)
    scatter = float(np.sqrt(np.mean(misses**2))) if net.grain.sd else 0.0
    return max(float(misses.max()), VOUCH.scatter * scatter)


def certify_kinks(
    polished: Polished,
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
    net, is_exact = polished.found.net, polished.found.net.grain is EXACT_ANSWERS
    lengths = np.linalg.norm(net.jumps, axis=1)
    limits = KINKED_UNITS if is_exact else COARSE_KINKS
    own = []
    if net.grain.single:  # through noise standard errors say it
        own.append(imperfect.known_offsets(float(bounds.offsets.max(initial=0.0))))
    if rivals is not None:
        own.append(imperfect.activation(rivals.best, rivals.gain, KINKS_IN_NOISE, instead=_instead(net, rivals)))
        if not net.shape.sharp:
            own.append(imperfect.rounded_kinks(rivals.sharper))
    verdict = certify(
        Evidence(
            n_of(net.k, f"{net.shape.name} unit"), ledger.n_queries, chi, Fresh(n_fresh, fresh, where=" near and far"),
            float((bounds.units if is_exact else bounds.jumps).max(initial=0.0)), _worst_unit(net, bounds),
            linear=bounds.linear, faintest=float(lengths.min() / lengths.max()) if net.k else None, own=tuple(own),
            limit=_limit(net), kept="a relative error" if is_exact else "in the directions a relative error",
            rest=_untold(net, rivals) + _hidden(blind),
        ),
        limits,
    )  # fmt: skip
    # First: no activation may be advised where two units may look like one.
    paired = None if rivals is None else rivals.paired
    return verdict if paired is None else verdict.headed(imperfect.parallel_pairs(*paired))


def _limit(net: KinkNet) -> str:
    """Name what limits the answers."""
    return "noise" if net.grain.random else "rounding"


def _instead(net: KinkNet, rivals: Rivals) -> str:
    """Say what to do instead of trying the activation that explains the answers best; nothing if that may help."""
    if not shape_of(rivals.best).even:
        return f"Coarse answers do not let {rivals.best} units be found: ask for more exact ones."
    units = normalize_rows(net.jumps)
    closest = float(np.abs(units @ units.T - np.eye(net.k)).max(initial=0.0))
    angle = float(np.degrees(np.arccos(min(1.0, closest))))
    if angle < VOUCH.beside:
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
    at = int(np.argmax(bounds.units if net.grain is EXACT_ANSWERS else bounds.jumps))
    cosines = np.abs(net.jumps @ net.jumps[at]) / (lengths * lengths[at])
    angle = float(np.degrees(np.arccos(min(1.0, np.delete(cosines, at).max(initial=0.0)))))
    faint = lengths[at] / lengths.max()
    reasons = [f"its weight is {faint:.1g} of the largest"] if faint < VOUCH.faint else []
    reasons += [f"another unit is {angle:.2g} degrees beside it"] if angle < VOUCH.beside else []
    reasons += ["answers are single precision"] if net.grain.single else []
    return f"a unit (precision limit{': ' if reasons else ''}{', '.join(reasons)})"


def _untold(net: KinkNet, rivals: Rivals | None) -> str:
    """Say what coarse answers leave open about the activation."""
    if rivals is not None and rivals.alike:
        return f"; not told apart: {' and '.join(rivals.alike)} units"
    return "; kinks that are rounded within the noise would look the same" if net.shape.sharp and net.grain.sd else ""


def _hidden(blind: float) -> str:
    """Say which second units would not have shown."""
    return f"; a second unit within {blind:.1g} degrees of a found one would not have shown" if blind else ""
