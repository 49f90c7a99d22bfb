"""All replies among the arrays of the box, and a network compared with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...checking import Floats
from ...threads import all_threads
from ..arrays import Array, Arrays
from ..asking import Ledger
from .net import GRID, Net
from .probe_rows import Placed, ProbeRows, ProbeStack, evaluate, placed, stack_probes

__all__ = ["AllReplies", "AtRows", "NetSeen", "at_rows", "compare", "replies_to"]


@dataclass(frozen=True)
class AllReplies:
    """Everything that was answered.

    Attributes
    ----------
    ledger : Ledger
    X, y, radii, doubts : (m, d), (m,), (m,) and (m,) arrays
        The stored rows, their answers, lengths, and factors of their rounding errors.
    stacks : tuple of ProbeStack
    """

    ledger: Ledger
    X: Array
    y: Array
    radii: Array
    doubts: Array
    stacks: tuple[ProbeStack, ...]

    @property
    def xp(self) -> Arrays:
        """Where all this is."""
        return self.ledger.arrays


def replies_to(net: Net, ledger: Ledger) -> AllReplies:
    """Return all stored rows and the probes of a network."""
    xp = ledger.arrays
    X = ledger.placed_rows()
    return AllReplies(
        ledger, X, xp.put(ledger.y), xp.lengths(X), xp.put(ledger.doubts), tuple(stack_probes(net, xp))
    )  # fmt: skip


class NetSeen(NamedTuple):
    """A network at all replies.

    Attributes
    ----------
    at : Placed
    arguments : (m, k) array
        At the stored rows; `slopes` (m, k) is u g' there.
    rows, noise : (m,) arrays
        Of the stored rows: answers less what the network says, and the standard size of their rounding.
    probes : list of ProbeRows
    """

    at: Placed
    arguments: Array
    values: Array
    slopes: Array
    rows: Array
    noise: Array
    probes: list[ProbeRows]

    def row_chi(self, xp: Arrays) -> Floats:
        """Return the residual of each stored row over its standard size, (m,)."""
        return np.asarray(xp.get(abs(self.rows) / self.noise))

    def probe_chi(self, xp: Arrays) -> Floats:
        """Return the largest such ratio over each unit's probes, (k,)."""
        worst = np.zeros(self.at.net.k)
        for part in self.probes:
            np.maximum.at(worst, part.stack.units, xp.get(xp.widest(part.residuals * part.weights)))
        return worst


class AtRows(NamedTuple):
    """A network at the stored rows: (m,) answers less what it says, and what changing every parameter by its own size
    would do there."""

    residuals: Floats
    sensitivity: Floats


def at_rows(net: Net, ledger: Ledger) -> AtRows:
    """Compare a network with the stored rows alone."""
    xp = ledger.arrays
    X = ledger.placed_rows()
    radii = xp.lengths(X)
    seen = compare(net, AllReplies(ledger, X, xp.put(ledger.y), radii, xp.put(ledger.doubts), ()))
    growth = 0.0 if net.linear is None else float(np.linalg.norm(net.linear)) * radii
    active = abs(seen.slopes)
    size = abs(net.c) + float(np.abs(net.u).sum()) + growth + radii * (active @ seen.at.lengths)
    return AtRows(xp.get(seen.rows), xp.get(size + active @ abs(seen.at.b)))


def compare(net: Net, replies: AllReplies) -> NetSeen:
    """Evaluate a network at all replies; O(k d (m + k)) flops, three matrices (m, k)."""
    xp, ledger, link = replies.xp, replies.ledger, net.link
    at, m = placed(net, xp), len(replies.X)
    arguments, values, slopes = (xp.empty(m, net.k) for _ in range(3))
    # The sums over units of |u g' a| and |u g' b|: how rounded inputs and offsets show.
    active, sizes = xp.empty(m, 2), xp.stack([at.lengths, abs(at.b)]).T
    with all_threads(float(m) * net.a.size):
        for part in _parts(m, xp.block // max(net.k, 1)):  # what is not kept stays in the cache
            turned = replies.X[part] @ at.a.T + at.b
            bends = abs(turned) <= link.flat  # far out few units do
            slope = xp.zeros(*turned.shape)
            slope[bends] = xp.derivative(link.odd)(turned[bends])
            slope *= at.u
            arguments[part], values[part], slopes[part] = turned, xp.value(link.odd)(turned), slope
            active[part] = abs(slope) @ sizes
    predicted = values @ at.u + net.c
    if at.linear is not None:
        predicted = predicted + replies.X @ at.linear
    reach = 2 * (replies.radii + ledger.away)
    rounded = 4 * ledger.sizes(replies.radii) + reach * active[:, 0] + active[:, 1]
    noise = (ledger.eps * rounded + GRID * ledger.step + ledger.own(predicted)) * replies.doubts
    probes = [evaluate(at, stack, ledger) for stack in replies.stacks]
    return NetSeen(at, arguments, values, slopes, replies.y - predicted, noise, probes)


def _parts(n: int, size: int) -> Iterator[slice]:
    """Cut n rows into parts of at most this size, of one row at least."""
    size = max(size, 1)
    return (slice(start, start + size) for start in range(0, n, size))
