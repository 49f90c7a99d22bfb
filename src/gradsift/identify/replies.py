"""The replies of a probe as equations: what a network says there, and how its own unit moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..checking import Floats
from .ledger import EPS
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
    values : (d - 2, k) array
        g of every unit's argument.
    slopes : (d - 2,) array
        u g' of the own unit.
    """

    residuals: Floats
    weights: Floats
    values: Floats
    slopes: Floats


def probe_rows(net: Net, number: int, probe: Probe, largest: float) -> ProbeRows:
    """Evaluate a network at one unit's probe points without forming them. O(d) per unit that moves there."""
    link = net.link
    at_base = net.a @ probe.base + net.b  # (k,)
    reach = 0.0 if not len(probe.lengths) else float(np.abs(probe.lengths).max())
    still = np.abs(at_base) > link.flat + reach * np.linalg.norm(net.a, axis=1)
    still[number] = False
    moving = np.flatnonzero(~still)
    local = probe.frame.coordinates(net.a[moving])[:, 2:]  # (moving, d - 2)
    arguments = at_base[moving] + probe.lengths[:, None] * local.T  # (d - 2, moving)
    values = np.broadcast_to(np.sign(at_base), (len(probe.lengths), net.k)).copy()
    values[:, moving] = link.odd.value(arguments)
    active = link.odd.derivative(arguments) * net.u[moving]
    norms = np.linalg.norm(net.a[moving], axis=1)
    radius = np.hypot(np.linalg.norm(probe.base), probe.lengths)
    terms = 2 * radius[:, None] * norms + np.abs(net.b[moving])
    noise = EPS * (4 * largest + (np.abs(active) * terms).sum(axis=1))
    own = int(np.flatnonzero(moving == number)[0])
    return ProbeRows(probe.answers - values @ net.u - net.c, 1 / noise, values, active[:, own])
