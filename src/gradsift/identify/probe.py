"""The rest of each unit: one query per direction across the plane, where the inverted link is linear."""

from __future__ import annotations

import numpy as np

from ..checking import Floats
from .frames import Frame
from .ledger import Ledger
from .net import Net, Probe
from .plane import PlaneUnit

__all__ = ["probe_units"]

_MOST_TRIES = 12


def probe_units(ledger: Ledger, frame: Frame, units: list[PlaneUnit], known: Net) -> Net:
    """Read the coordinates of the units across the plane; d - 2 queries each, more where a step was too long.

    Returns
    -------
    Net
        The units (over a zero constant); a unit that could not be read is left out.

    Notes
    -----
    Directions are asked in batches of growing size, for all units at once, so that a step's length can follow the
    coordinates already seen. O(k d^2) flops, O(k d) memory.
    """
    n_units, n_across = len(units), ledger.n_features - 2
    bases = np.array([frame.on_circle(u.base[0], u.base[1:])[0] for u in units]).reshape(n_units, ledger.n_features)
    at_base = np.array(
        [u.solution @ [u.base[0] * np.cos(u.base[1]), u.base[0] * np.sin(u.base[1]), 1.0] for u in units]
    )
    lengths, answers, slopes = (np.full((n_units, n_across), np.nan) for _ in range(3))
    squares = np.array([u.solution[0] ** 2 + u.solution[1] ** 2 for u in units]) / 2
    counts, lost = 1.0, np.zeros(n_units, dtype=bool)
    start, size = 0, 2
    while start < n_across and n_units:
        batch = np.arange(start, min(start + size, n_across))
        typical = np.sqrt(squares)
        lengths[:, batch] = (0.08 * known.link.usable / typical)[:, None]
        lost |= _read(ledger, frame, units, known, bases, at_base, batch, lengths, answers, slopes, ~lost)
        seen = np.nan_to_num(slopes[:, batch])
        squares = (squares * counts + (seen**2).sum(axis=1)) / (counts + len(batch))
        counts += len(batch)
        start, size = start + size, 2 * size
    return _assemble(ledger, frame, units, known, bases, lengths, answers, slopes, ~lost)


def _read(
    ledger: Ledger,
    frame: Frame,
    units: list[PlaneUnit],
    known: Net,
    bases: Floats,
    at_base: Floats,
    batch: Floats,
    lengths: Floats,
    answers: Floats,
    slopes: Floats,
    active: Floats,
) -> Floats:
    """Fill one batch of columns of `answers` and `slopes`; return which units could not be read."""
    link = known.link
    level, weight = np.array([u.step.level for u in units]), np.array([u.step.weight for u in units])
    who, which = (part.ravel() for part in np.meshgrid(np.flatnonzero(active), batch, indexing="ij"))
    for _ in range(_MOST_TRIES):
        if not len(who):
            break
        reply, left = _ask(ledger, frame, known, bases, lengths, who, which)
        arguments = link.invert((left - level[who]) / weight[who])
        good = np.abs(arguments) < 0.6 * link.usable
        answers[who, which] = reply
        slopes[who[good], which[good]] = (arguments[good] - at_base[who[good]]) / lengths[who[good], which[good]]
        who, which = who[~good], which[~good]
        shorter = np.where(np.isfinite(arguments[~good]), 0.1 * link.usable / np.abs(arguments[~good]), 1 / 16)
        lengths[who, which] *= np.clip(shorter, 1 / 16, 0.5)
    failed = np.zeros(len(units), dtype=bool)
    failed[who] = True
    return failed


def _ask(
    ledger: Ledger, frame: Frame, known: Net, bases: Floats, lengths: Floats, who: Floats, which: Floats
) -> tuple[Floats, Floats]:
    """Return the answers at the probe points, and what is left of them without the known units."""
    offsets, columns = np.unique(which, return_inverse=True)
    across = frame.across(offsets)
    taken: list[Floats] = []

    def rows_of(part: slice) -> Floats:
        rows = bases[who[part]] + lengths[who[part], which[part], None] * across[columns[part]]
        taken.append(known.predict(rows))
        return np.asarray(rows)

    reply = ledger.ask_blocks(len(who), rows_of, "probe")
    return reply, reply - np.concatenate(taken)


def _assemble(
    ledger: Ledger,
    frame: Frame,
    units: list[PlaneUnit],
    known: Net,
    bases: Floats,
    lengths: Floats,
    answers: Floats,
    slopes: Floats,
    good: Floats,
) -> Net:
    """Return the units in the original coordinates, each with its probe."""
    numbers = np.flatnonzero(good)
    plane = np.array([units[i].solution for i in numbers]).reshape(-1, 3)
    local = np.concatenate([plane[:, :2], slopes[numbers]], axis=1)
    probes = tuple(
        Probe(frame, bases[i], lengths[i], answers[i], np.array(units[i].rows)) for i in numbers
    )
    weights = np.array([units[i].step.weight for i in numbers])
    return Net(known.link, frame.from_coordinates(local), plane[:, 2], weights, 0.0, probes)
