"""The rest of each unit: one query per direction across the plane, and these replies as equations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import Floats
from ..runtime import all_threads
from .device_arrays import Array, Arrays
from .in_plane import PlaneUnit
from .ledger import Ledger
from .odd_form import GRID, Net, Probe
from .plane_frame import PlaneFrame
from .scan_settings import UNITS, negligible_at


class Placed(NamedTuple):
    """A network among some arrays: (k, d), (k,), (k,), a number, (d,) or None, and (k,) lengths of its units."""

    net: Net
    a: Array
    b: Array
    u: Array
    linear: Array | None
    lengths: Array


def placed(net: Net, xp: Arrays) -> Placed:
    """Return a network among these arrays."""
    a = xp.put(net.a)
    linear = None if net.linear is None else xp.put(net.linear)
    return Placed(net, a, xp.put(net.b), xp.put(net.u), linear, xp.lengths(a))


class StepsAcross:
    """Where steps across a plane from some bases, (n, d), lead, and what a network says there, in O(k) flops a step
    instead of O(k d).

    Parameters
    ----------
    frame : PlaneFrame
        Among the arrays of the network.
    """

    def __init__(self, at: Placed, frame: PlaneFrame, bases: Array, xp: Arrays) -> None:
        self.xp, self.at, self.frame, self.bases = xp, at, frame, bases
        with all_threads(float(bases.shape[0]) * at.net.a.size):
            self.at_bases = bases @ at.a.T + at.b  # (n, k)
        self.rates = xp.contiguous(frame.to_frame(at.a)[:, 2:].T)  # (d - 2, k)

    def points(self, who: Array, which: Array, steps: Array) -> Array:
        """Return the ends of steps from bases number `who` in directions number `which`, (m, d)."""
        return self.frame.step_from(self.bases, who, which, steps, self.xp)

    def values(self, who: Array, which: Array, steps: Array, rows: Array) -> Array:
        """Return the values there, (m,); only a linear term asks for the ends themselves, (m, d), whose rounding it
        shows."""
        # a (base + step * across_j) + b = (a base + b) + step * (a in the frame)_j: no point of dimension d is formed.
        arguments = self.at_bases[who] + steps[:, None] * self.rates[which]
        values = self.xp.value(self.at.net.link.odd)(arguments) @ self.at.u + self.at.net.c
        return values if self.at.linear is None else values + rows @ self.at.linear


@dataclass(frozen=True)
class ProbeStack:
    """The probes of n units from one plane.

    Attributes
    ----------
    frame : PlaneFrame
    units : (n,) int array of numpy
        Numbers of their units.
    probes : tuple of Probe
    here : (n,) int array
        The numbers again, and with them `bases` (n, d), `lengths` and `answers` (n, d - 2), among some arrays.
    latest : bool
        Not replaced by probes from nearer the origin.
    """

    frame: PlaneFrame
    units: Array
    probes: tuple[Probe, ...]
    here: Array
    bases: Array
    lengths: Array
    answers: Array
    latest: bool


def stack_probes(net: Net, xp: Arrays) -> list[ProbeStack]:
    """Return all probes, those of one plane together; O(k d) memory."""
    groups: dict[tuple[int, bool], list[tuple[int, Probe]]] = {}
    for number, latest in enumerate(net.probes):
        probe, is_latest = latest, True
        while probe is not None:
            groups.setdefault((id(probe.frame), is_latest), []).append((number, probe))
            probe, is_latest = probe.earlier, False
    return [_stack(group, latest, xp) for (_, latest), group in groups.items()]


def _stack(group: list[tuple[int, Probe]], latest: bool, xp: Arrays) -> ProbeStack:
    units, probes = zip(*group)
    numbers = np.array(units, dtype=np.intp)
    bases, lengths, answers = (
        xp.put(np.stack([getattr(probe, name) for probe in probes])) for name in ("base", "lengths", "answers")
    )
    return ProbeStack(probes[0].frame.beside(xp), numbers, probes, xp.put(numbers), bases, lengths, answers, latest)


@dataclass(frozen=True)
class ProbeRows:
    """The linearised probes of a stack.

    Attributes
    ----------
    stack : ProbeStack
    residuals, weights : (n, d - 2) arrays
        Answers less what the network says, and one over their standard size.
    values, slopes : (n, d - 2) arrays
        g of the own unit's argument, and u g'.
    still : (n, k) array
        g of the units that stand still; 0 for those that move, the own one among them.
    pairs : two (p,) int arrays
        Places in the stack, and the other units that move there; `moving` (p, d - 2) is g of their arguments.
    """

    stack: ProbeStack
    residuals: Array
    weights: Array
    values: Array
    slopes: Array
    still: Array
    pairs: tuple[Array, Array]
    moving: Array

    def shared_times(self, shared: Array, xp: Arrays) -> Array:
        """Return the weighted derivatives in weights, intercept and linear term times (k + 1, q), or d more rows.

        The probes of a unit differ only where units move: their (d - 2, k + 1) derivatives are never formed.
        Shape (n, d - 2, q).
        """
        stack, k = self.stack, self.still.shape[1]
        # Row j of unit i is sum_l dg_l du_l + dc: units that stand still give one number for all j, the own one u g
        # per j.
        level = self.still @ shared[:k] + shared[k]
        if len(shared) > k + 1:
            level = level + stack.bases @ shared[k + 1 :]
        rows = self.values[:, :, None] * shared[stack.here][:, None, :] + level[:, None, :]
        where, units = self.pairs
        if len(where):
            others = self.moving[:, :, None] * shared[units][:, None, :]
            xp.add_rows(rows.reshape(len(rows), -1), where, others.reshape(len(others), -1))
        if len(shared) > k + 1:
            rows += stack.lengths[:, :, None] * stack.frame.to_frame(shared[k + 1 :].T)[:, 2:].T
        rows *= self.weights[:, :, None]
        return rows

    def times_shared(self, rows: Array, owners: Array, n_shared: int, xp: Arrays) -> Array:
        """Return rows (P, d - 2) of equations in the probes times the same derivatives, shape (P, n_shared).

        Row i goes with the probes at place ``owners[i]``; owners ascend.
        """
        stack, k = self.stack, self.still.shape[1]
        # The transpose of `shared_times`: sums over j of what stands still, then the own unit, then those few that
        # move.
        rows = rows * self.weights[owners]
        total = rows.sum(1)
        parts = [total[:, None] * self.still[owners], total[:, None]]
        if n_shared > k + 1:
            flat = xp.zeros(len(rows), 2)
            steps = stack.frame.from_frame(xp.join([flat, rows * stack.lengths[owners]], axis=1))
            parts.append(total[:, None] * stack.bases[owners] + steps)
        product = xp.join(parts, axis=1)
        product[xp.numbers(len(rows)), stack.here[owners]] += (rows * self.values[owners]).sum(1)
        ends = np.searchsorted(xp.get(owners), np.arange(len(stack.units) + 1))
        for pair, (place, unit) in enumerate(zip(*(xp.get(part) for part in self.pairs))):
            its = slice(int(ends[place]), int(ends[place + 1]))
            product[its, int(unit)] += rows[its] @ self.moving[pair]
        return product


def probe_rows(at: Placed, stack: ProbeStack, ledger: Ledger) -> ProbeRows:
    """Evaluate a network at the probes of a stack without forming their points. O(n k d) flops in one product."""
    xp, net = ledger.arrays, at.net
    g, slope = xp.value(net.link.odd), xp.derivative(net.link.odd)
    # With all units in the frame, arguments at probe (i, j) are at_base_i + lengths_ij * local_j, for each unit.
    local = stack.frame.to_frame(at.a)[:, 2:]  # (k, d - 2)
    at_base = stack.bases @ at.a.T + at.b  # (n, k)
    # A unit stands still on all probes of a base if no step can bring its argument within flat; the others are few.
    moves = abs(at_base) <= net.link.flat + xp.widest(stack.lengths)[:, None] * xp.widest(local)
    places = xp.numbers(len(stack.units))
    moves[places, stack.here] = False
    where, others = xp.where(moves)
    still = xp.sign(at_base) * ~moves
    still[places, stack.here] = 0.0
    mine = at_base[places, stack.here][:, None] + stack.lengths * local[stack.here]
    values, slopes = g(mine), slope(mine) * at.u[stack.here][:, None]
    radius = (xp.lengths(stack.bases)[:, None] ** 2 + stack.lengths**2) ** 0.5
    reach = 2 * (radius + ledger.away)
    active = abs(slopes) * (reach * at.lengths[stack.here][:, None] + abs(at.b[stack.here])[:, None])
    predicted = values * at.u[stack.here][:, None] + (still @ at.u)[:, None] + net.c
    theirs = at_base[where, others][:, None] + stack.lengths[where] * local[others]  # (p, d - 2)
    moving = g(theirs)
    if len(where):
        terms = reach[where] * at.lengths[others][:, None] + abs(at.b[others])[:, None]
        xp.add_rows(predicted, where, moving * at.u[others][:, None])
        xp.add_rows(active, where, abs(slope(theirs) * at.u[others][:, None]) * terms)
    if at.linear is not None:
        steps = stack.frame.to_frame(at.linear[None])[0, 2:]
        predicted = predicted + (stack.bases @ at.linear)[:, None] + stack.lengths * steps
    noise = ledger.eps * (4 * ledger.sizes(radius) + active) + GRID * ledger.step + ledger.own(predicted)
    return ProbeRows(stack, stack.answers - predicted, 1 / noise, values, slopes, still, (where, others), moving)


Ints = NDArray[np.intp]


def probe_units(ledger: Ledger, frame: PlaneFrame, units: list[PlaneUnit], known: Net) -> Net:
    """Read the coordinates of the units across the plane; d - 2 queries each, more where a step was too long.

    Parameters
    ----------
    known : Net
        Units whose contribution is taken off the answers.

    Returns
    -------
    Net
        The units over a zero constant; one that could not be read is left out.

    Notes
    -----
    Directions are asked in batches of growing size, for all units at once, so that a step's length can follow the
    coordinates already seen. O(k d^2) flops, O(k d) memory.
    """
    readings = _ProbeReading(ledger, frame, units, known)
    start, size = 0, 2
    while units and start < readings.n_across:
        readings.read(np.arange(start, min(start + size, readings.n_across)))
        start, size = start + size, 2 * size
    return readings.net()


class _InPlane(NamedTuple):
    """What the plane has told about its units, k of them.

    radii, bases: (k,) and (k, d), of points near their hyperplanes; plane: (k, 3) coordinates and offsets; at_base:
    (k,) arguments at the bases; levels, weights: (k,) of their steps.
    """

    radii: Floats
    bases: Floats
    plane: Floats
    at_base: Floats
    levels: Floats
    weights: Floats


def _in_plane(units: list[PlaneUnit], frame: PlaneFrame) -> _InPlane:
    radii, angles = np.array([u.base for u in units]).reshape(-1, 2).T
    plane = np.array([u.solution for u in units]).reshape(-1, 3)
    flat = np.stack([radii * np.cos(angles), radii * np.sin(angles), np.ones(len(units))], axis=1)
    levels, weights = np.array([u.step.level for u in units]), np.array([u.step.weight for u in units])
    return _InPlane(radii, frame.on_circle(radii, angles), plane, (flat * plane).sum(axis=1), levels, weights)


class _ProbeReading:
    """The probes of several units from one plane while they are being asked."""

    def __init__(self, ledger: Ledger, frame: PlaneFrame, units: list[PlaneUnit], known: Net) -> None:
        self.ledger, self.frame, self.units, self.known = ledger, frame, units, known
        self.at = _in_plane(units, frame)
        self.n_across = ledger.n_features - 2
        shape = (len(units), self.n_across)
        self.lengths, self.answers, self.slopes = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.lost = np.zeros(len(units), dtype=bool)
        xp = ledger.arrays
        self.across = StepsAcross(placed(known, xp), frame.beside(xp), xp.put(self.at.bases), xp)

    def read(self, batch: Ints) -> None:
        """Ask for a batch of directions, with lengths that fit what was seen so far."""
        seen = np.concatenate([self.at.plane[:, :2], self.slopes[:, : batch[0]]], axis=1)
        # The step changes the argument by length * a_j; with a_j like those seen, that is 0.08 of the usable range.
        typical = np.sqrt((seen**2).mean(axis=1))
        link = self.known.link
        self.lengths[:, batch] = (0.08 * link.usable / typical)[:, None]
        who, which = (part.ravel() for part in np.meshgrid(np.flatnonzero(~self.lost), batch, indexing="ij"))
        for _ in range(UNITS.most_tries):
            if not len(who):
                return
            arguments = self._ask(who, which)
            good = self._exact(who, arguments)
            done = who[good], which[good]
            self.slopes[done] = (arguments[good] - self.at.at_base[who[good]]) / self.lengths[done]
            who, which, arguments = who[~good], which[~good], np.abs(arguments[~good])
            self.lengths[who, which] *= np.clip(0.1 * link.usable / arguments, 1 / 16, 0.5)
        self.lost[who] = True

    def _exact(self, who: Ints, arguments: Floats) -> NDArray[np.bool_]:
        """Say which inverted answers are neither saturated nor, for a small weight, spoilt by rounding."""
        size, link = np.abs(arguments), self.known.link
        slopes = np.abs(self.at.weights[who]) * link.odd.derivative(np.minimum(size, link.flat))
        # The inverse divides rounding of the answer by |u| g': near saturation a shorter step is worth another query.
        exact = 4 * self.ledger.rounding(self.at.radii[who]) < negligible_at(self.ledger.resolution).inverted * slopes
        return np.asarray((size < 0.2 * link.usable) | ((size < 0.6 * link.usable) & exact))

    def _ask(self, who: Ints, which: Ints) -> Floats:
        """Return the inverted answers at the probe points of these units and directions."""
        xp, explained = self.ledger.arrays, list[Floats]()
        steps = self.lengths[who, which]

        def rows_of(part: slice) -> Array:
            step = xp.put(who[part]), xp.put(which[part]), xp.put(steps[part])
            rows = self.across.points(*step)
            explained.append(xp.get(self.across.values(*step, rows)))
            return rows

        answers = self.ledger.ask_blocks(len(who), rows_of, "probe")
        self.answers[who, which] = answers
        left = answers - np.concatenate(explained)
        return self.known.link.invert((left - self.at.levels[who]) / self.at.weights[who])

    def net(self) -> Net:
        """Return the units in the original coordinates, each with its probe."""
        numbers = np.flatnonzero(~self.lost)
        local = np.concatenate([self.at.plane[numbers, :2], self.slopes[numbers]], axis=1)
        probes = tuple(
            Probe(self.frame, self.at.bases[i], self.lengths[i], self.answers[i], np.array(self.units[i].rows))
            for i in numbers
        )
        offsets, weights = self.at.plane[numbers, 2], self.at.weights[numbers]
        return Net(self.known.link, self.frame.from_frame(local), offsets, weights, 0.0, probes)
