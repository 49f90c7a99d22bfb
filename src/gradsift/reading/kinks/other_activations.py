"""Whether units of another activation explain coarse answers as well: what noise hides is said, not certified."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...certificate import COARSE_KINKS
from .kink_network import KinkNet
from .near_origin import Polished, refitted
from .settings import RIVALS
from .shape import Shape, growing_names, shape_of
from .split_units import split_units


class Pairs(NamedTuple):
    """Units of an activation, some of them in parallel pairs.

    Attributes
    ----------
    gain : float
        Nats by which they are better than single units of the activation that was given, by BIC.
    limit : float
        What this may be: a little, where single units of theirs explain the answers, too; nothing where they do not;
        and sharp pairs, as which a rounded kink may look, must be worse for sure.
    apart : float
        Distance between the two hyperplanes of the first pair.
    """

    activation: str
    gain: float
    limit: float
    apart: float


@dataclass(frozen=True)
class Rivals:
    """How much better or worse other activations explain the same answers.

    Attributes
    ----------
    best : str
        The one that explains them best.
    gain : float
        Nats by which it is better than the activation that was given; negative if it is worse.
    sharper : float
        The same for sharp kinks, by BIC.
    paired : Pairs or None
        Parallel pairs that explain the answers best; None where no unit gains by being split.
    alike : tuple of str
        Those that are not told apart from the one given.
    """

    best: str
    gain: float
    sharper: float
    paired: Pairs | None
    alike: tuple[str, ...]


def compare_activations(polished: Polished, reach: float) -> Rivals:
    """Fit units of every other activation, and parallel pairs, to the answers near the origin; no queries.

    O(n k^2) flops each, k times as many where units are not even. A sharp unit has no width, and is preferred where it
    explains the answers as well (by BIC).

    Parameters
    ----------
    reach : float
        Distance from the origin within which kinks lie.
    """
    net = polished.found.net
    given = min((net, _best_fit(polished, net.shape)), key=polished.half_chi)
    fits = {
        shape.name: given if shape.name == net.shape.name else _best_fit(polished, shape)
        for shape in map(shape_of, growing_names())
        if shape.name != "leaky_relu"
    }
    return _compared(polished, given, fits, reach)


def compare_with_rounded(sharp: Polished, rounded: Polished, reach: float) -> Rivals:
    """Compare sharp kinks with rounded ones, and with parallel pairs, on answers across each of them; no queries.

    Parameters
    ----------
    sharp, rounded : Polished
        The network found, and the same with widths and with the answers that told them.
    reach : float
        Distance from the origin within which kinks lie.
    """
    given = refitted(rounded, sharp.found.net)
    shapes = [shape for shape in map(shape_of, growing_names()) if shape.even and not shape.sharp]
    fits = {shape.name: _best_fit(rounded, shape) for shape in shapes}
    return _compared(rounded, given, {given.shape.name: given, **fits}, reach)


def _compared(polished: Polished, given: KinkNet, fits: dict[str, KinkNet], reach: float) -> Rivals:
    """Compare the network given with others by BIC: every width is an unknown."""
    price, own = _price(polished), given.shape.name
    costs = {name: polished.half_chi(net) + price * _n_widths(net) for name, net in fits.items()}
    gains = {name: costs[own] - cost for name, cost in costs.items() if name != own}
    best = max((name for name in gains if name != "relu"), key=gains.__getitem__)
    alike = () if given.shape.sharp else tuple(name for name, gain in gains.items() if gain > -RIVALS.apart)
    paired = _likely_pairs(polished, given.shape, fits, costs, reach)
    return Rivals(best, gains[best], gains.get("relu", -np.inf), paired, alike)


def _likely_pairs(
    polished: Polished, given: Shape, fits: dict[str, KinkNet], costs: dict[str, float], reach: float
) -> Pairs | None:
    """Split units of every activation that noise lets find, and return the pairs that are likeliest, if any."""
    if not polished.found.net.grain.random:
        return None
    single = min(costs[name] for name, net in fits.items() if net.shape.even)
    found = []
    for name, net in fits.items():
        pair = split_units(polished, net) if net.shape.even else None
        if pair is None or not 0 < pair.apart < reach:
            continue
        cost = pair.half_chi + _price(polished) * (_n_widths(net) + 2 * pair.n_split)
        if cost > single + RIVALS.apart:  # single units of one activation or another are better for sure
            continue
        special = given.sharp or (not net.shape.sharp and costs[name] < costs[given.name] + RIVALS.apart)
        limit = COARSE_KINKS.pairs if special else -RIVALS.sharp_pairs if net.shape.sharp else 0.0
        found.append(Pairs(name, costs[given.name] - cost, limit, pair.apart))
    return max(found, key=lambda pairs: pairs.gain - pairs.limit, default=None)


def _price(polished: Polished) -> float:
    """Return what BIC asks for one more unknown, in nats."""
    return 0.5 * float(np.log(max(2, len(polished.y))))


def _n_widths(net: KinkNet) -> int:
    return 0 if net.shape.sharp else net.k


def _best_fit(polished: Polished, shape: Shape) -> KinkNet:
    """Return the best network of another shape, fitted from several widths and, if it is not even, to both sides."""
    net = replace(polished.found.net, shape=shape)
    if shape.sharp:
        return refitted(polished, replace(net, w=np.sign(net.w)))
    starts = [replace(net, w=factor * net.w) for factor in RIVALS.widths]
    if not shape.even:
        starts = [replace(start, turns=turn * start.turns) for start in starts for turn in (1.0, -1.0)]
    fits = [refitted(polished, start) for start in starts]
    best = min(fits, key=polished.half_chi)
    if shape.even:
        return best
    for unit in range(min(net.k, RIVALS.most_turned)):
        turned = best.turns.copy()
        turned[unit] *= -1
        best = min(best, refitted(polished, replace(best, turns=turned)), key=polished.half_chi)
    return best
