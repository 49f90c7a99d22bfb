"""Units to be dropped and looked for again: read where another unit interfered, or active where the fit fails."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..asking import Ledger
from .exact_policy import PRUNE, digits_of
from .joint import Solution
from .net import Net
from .probe_rows import evaluate, placed, stack_probes

__all__ = ["suspects", "without_cancelled", "without_contaminated"]


def without_cancelled(net: Net, ledger: Ledger) -> Net:
    """Return the network without pairs of units that add up to nothing: a wrong unit, and what the next scan found
    in its place."""
    keep = np.ones(net.k, dtype=bool)
    form = np.concatenate([net.a, net.b[:, None], net.u[:, None]], axis=1)
    most = digits_of(ledger.resolution).cancels * np.abs(form).max(axis=1)
    flipped = np.ones(form.shape[1])
    flipped[-1] = -1.0  # same unit, opposite weight; or turned, with the same weight
    for sign in (1.0, -1.0):
        near = np.abs(net.b[:, None] - sign * net.b) < most[:, None]  # offsets and weights alone rule out most pairs
        near &= np.abs(net.u[:, None] + sign * net.u) < most[:, None]
        for number, partner in np.argwhere(np.tril(near, -1)):
            apart = np.abs(form[partner] - sign * flipped * form[number]).max()
            if apart < most[number] and keep[number] and keep[partner]:
                keep[[number, partner]] = False
    return net.only(keep)


def without_contaminated(net: Net, ledger: Ledger) -> Net:
    """Return the network without units whose own probes it misses by more than a constant.

    Units still missing stand still during a probe and add a constant to it. One that did not stand still went into the
    unit that was being read; as soon as it is found itself, it shows here.
    """
    keep, most = np.ones(net.k, dtype=bool), digits_of(ledger.resolution).contaminated * np.abs(net.u)
    at = placed(net, ledger.arrays)
    for stack in stack_probes(net, ledger.arrays):
        if stack.latest and ledger.n_features > 2:
            apart = ledger.arrays.spans(evaluate(at, stack, ledger).residuals)
            keep[stack.units] = ledger.arrays.get(apart) <= most[stack.units]
    return net.only(keep)


def suspects(fit: Solution, ledger: Ledger, most: float) -> NDArray[np.bool_]:
    """Say which units are most active on the rows that a fit misses by `most` times the rounding, (k,).

    A few bad units can keep a large fit from its first step, so that most rows are missed: then only those count that
    are missed by far more than the others.
    """
    if fit.astray is not None and fit.few_astray:
        return fit.astray
    found = _most_active(fit, ledger, most)
    if fit.net.k >= PRUNE.many and found.mean() > PRUNE.most:
        found = _most_active(fit, ledger, max(most, PRUNE.share * fit.chi))
    return found


def _most_active(fit: Solution, ledger: Ledger, most: float) -> NDArray[np.bool_]:
    """Say which units are the most active ones on a row that is missed by this much, or miss a probe of their own."""
    net, missed = fit.net, fit.row_chi > most
    xp, found = ledger.arrays, fit.probe_chi > most
    at, rows = placed(net, xp), ledger.placed_rows()[xp.put(np.flatnonzero(missed))]
    active = abs(at.u) * xp.derivative(net.link.odd)(rows @ at.a.T + at.b)  # (n, k)
    found[xp.get(active.argmax(1))] = True
    return found
