"""All replies among the arrays of the box, and a network compared with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...runtime import all_threads
from ..device_arrays import Array, Arrays
from ..far_field.odd_network import GRID, Net
from ..far_field.probe import Placed, ProbeRows, ProbeStack, evaluate, placed, stack_probes
from ..ledger import Ledger


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


class Turning(NamedTuple):
    """The pairs of a stored row and a unit that is not flat there, row by row: (p,) numbers of both, of numpy."""

    rows: NDArray[np.intp]
    units: NDArray[np.intp]


class NetSeen(NamedTuple):
    """A network at all replies.

    Attributes
    ----------
    at : Placed
    arguments, values : (m, k) arrays
        Of the units at the stored rows.
    turning : Turning
        Where they are not flat: far out these pairs are few.
    active : (m, 2) array
        Sums over the units of |u g' a| and |u g' b|: how rounded inputs and offsets show.
    rows, noise : (m,) arrays
        Of the stored rows: answers less what the network says, and the standard size of their rounding.
    probes : list of ProbeRows
    """

    at: Placed
    arguments: Array
    values: Array
    turning: Turning
    active: Array
    rows: Array
    noise: Array
    probes: list[ProbeRows]

    def slopes(self, rows: Array, units: Array, xp: Arrays) -> Array:
        """Return u g' of some units, each at its stored row."""
        return xp.derivative(self.at.net.link.odd)(self.arguments[rows, units]) * self.at.u[units]

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
    """A network at the stored rows: (m,) answers less what it says, what changing every parameter by its own size would
    do there, and which units move."""

    residuals: Floats
    sensitivity: Floats
    turning: Turning


def at_rows(net: Net, ledger: Ledger) -> AtRows:
    """Compare a network with the stored rows alone."""
    xp = ledger.arrays
    X = ledger.placed_rows()
    radii = xp.lengths(X)
    seen = compare(net, AllReplies(ledger, X, xp.put(ledger.y), radii, xp.put(ledger.doubts), ()))
    growth = 0.0 if net.linear is None else float(np.linalg.norm(net.linear)) * radii
    by_input, by_offset = seen.active.T
    size = abs(net.c) + float(np.abs(net.u).sum()) + growth + radii * by_input + by_offset
    return AtRows(xp.get(seen.rows), xp.get(size), seen.turning)


def compare(net: Net, replies: AllReplies) -> NetSeen:
    """Evaluate a network at all replies; O(k d (m + k)) flops, two matrices (m, k) where few units turn."""
    xp, ledger, link = replies.xp, replies.ledger, net.link
    at, m = placed(net, xp), len(replies.X)
    arguments, values = xp.empty(m, net.k), xp.empty(m, net.k)
    active, sizes = xp.zeros(m, 2), xp.stack([at.lengths, abs(at.b)]).T
    turning = [(np.empty(0, dtype=np.intp),) * 2]
    with all_threads(float(m) * net.a.size):
        for part in xp.parts(m, net.k):  # what is not kept stays in the cache
            z = replies.X[part] @ at.a.T + at.b
            arguments[part], values[part] = z, xp.value(link.odd)(z)
            rows, units = xp.where(abs(z) <= link.flat)
            slopes = abs(xp.derivative(link.odd)(z[rows, units]) * at.u[units])
            xp.add_rows(active[part], rows, slopes[:, None] * sizes[units])
            turning.append((xp.get(rows) + part.start, xp.get(units)))
    predicted = values @ at.u + net.c
    if at.linear is not None:
        predicted = predicted + replies.X @ at.linear
    reach = 2 * (replies.radii + ledger.away)
    by_input, by_offset = active.T
    rounded = 4 * ledger.sizes(replies.radii) + reach * by_input + by_offset
    noise = (ledger.eps * rounded + GRID * ledger.step + ledger.own(predicted)) * replies.doubts
    probes = [evaluate(at, stack, ledger) for stack in replies.stacks]
    pairs = Turning(*map(np.concatenate, zip(*turning)))
    return NetSeen(at, arguments, values, pairs, active, replies.y - predicted, noise, probes)
