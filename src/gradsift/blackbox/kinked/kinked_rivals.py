"""Whether units of another activation explain coarse answers as well: what noise hides is said, not certified."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .kink_net import KinkNet
from .kinked_policy import RIVALS
from .near_origin import Polished, refitted
from .shape import KINKED, Shape, shape_of

__all__ = ["Rivals", "compare_activations", "compare_with_rounded"]


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
    alike : tuple of str
        Those that are not told apart from the one given.
    """

    best: str
    gain: float
    sharper: float
    alike: tuple[str, ...]


def compare_activations(polished: Polished) -> Rivals:
    """Fit units of every other activation to the answers near the origin; no queries, O(n k^2) flops each, k times as
    many where units are not even.

    A sharp unit has no width, and is preferred where it explains the answers as well (by BIC).
    """
    net = polished.found.net
    own = min(polished.half_chi(net), polished.half_chi(_best_fit(polished, net.shape)))
    gains = {}
    for shape in map(shape_of, KINKED):
        if shape.name in (net.shape.name, "leaky_relu"):
            continue
        saved = 0.5 * net.k * float(np.log(max(2, len(polished.y)))) if shape.sharp else 0.0
        gains[shape.name] = own - polished.half_chi(_best_fit(polished, shape)) + saved
    sharper = gains["relu"]
    best = max((name for name in gains if name != "relu"), key=gains.__getitem__)
    return Rivals(best, gains[best], sharper, tuple(name for name, gain in gains.items() if gain > -RIVALS.apart))


def compare_with_rounded(sharp: Polished, rounded: Polished) -> Rivals:
    """Compare sharp kinks with rounded ones on answers across a few of them; no queries.

    Parameters
    ----------
    sharp, rounded : Polished
        The network found, and the same with widths and with the answers that told them.
    """
    own = rounded.half_chi(refitted(rounded, sharp.found.net))
    price = 0.5 * sharp.found.net.k * float(np.log(max(2, len(rounded.y))))
    gains = {
        shape.name: own - rounded.half_chi(_best_fit(rounded, shape)) - price
        for shape in map(shape_of, KINKED)
        if shape.even and not shape.sharp
    }
    best = max(gains, key=gains.__getitem__)
    return Rivals(best, gains[best], -np.inf, ())


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
