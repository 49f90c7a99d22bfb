"""The replies of all probes from one plane as equations: what a network says there, and how each unit moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...threads import all_threads
from ..arrays import Array, Arrays
from ..asking import Ledger
from .frames import PlaneFrame
from .net import GRID, Net, Probe

__all__ = ["Placed", "ProbeRows", "ProbeStack", "StepsAcross", "evaluate", "placed", "stack_probes"]


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
        self.rates = xp.contiguous(frame.coordinates(at.a)[:, 2:].T)  # (d - 2, k)

    def points(self, who: Array, which: Array, steps: Array) -> Array:
        """Return the ends of steps from bases number `who` in directions number `which`, (m, d)."""
        return self.frame.stepped(self.bases, who, which, steps, self.xp)

    def values(self, who: Array, which: Array, steps: Array, rows: Array) -> Array:
        """Return the values there, (m,); only a linear term asks for the ends themselves, (m, d), whose rounding it
        shows."""
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
        level = self.still @ shared[:k] + shared[k]
        if len(shared) > k + 1:
            level = level + stack.bases @ shared[k + 1 :]
        rows = self.values[:, :, None] * shared[stack.here][:, None, :] + level[:, None, :]
        where, units = self.pairs
        if len(where):
            others = self.moving[:, :, None] * shared[units][:, None, :]
            xp.add_rows(rows.reshape(len(rows), -1), where, others.reshape(len(others), -1))
        if len(shared) > k + 1:
            rows += stack.lengths[:, :, None] * stack.frame.coordinates(shared[k + 1 :].T)[:, 2:].T
        rows *= self.weights[:, :, None]
        return rows

    def times_shared(self, rows: Array, owners: Array, n_shared: int, xp: Arrays) -> Array:
        """Return rows (P, d - 2) of equations in the probes times the same derivatives, shape (P, n_shared).

        Row i goes with the probes at place ``owners[i]``; owners ascend.
        """
        stack, k = self.stack, self.still.shape[1]
        rows = rows * self.weights[owners]
        total = rows.sum(1)
        parts = [total[:, None] * self.still[owners], total[:, None]]
        if n_shared > k + 1:
            flat = xp.zeros(len(rows), 2)
            steps = stack.frame.from_coordinates(xp.join([flat, rows * stack.lengths[owners]], axis=1))
            parts.append(total[:, None] * stack.bases[owners] + steps)
        product = xp.join(parts, axis=1)
        product[xp.numbers(len(rows)), stack.here[owners]] += (rows * self.values[owners]).sum(1)
        ends = np.searchsorted(xp.get(owners), np.arange(len(stack.units) + 1))
        for pair, (place, unit) in enumerate(zip(*(xp.get(part) for part in self.pairs))):
            its = slice(int(ends[place]), int(ends[place + 1]))
            product[its, int(unit)] += rows[its] @ self.moving[pair]
        return product


def evaluate(at: Placed, stack: ProbeStack, ledger: Ledger) -> ProbeRows:
    """Evaluate a network at the probes of a stack without forming their points. O(n k d) flops in one product."""
    xp, net = ledger.arrays, at.net
    g, slope = xp.value(net.link.odd), xp.derivative(net.link.odd)
    local = stack.frame.coordinates(at.a)[:, 2:]  # (k, d - 2)
    at_base = stack.bases @ at.a.T + at.b  # (n, k)
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
        steps = stack.frame.coordinates(at.linear[None])[0, 2:]
        predicted = predicted + (stack.bases @ at.linear)[:, None] + stack.lengths * steps
    noise = ledger.eps * (4 * ledger.sizes(radius) + active) + GRID * ledger.step + ledger.own(predicted)
    return ProbeRows(stack, stack.answers - predicted, 1 / noise, values, slopes, still, (where, others), moving)
