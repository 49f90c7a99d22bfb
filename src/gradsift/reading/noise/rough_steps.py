"""Rough units from finely rounded answers: steps on a circle, then one query per coordinate of each unit.

The method for exact answers, with the grid as its tolerance; what it reads is a start for the joint fit.
"""

from __future__ import annotations

import numpy as np

from ...errors import NotIdentifiable
from ...fit import Parameters
from ..circle import CircleScan, scan_circle
from ..in_plane import settle_in_plane
from ..ledger import Ledger
from ..odd_form import Link
from ..odd_network import Net, empty_net
from ..plane_frame import PlaneFrame, frame_through
from ..precision import Precision
from ..probe import probe_units
from ..question import attempted
from ..rays import Rays, cast_rays
from .settings import STEPS

_SINGLE = 2.0**-24


def find_by_steps(ledger: Ledger, link: Link, precision: Precision, rng: np.random.Generator) -> Parameters | None:
    """Read all units from one circle, about ``20 + k (d + 8)`` queries; None if no circle shows them one by one.

    Parameters
    ----------
    ledger : Ledger
        With the step of the answers.
    precision : Precision
        What rounds the answers: single precision also rounds the arguments.
    """
    if np.isinf(link.flat) or ledger.n_features < 2:
        return None
    radius = 0.0
    for attempt in range(STEPS.most_attempts):
        rays = attempted(lambda: cast_rays(ledger, link, rng))
        if isinstance(rays, NotIdentifiable):
            return None
        if ledger.step > STEPS.coarsest * ledger.largest:
            return None
        coarse = link.coarser(ledger.step / ledger.largest, _SINGLE if precision.is_float32 else link.eps)
        radius = max(2 * radius, STEPS.circle * rays.scale)
        net = _read(ledger, rays, radius, empty_net(coarse, ledger.n_features, rays.intercept), attempt)
        if net is not None:
            return Parameters(net.a, net.u, net.b, rays.intercept)
    return None


def _read(ledger: Ledger, rays: Rays, radius: float, nothing: Net, attempt: int) -> Net | None:
    """Return the units of one circle, or None where some of its steps are not single units."""
    frame = frame_through(rays.first, rays.second)
    scan = _scan(ledger, frame, rays, radius, nothing, attempt)
    if len(scan.unresolved):
        return None
    found = settle_in_plane(ledger, scan, nothing)
    if found.impure or not found.units:
        return None
    net = probe_units(ledger, frame, found.units, nothing)
    return net if net.k == len(found.units) else None


def _scan(ledger: Ledger, frame: PlaneFrame, rays: Rays, radius: float, nothing: Net, attempt: int) -> CircleScan:
    angles = np.array([0.0, np.pi, np.pi / 2])
    back = ledger.ask(-radius * rays.first[None], "scan")
    answers = np.array([rays.plateaus[0], back[0], rays.plateaus[1]])
    n_flat = 3 if radius > 1.5 * rays.second_scale else 2
    return scan_circle(ledger, frame, radius, nothing, angles[:n_flat], answers[:n_flat], STEPS.intervals * 2**attempt)
