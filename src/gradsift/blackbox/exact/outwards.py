"""A joint fit from near rows to far ones: far out, the last digits of a unit decide on which side of it a row is.

Units that cross a circle close to each other are told apart far out. Where one of them is read again from another
plane, its error of 1e-9 is an argument of many widths on those rows, and a step by their slopes leads nowhere. Rows
nearer the origin leave no such doubt, and each of them that is met takes the doubt from those further out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..asking import Ledger
from .exact_policy import JOINT
from .joint import Solution, solve_jointly
from .net import Net
from .probe_rows import placed

__all__ = ["doubtful_rows", "solve_outwards"]


def doubtful_rows(net: Net, ledger: Ledger, share: float) -> NDArray[np.bool_]:
    """Say on which stored rows a unit may be active whose argument changes by more than one if the unit changes by
    `share` of its size, (m,). O(m k d) flops."""
    xp, X = ledger.arrays, ledger.placed_rows()
    at = placed(net, xp)
    changes = share * (xp.lengths(X)[:, None] * at.lengths + abs(at.b))
    near = abs(X @ at.a.T + at.b) < net.link.flat + changes
    return np.asarray(xp.get((near & (changes > 1)).any(1)))


def solve_outwards(fit: Solution, ledger: Ledger, most: float) -> Solution:
    """Return a joint fit that misses no row by `most` rounding errors, where doubtful rows alone stood in its way.

    Else return the one that failed, in which rows further out count for nothing: what it misses tells what is wrong.

    Parameters
    ----------
    fit : Solution
        One that misses some.

    Notes
    -----
    At most one joint fit for every power of ten in distance; none where no row is doubtful.
    """
    net, probed = fit.net, np.zeros(len(ledger.X), dtype=bool)
    for probe in net.all_probes():  # these rows settle a unit and are near it by construction
        probed[probe.rows] = True
    aside: NDArray[np.bool_] | None = None
    for share in JOINT.shares:
        doubtful = doubtful_rows(net, ledger, share) & ~probed
        if not doubtful.any() if aside is None else np.array_equal(doubtful, aside):
            continue
        aside = doubtful
        ledger.aside = frozenset(np.flatnonzero(aside).tolist())
        closer = solve_jointly(net, ledger)
        ledger.aside = frozenset()
        if not closer.chi < most or not aside.any():
            return closer
        net = closer.net
    return fit
