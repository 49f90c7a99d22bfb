"""From a black box to its network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..checking import Floats, as_generator
from ..geometry import orthonormal_rows
from ..oracle import Oracle
from .frames import Frame, frame_through
from .joint import fit_jointly, linearise
from .ledger import Ledger
from .links import LINKS
from .net import Net, empty_net
from .plane import settle_in_plane
from .probe import probe_units
from .rays import Rays, cast_rays
from .scan import Scan, scan_steps

_RATIO = 40.0
_FIRST_SAMPLES = 8

def scan_circle(ledger, frame, radius, known, plateaus):
    """plateaus: dict angle-> value known."""
    rows = [-1] * len(plateaus)
    def ask(angles):
        points = frame.on_circle(radius, angles)
        start = len(ledger.X)
        y = ledger.ask(points, "scan")
        rows.extend(range(start, start + len(angles)))
        return deflate(points, y)
    def deflate(points, y):
        tol = np.full(len(y), ledger.tolerance)
        if known.k:
            act = np.abs(known.u) * known.link.odd.derivative(known.arguments(points))
            tol = tol + (act * 1e-9 * np.linalg.norm(points, axis=1)[:, None] * np.linalg.norm(known.a, axis=1)).sum(axis=1)
        return y - known.predict(points), tol
    angles = np.array([p[0] for p in plateaus])
    values = np.array([p[1] for p in plateaus])
    pts = frame.on_circle(1e6 * radius, angles)
    values, tol = deflate(pts, values)
    grid = np.arange(_FIRST_SAMPLES + 1) * np.pi / _FIRST_SAMPLES
    new = np.array([g for g in grid if np.abs(g - angles).min() > 1e-9])
    y, t = ask(new)
    scan = scan_steps(ask, np.concatenate([angles, new]), np.concatenate([values, y]), np.concatenate([tol, t]),
                      np.arange(len(angles) + len(new)) < len(angles), known.link)
    return scan, np.array(rows)

def identify(oracle, activation="tanh", rng=None, max_queries=None, progress=None, verbose=False):
    rng = as_generator(rng)
    link = LINKS[activation]
    ledger = Ledger(oracle, max_queries, progress)
    rays = cast_rays(ledger, link, rng)
    known = empty_net(link, ledger.n_features, rays.intercept)
    for attempt in range(5):
        radius = _RATIO * rays.scale * 2**attempt
        if attempt == 0:
            frame = frame_through(rays.first, rays.second)
            plateaus = [(0.0, rays.plateaus[0]), (np.pi, rays.plateaus[2])]
            if radius > 1.5 * rays.second_scale:
                plateaus.append((np.pi / 2, rays.plateaus[1]))
        else:
            q = orthonormal_rows(2, ledger.n_features, rng)
            frame = frame_through(q[0], q[1])
            ends = ledger.ask(frame.on_circle(radius, np.array([0.0, np.pi])), "scan")
            plateaus = [(0.0, ends[0]), (np.pi, ends[1])]
        scan, rows = scan_circle(ledger, frame, radius, known, plateaus)
        units, impure = settle_in_plane(ledger, frame, radius, scan, rows, known)
        found = probe_units(ledger, frame, units, known)
        known = known.with_units(found)
        res = ledger.y - known.predict(ledger.X)
        if verbose:
            print("attempt", attempt, "S", radius, "steps", len(scan.steps), "unres", len(scan.unresolved), scan.sharp, "impure", len(impure), "found", found.k, "res", np.abs(res).max(), ledger.spent)
        if np.abs(res).max() < 1e-3:
            break
    fit = fit_jointly(known, ledger)
    err = linearise(fit.net, ledger).errors(rng)
    if verbose: print("chi", fit.chi, "iters", fit.iterations, [float(np.max(e)) for e in err], ledger.spent)
    return fit, ledger, err
