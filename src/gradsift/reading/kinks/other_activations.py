"""Whether other networks explain coarse answers as well: units of another activation, and parallel pairs of units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import minimize

from ...arguments import Floats
from ...certificate import COARSE_KINKS, KINKS_IN_NOISE
from ...tuned import MOST_STEPS
from .kink_network import KinkNet, Shape, growing_names, shape_of
from .near_origin import NearFit, refit
from .settings import PARALLEL_PAIRS, WIDTHS


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


def rivals_of(polished: NearFit, reach: float) -> Rivals:
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


def rivals_of_sharp(sharp: NearFit, rounded: NearFit, reach: float) -> Rivals:
    """Compare sharp kinks with rounded ones, and with parallel pairs, on answers across each of them; no queries.

    Parameters
    ----------
    sharp, rounded : NearFit
        The network found, and the same with widths and with the answers that told them.
    reach : float
        Distance from the origin within which kinks lie.
    """
    given = refit(rounded, sharp.found.net)
    shapes = [shape for shape in map(shape_of, growing_names()) if shape.even and not shape.sharp]
    fits = {shape.name: _best_fit(rounded, shape) for shape in shapes}
    return _compared(rounded, given, {given.shape.name: given, **fits}, reach)


def _compared(polished: NearFit, given: KinkNet, fits: dict[str, KinkNet], reach: float) -> Rivals:
    """Compare the network given with others by BIC: every width is an unknown."""
    price, own = _price(polished), given.shape.name
    # BIC in nats: half the squared misses, and half the logarithm of the number of answers for each width.
    costs = {name: polished.half_chi(net) + price * _n_widths(net) for name, net in fits.items()}
    gains = {name: costs[own] - cost for name, cost in costs.items() if name != own}
    best = max((name for name in gains if name != "relu"), key=gains.__getitem__)
    alike = (
        () if given.shape.sharp else tuple(name for name, gain in gains.items() if gain > -KINKS_IN_NOISE.activation)
    )
    paired = _likely_pairs(polished, given.shape, fits, costs, reach)
    return Rivals(best, gains[best], gains.get("relu", -np.inf), paired, alike)


def _likely_pairs(
    polished: NearFit, given: Shape, fits: dict[str, KinkNet], costs: dict[str, float], reach: float
) -> Pairs | None:
    """Split units of every activation that noise lets find, and return the pairs that are likeliest, if any."""
    if not polished.found.net.grain.has_noise:
        return None
    single = min(costs[name] for name, net in fits.items() if net.shape.even)
    found = []
    for name, net in fits.items():
        pair = split_units(polished, net) if net.shape.even else None
        if pair is None or not 0 < pair.apart < reach:
            continue
        cost = pair.half_chi + _price(polished) * (_n_widths(net) + 2 * pair.n_split)
        if cost > single + KINKS_IN_NOISE.activation:  # single units of one activation or another are better for sure
            continue
        special = given.sharp or (not net.shape.sharp and costs[name] < costs[given.name] + KINKS_IN_NOISE.activation)
        limit = COARSE_KINKS.pairs if special else -KINKS_IN_NOISE.activation if net.shape.sharp else 0.0
        found.append(Pairs(name, costs[given.name] - cost, limit, pair.apart))
    return max(found, key=lambda pairs: pairs.gain - pairs.limit, default=None)


def _price(polished: NearFit) -> float:
    """Return what BIC asks for one more unknown, in nats."""
    return 0.5 * float(np.log(max(2, len(polished.y))))


def _n_widths(net: KinkNet) -> int:
    return 0 if net.shape.sharp else net.k


def _best_fit(polished: NearFit, shape: Shape) -> KinkNet:
    """Return the best network of another shape, fitted from several widths and, if it is not even, to both sides."""
    net = replace(polished.found.net, shape=shape)
    if shape.sharp:
        return refit(polished, replace(net, w=np.sign(net.w)))
    starts = [replace(net, w=factor * net.w) for factor in WIDTHS.others]
    if not shape.even:
        starts = [replace(start, turns=turn * start.turns) for start in starts for turn in (1.0, -1.0)]
    fits = [refit(polished, start) for start in starts]
    best = min(fits, key=polished.half_chi)
    if shape.even:
        return best
    for unit in range(net.k):
        turned = best.turns.copy()
        turned[unit] *= -1
        best = min(best, refit(polished, replace(best, turns=turned)), key=polished.half_chi)
    return best


@dataclass(frozen=True)
class SplitUnits:
    """A network some of whose units are split in two parallel ones.

    Attributes
    ----------
    net : KinkNet
    half_chi : float
        Half the sum of its squared misses over their errors.
    n_split : int
        Units that are split.
    apart : float
        Distance between the two hyperplanes of the first pair; 0 without one.
    """

    net: KinkNet
    half_chi: float
    n_split: int
    apart: float


def split_units(polished: NearFit, net: KinkNet) -> SplitUnits:
    """Split units of a network in two parallel ones, those that gain most first, as long as BIC gains; no queries.

    The two share the jump of the one, so that nothing changes far out; shares and distances come from a grid, and
    offsets, widths and intercept are fitted after each split. O(k n (p + candidates)) flops for n answers near the
    origin and p unknowns.
    """
    best = SplitUnits(net, polished.half_chi(net), 0, 0.0)
    price = float(np.log(max(2, len(polished.y))))  # of a share and a distance
    gains = np.array([_best_split(polished, net, unit).gain for unit in range(net.k)])
    left = list(range(net.k))  # the units of `net` that come first in the network split so far
    for unit in np.argsort(-gains):
        place = left.index(int(unit))
        split = _refined(polished, best.net, place, _best_split(polished, best.net, place))
        if not split.gain > price:
            break
        halved = refit(polished, split.of(best.net, place))
        half_chi = polished.half_chi(halved)
        if best.half_chi - half_chi > price:
            best = SplitUnits(halved, half_chi, best.n_split + 1, best.apart or split.apart(best.net, place))
            left.remove(int(unit))
    return best


@dataclass(frozen=True)
class _Split:
    """Two units for one: `share` of its jump and the rest of it, `distance` between their arguments, times the weight,
    and widths `narrower` times its own; `gain` in nats, to first order in offsets, widths and intercept."""

    share: float
    distance: float
    narrower: float
    gain: float

    @property
    def shares(self) -> Floats:
        return np.array([self.share, 1 - self.share])

    @property
    def places(self) -> Floats:
        """Where the two kinks lie; their mean, weighted by the shares, is the one kink."""
        return np.array([-(1 - self.share) * self.distance, self.share * self.distance])

    def apart(self, net: KinkNet, unit: int) -> float:
        return abs(self.distance) / float(np.linalg.norm(net.jumps[unit]))

    def of(self, net: KinkNet, unit: int) -> KinkNet:
        """Return the network with this unit split; both halves come last."""
        keep = np.arange(net.k) != unit
        # J_1 + J_2 = J and q_1 + q_2 = q: far out nothing changes.
        w = self.shares * self.narrower * net.w[unit]
        return replace(
            net,
            jumps=np.concatenate([net.jumps[keep], np.outer(self.shares, net.jumps[unit])]),
            q=np.append(net.q[keep], self.shares * (net.q[unit] - self.places)),
            w=np.append(net.w[keep], np.sign(w) if net.shape.sharp else w),
            turns=np.append(net.turns[keep], np.repeat(net.turns[unit], 2)),
        )


class _Projected:
    """Misses of a network, and what splits of one unit change, less what offsets, widths and intercept explain."""

    def __init__(self, polished: NearFit, net: KinkNet, unit: int) -> None:
        self.net, self.unit, self.noise = net, unit, polished.noise
        self.arguments = polished.X @ net.jumps[unit] + net.q[unit]  # (n,)
        # Offsets, widths and intercept are fitted along with a split: to first order they take away the part of its
        # change that lies in the space of their derivatives, so that all splits are compared after projecting it out.
        self.columns = qr(net.near_derivatives(polished.X) / self.noise[:, None], mode="economic")[0]
        misses = (polished.y - net.predict(polished.X)) / self.noise
        self.misses = misses - self.columns @ (self.columns.T @ misses)
        self.whole = _halves(net, unit, self.arguments, *(np.array([value]) for value in (1.0, 0.0, 1.0)))

    def gains(self, shares: Floats, distances: Floats, narrower: Floats) -> Floats:
        """Return by how many nats each split explains the answers better, (m,)."""
        changes = (_halves(self.net, self.unit, self.arguments, shares, distances, narrower) - self.whole) / self.noise
        changes -= (changes @ self.columns) @ self.columns.T
        # |r|^2 / 2 - |r - c|^2 / 2 = <c, r> - |c|^2 / 2: what a change c of the predictions gains on misses r.
        return np.asarray(changes @ self.misses - 0.5 * (changes**2).sum(axis=1))


def _best_split(polished: NearFit, net: KinkNet, unit: int) -> _Split:
    """Return the best of a grid of splits of one unit."""
    projected = _Projected(polished, net, unit)
    grid = _grid(net, projected.arguments, _least(polished))
    gains = projected.gains(*grid)
    at = int(np.argmax(gains))
    share, distance, narrower = (float(values[at]) for values in grid)
    return _Split(share, distance, narrower, float(gains[at]))


def _refined(polished: NearFit, net: KinkNet, unit: int, split: _Split) -> _Split:
    """Return a split between the points of the grid that is better still."""
    projected = _Projected(polished, net, unit)

    def split_at(logs: Floats) -> tuple[float, float, float]:
        narrower = 1.0 if net.shape.sharp else split.narrower * float(np.exp(logs[2]))
        return split.share + logs[0], split.distance * float(np.exp(logs[1])), narrower

    least, (low, high), (next_, most) = _least(polished), PARALLEL_PAIRS.range, PARALLEL_PAIRS.opposite_range

    def loss(logs: Floats) -> float:
        share, distance, _ = split_at(logs)
        if abs(distance) < least or not (low < share < high or next_ < share < most):
            return 0.0  # a spike at a single answer
        return -float(projected.gains(*(np.array([value]) for value in split_at(logs)))[0])

    start = np.zeros((4, 3))
    start[1:] = np.diag(PARALLEL_PAIRS.simplex)
    best = minimize(
        loss, np.zeros(3), method="Nelder-Mead",
        options={"initial_simplex": start, "maxfev": MOST_STEPS},
    )  # fmt: skip
    share, distance, narrower = split_at(best.x)
    return _Split(share, distance, narrower, -float(best.fun)) if -best.fun > split.gain else split


def _least(polished: NearFit) -> float:
    """Return the least distance of two kinks, times the jump."""
    return PARALLEL_PAIRS.least * float(polished.noise.min())


def _grid(net: KinkNet, arguments: Floats, least: float) -> tuple[Floats, Floats, Floats]:
    """Return shares, distances and widths, each (m,): pairs of the same sign, and of opposite ones to both sides."""
    sizes = np.geomspace(
        least, max(2 * least, PARALLEL_PAIRS.most * float(np.median(np.abs(arguments)))), PARALLEL_PAIRS.distances
    )
    widths = np.ones(1) if net.shape.sharp else np.array(PARALLEL_PAIRS.narrower)
    same = np.meshgrid(PARALLEL_PAIRS.shares, sizes, widths, indexing="ij")
    opposite = np.meshgrid(PARALLEL_PAIRS.opposite, np.concatenate([-sizes, sizes]), widths, indexing="ij")
    shares, distances, narrower = (np.concatenate([a.ravel(), b.ravel()]) for a, b in zip(same, opposite))
    return shares, distances, narrower


def _halves(
    net: KinkNet, unit: int, arguments: Floats, shares: Floats, distances: Floats, narrower: Floats
) -> NDArray[np.float64]:
    """Return the sum of both halves of a unit at its arguments, (m, n)."""
    total = np.zeros((len(shares), len(arguments)))
    w = (net.w[unit] * narrower)[:, None]
    for part, shift in ((shares, -(1 - shares) * distances), (1 - shares, shares * distances)):
        t = (arguments - shift[:, None]) / w
        bump = np.maximum(t, 0.0)
        if not net.shape.sharp:
            bump = bump + net.shape.rest(net.turns[unit] * t)
        total += part[:, None] * w * bump
    return total
