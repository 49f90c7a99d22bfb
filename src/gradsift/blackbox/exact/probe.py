"""The rest of each unit: one query per direction across the plane, where the inverted link is linear."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...checking import Floats
from ..arrays import Array
from ..asking import Ledger
from .exact_policy import PROBE, digits_of
from .frames import PlaneFrame
from .net import Net, Probe
from .plane import PlaneUnit
from .probe_rows import StepsAcross, placed

__all__ = ["probe_units"]

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
    readings = _Readings(ledger, frame, units, known)
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


class _Readings:
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
        typical = np.sqrt((seen**2).mean(axis=1))
        link = self.known.link
        self.lengths[:, batch] = (0.08 * link.usable / typical)[:, None]
        who, which = (part.ravel() for part in np.meshgrid(np.flatnonzero(~self.lost), batch, indexing="ij"))
        for _ in range(PROBE.most_tries):
            if not len(who):
                return
            arguments = self._ask(who, which)
            good = self._precise(who, arguments)
            done = who[good], which[good]
            self.slopes[done] = (arguments[good] - self.at.at_base[who[good]]) / self.lengths[done]
            who, which, arguments = who[~good], which[~good], np.abs(arguments[~good])
            self.lengths[who, which] *= np.clip(0.1 * link.usable / arguments, 1 / 16, 0.5)
        self.lost[who] = True

    def _precise(self, who: Ints, arguments: Floats) -> NDArray[np.bool_]:
        """Say which inverted answers are neither saturated nor, for a small weight, spoilt by rounding."""
        size, link = np.abs(arguments), self.known.link
        slopes = np.abs(self.at.weights[who]) * link.odd.derivative(np.minimum(size, link.flat))
        exact = 4 * self.ledger.rounding(self.at.radii[who]) < digits_of(self.ledger.resolution).inverted * slopes
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
        return Net(self.known.link, self.frame.from_coordinates(local), offsets, weights, 0.0, probes)
