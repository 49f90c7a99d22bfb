"""A joint fit from near rows to far ones: far out, the last digits of a unit decide on which side of it a row is.

Units that cross a circle close to each other are told apart far out. Where one of them is read again from another
plane, its error of 1e-9 is an argument of many widths on those rows, and a step by their slopes leads nowhere. Rows
nearer the origin leave no such doubt, and each of them that is met takes the doubt from those further out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ..far_field.odd_network import Net
from ..far_field.probe import placed
from ..ledger import Ledger
from .joint_fit import Solution, solve_jointly
from .settings import OUTWARDS


def excused(net: Net, ledger: Ledger, off: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Say which rows that are off, of (m,), may be so for a unit that is wrong by a tiny share of its size."""
    return off & _doubtful(net, ledger, np.full(net.k, OUTWARDS.excusable), crowds=False)


def misread(net: Net, ledger: Ledger, off: NDArray[np.bool_]) -> Floats:
    """Return by which share of its size each unit must be wrong, (k,), if every row that is off, of (m,), is due to
    the unit that explains it by the smallest change."""
    needed, errors = _needed(net, ledger, off), np.zeros(net.k)
    np.maximum.at(errors, np.argmin(needed, axis=1), needed.min(axis=1))
    return errors


def _needed(net: Net, ledger: Ledger, off: NDArray[np.bool_]) -> Floats:
    """Return by which share of its size each unit must change to meet the rows that are off, (n, k): by its slope
    where that does, else to the other side."""
    X, y = ledger.X[off], ledger.y[off]
    arguments, sizes = net.arguments(X), np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(net.a, axis=1)
    slopes = np.maximum(np.abs(net.u) * net.link.odd.derivative(arguments), 1e-300)
    changes = np.minimum(np.abs(y - net.predict(X))[:, None] / slopes, np.abs(arguments) + 2)
    return np.asarray(changes / (sizes + np.abs(net.b)))


def solve_outwards(fit: Solution, ledger: Ledger, off: NDArray[np.bool_]) -> Solution:
    """Return a joint fit to all rows that comes from fits without those on which a unit may be on the wrong side.

    Parameters
    ----------
    fit : Solution
        One that misses some.
    off : (m,) bool array
        Rows missed by more than what units that are read well leave.

    Notes
    -----
    At most three joint fits.
    """
    probed = np.zeros(len(ledger.X), dtype=bool)
    for probe in fit.net.all_probes():  # these rows settle a unit and are near it by construction
        probed[probe.rows] = True
    errors, closer = OUTWARDS.margin * misread(fit.net, ledger, off), fit
    for floor in OUTWARDS.errors:
        doubtful = _doubtful(closer.net, ledger, np.maximum(errors, floor), crowds=bool(errors.any()))
        ledger.aside = frozenset(np.flatnonzero(doubtful & ~probed).tolist())
        try:
            closer = solve_jointly(closer.net, ledger)
        finally:
            ledger.aside, errors = frozenset(), np.zeros(len(errors))
        if closer.few_astray:  # these were misread by more: without them the others are right already
            return closer
    return closer if closer.chi < fit.chi else fit


def _doubtful(net: Net, ledger: Ledger, errors: Floats, crowds: bool) -> NDArray[np.bool_]:
    """Say on which stored rows a unit may be active whose argument changes by more than one if the unit changes by its
    share of its size, (m,); with `crowds` also where many units are active, on which every error counts."""
    xp, X = ledger.arrays, ledger.placed_rows()
    at = placed(net, xp)
    changes = xp.put(errors) * (xp.lengths(X)[:, None] * at.lengths + abs(at.b))
    arguments = abs(X @ at.a.T + at.b)
    doubtful = ((arguments < net.link.flat + changes) & (changes > 1)).any(1)
    if crowds:
        doubtful = doubtful | ((arguments < net.link.flat).sum(1) > OUTWARDS.crowd)
    return np.asarray(xp.get(doubtful))
