"""All replies among the arrays of the box, a network compared with them, and what their rounding does to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from ....arguments import Floats
from ....certificate import BOUND
from ....runtime import all_threads
from ...device_arrays import Array, Arrays
from ...ledger import EPS, Ledger
from ...odd_form import GRID, Net
from ...probe import Placed, ProbeRows, ProbeStack, placed, probe_rows, stack_probes


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
    def arrays(self) -> Arrays:
        """Where all this is."""
        return self.ledger.arrays


def replies_to(net: Net, ledger: Ledger) -> AllReplies:
    """Return all stored rows and the probes of a network."""
    xp = ledger.arrays
    X = ledger.placed_rows()
    return AllReplies(
        ledger, X, xp.put(ledger.y), xp.lengths(X), xp.put(ledger.doubts), tuple(stack_probes(net, xp))
    )  # fmt: skip


class RowUnitPairs(NamedTuple):
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
    turning : RowUnitPairs
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
    turning: RowUnitPairs
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
    turning: RowUnitPairs


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
    xp, ledger, link = replies.arrays, replies.ledger, net.link
    at, m = placed(net, xp), len(replies.X)
    arguments, values = xp.empty(m, net.k), xp.empty(m, net.k)
    active, sizes = xp.zeros(m, 2), xp.stack([at.lengths, abs(at.b)]).T
    turning = [(np.empty(0, dtype=np.intp),) * 2]
    with all_threads(float(m) * net.a.size):
        for part in xp.parts(m, net.k):  # what is not kept stays in the cache
            z = replies.X[part] @ at.a.T + at.b
            arguments[part], values[part] = z, xp.value(link.odd)(z)
            # Beyond flat g' is zero to rounding: only these pairs of a row and a unit enter Jacobian and rounding
            # errors.
            rows, units = xp.where(abs(z) <= link.flat)
            slopes = abs(xp.derivative(link.odd)(z[rows, units]) * at.u[units])
            xp.add_rows(active[part], rows, slopes[:, None] * sizes[units])
            turning.append((xp.get(rows) + part.start, xp.get(units)))
    predicted = values @ at.u + net.c
    if at.linear is not None:
        predicted = predicted + replies.X @ at.linear
    reach = 2 * (replies.radii + ledger.away)
    by_input, by_offset = active.T
    # The output is rounded a few times, and each argument by the size of its terms, those of the input twice.
    rounded = 4 * ledger.sizes(replies.radii) + reach * by_input + by_offset
    noise = (ledger.eps * rounded + GRID * ledger.step + ledger.own(predicted)) * replies.doubts
    probes = [probe_rows(at, stack, ledger) for stack in replies.stacks]
    pairs = RowUnitPairs(*map(np.concatenate, zip(*turning)))
    return NetSeen(at, arguments, values, pairs, active, replies.y - predicted, noise, probes)


@dataclass(frozen=True)
class Changes:
    """Changes of all parameters for n right-hand sides.

    Attributes
    ----------
    own : (k, d + 1, n) array
        Of each unit's (a, b).
    shared : (k + 1, n) or (k + 1 + d, n) array
        Of the weights, the intercept and, where there is one, the linear term.
    """

    own: Floats
    shared: Floats


@dataclass(frozen=True)
class Errors:
    """Sizes of the parameters' errors: root mean squares over draws of noise, and bounds.

    Attributes
    ----------
    unit, slope, offset, weight : (k,) arrays
    intercept : float
    direction, relative : (k,) arrays
        Error bounds, relative: of a, and the largest of all of a unit's parameters.
    linear : (d,) array
        Of the linear term; empty without one.
    """

    unit: Floats
    slope: Floats
    offset: Floats
    weight: Floats
    intercept: float
    direction: Floats
    relative: Floats
    linear: Floats


def noise_level(residuals: Floats, noise: Floats, ledger: Ledger, n_units: int) -> float:
    """Return the root mean square of the residuals that show rounding of arguments; a third if there are few.

    The standard sizes are cautious: sums of products round to a fraction of their bound.

    Parameters
    ----------
    residuals, noise : (m,) arrays
        Of the stored rows: over their standard size, and that size.
    """
    shows = (noise > 8 * ledger.eps * ledger.largest) | (ledger.resolution > EPS)
    # Three rows settle a unit's plane part and offset, and are met by construction: they say nothing of the noise.
    freedom = int(shows.sum()) - 3 * n_units
    if freedom < 10:
        return 1 / 3
    return max(1 / 30, float(np.sqrt((residuals[shows] ** 2).sum() / freedom)))


def shown_rounding(net: Net, ledger: Ledger) -> Floats:
    """Return the size of each stored answer's rounding error as the residuals show it, (m,).

    What is rounded is the answer itself, sums as large as the largest, or arguments: their shares are least squares of
    the squared residuals.
    """
    X, y = ledger.X, ledger.y
    fixed = np.broadcast_to(GRID * ledger.step + ledger.own(net.predict(X)), y.shape)
    parts = np.stack([np.abs(y), np.full(len(y), ledger.largest), net.argument_sizes(X), fixed], axis=1)
    parts[:, :3] *= ledger.eps
    # Solve min |(S p - r^2) / shown| for p >= 0, S the squared parts: variances of independent errors add up.
    squares, wanted = parts**2, (y - net.predict(X)) ** 2
    shown = squares.sum(axis=1)
    for _ in range(3):  # weights follow the sizes
        shares = nnls(squares / shown[:, None], wanted / shown)[0]
        shown = np.maximum(squares @ shares, 1e-6 * squares.sum(axis=1))
    return np.asarray(np.sqrt(shown))


def errors_of(net: Net, changes: Changes, level: float) -> Errors:
    """Turn the changes under draws of standard noise, times a noise level, into errors."""
    weight, intercept, linear = np.split(level * changes.shared, [net.k, net.k + 1])
    lengths = np.linalg.norm(net.a, axis=1)[:, None]
    slopes, offset = changes.own[:, :-1], level * changes.own[:, -1]
    # With a = s v, |v| = 1, a change da is <v, da> along the unit, its slope's, and the rest across it, its
    # direction's.
    along = level * np.einsum("kd,kdn->kn", net.a, slopes) / lengths
    whole = level * np.sqrt(np.einsum("kdn,kdn->kn", slopes, slopes)) / lengths
    across = np.sqrt(np.maximum(whole**2 - (along / lengths) ** 2, 0))
    direction, offset, weight = _rms(whole), _rms(offset), _rms(weight)
    relative = np.max([direction, offset / (1 + np.abs(net.b)), weight / np.abs(net.u)], axis=0)
    return Errors(
        _rms(across), _rms(along), offset, weight, float(_rms(intercept[0])),
        BOUND * direction, BOUND * relative, _rms(linear),
    )  # fmt: skip


def _rms(draws: Floats) -> Floats:
    """Root mean square over the last axis."""
    return np.asarray(np.sqrt(np.mean(draws**2, axis=-1)))
