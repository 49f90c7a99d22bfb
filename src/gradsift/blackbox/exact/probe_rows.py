"""The replies of a probe as equations: what a network says there, and how its own unit moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...checking import Floats
from ..asking import EPS, Ledger
from .net import Net, Probe

__all__ = ["ProbeRows", "probe_rows"]


@dataclass(frozen=True)
class ProbeRows:
    """The linearised probes of one unit.

    Attributes
    ----------
    residuals : (d - 2,) array
    weights : (d - 2,) array
        One over the standard size of the residuals.
    moving : (n,) int array
        Units that move there, the own one among them; `moving_values` (d - 2, n) is g of their arguments.
    still_values : (k,) array
        g of the others; meaningless where units move.
    slopes : (d - 2,) array
        u g' of the own unit.
    """

    residuals: Floats
    weights: Floats
    moving: NDArray[np.intp]
    moving_values: Floats
    still_values: Floats
    slopes: Floats

    @property
    def values(self) -> Floats:
        """g of every unit's argument, shape (d - 2, k); formed on demand, for it is large."""
        full = np.tile(self.still_values, (len(self.residuals), 1))
        full[:, self.moving] = self.moving_values
        return full


def probe_rows(net: Net, number: int, probe: Probe, ledger: Ledger) -> ProbeRows:
    """Evaluate a network at one unit's probe points without forming them. O(d) per unit that moves there."""
    link = net.link
    at_base = net.a @ probe.base + net.b  # (k,)
    reach = 0.0 if not len(probe.lengths) else float(np.abs(probe.lengths).max())
    still = np.abs(at_base) > link.flat + reach * np.linalg.norm(net.a, axis=1)
    still[number] = False
    moving = np.flatnonzero(~still)
    local = probe.frame.coordinates(net.a[moving])[:, 2:]  # (moving, d - 2)
    arguments = at_base[moving] + probe.lengths[:, None] * local.T  # (d - 2, moving)
    values, signs = link.odd.value(arguments), np.sign(at_base)
    active = link.odd.derivative(arguments) * net.u[moving]
    norms = np.linalg.norm(net.a[moving], axis=1)
    radius = np.hypot(np.linalg.norm(probe.base), probe.lengths)
    terms = 2 * (radius + ledger.away)[:, None] * norms + np.abs(net.b[moving])
    noise = EPS * (4 * ledger.sizes(radius) + (np.abs(active) * terms).sum(axis=1))
    own = int(np.flatnonzero(moving == number)[0])
    predicted = values @ net.u[moving] + signs[still] @ net.u[still] + net.c
    if net.linear is not None:
        predicted += net.linear @ probe.base + probe.lengths * probe.frame.coordinates(net.linear[None])[0, 2:]
    return ProbeRows(probe.answers - predicted, 1 / noise, moving, values, signs, active[:, own])
