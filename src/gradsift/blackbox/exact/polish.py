"""More digits for the units that rounding left uncertain: probe them again closer to the origin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...checking import Floats
from ...checks import EXACT
from ..asking import Ledger
from .accuracy import Errors
from .exact_policy import POLISH
from .joint import Solution, parameter_errors, solve_jointly
from .net import Net, Probe

__all__ = ["polish"]


def polish(fit: Solution, ledger: Ledger, rng: np.random.Generator) -> tuple[Solution, Errors]:
    """Ask for more where the error bound is above what a certificate allows, and fit again.

    A unit whose offset alone is uncertain costs one query, any other d + 1.
    """
    errors = parameter_errors(fit, ledger, rng)
    for _ in range(POLISH.most_rounds):
        asked = ledger.n_queries
        net = fit.net
        for unit in np.flatnonzero(errors.relative > EXACT.error_bound):
            old = net.probes[unit]
            if old is None:
                continue
            whole = bool(errors.direction[unit] > EXACT.error_bound)
            point = None if whole else _opposite_point(net, int(unit), old, ledger)
            if point is None:
                point = _isolated_point(net, int(unit), float(np.linalg.norm(old.base)), whole, rng)
            if point is None:
                continue
            if whole:
                net = _probed_again(net, int(unit), old, point, ledger)
            else:
                ledger.ask(point[None], "polish")
        if ledger.n_queries == asked:
            break
        fit = solve_jointly(net, ledger)
        errors = parameter_errors(fit, ledger, rng)
    return fit, errors


def _step_length(net: Net, unit: int) -> float:
    """Moves this long along a random direction change the argument by about a tenth of its usable range."""
    return float(0.1 * net.link.usable * np.sqrt(net.a.shape[1]) / np.linalg.norm(net.a[unit]))


def _opposite_point(net: Net, unit: int, old: Probe, ledger: Ledger) -> Floats | None:
    """Return the mirror image of a probe's base on the other side of the hyperplane's foot; None if it is no good.

    Between the two the offset is interpolated, where the base alone leaves it to the accuracy of the direction. Units
    that stand still at the base do so there.
    """
    foot = -net.b[unit] * net.a[unit] / float(net.a[unit] @ net.a[unit])
    point = np.asarray(2 * foot - old.base)
    others = np.delete(np.arange(net.k), unit)
    clear = np.abs(net.a[others] @ point + net.b[others]).min(initial=np.inf) > 1.2 * net.link.flat
    asked_before = bool((np.abs(ledger.X - point).max(axis=1) <= 1e-6 * np.abs(point).max()).any())
    return point if clear and not asked_before else None


def _isolated_point(net: Net, unit: int, present: float, whole: bool, rng: np.random.Generator) -> Floats | None:
    """Return a point of the unit's hyperplane, not much further out than the `present` one and nearer if possible,
    beside which all other units stand still; or None."""
    d = net.a.shape[1]
    length = float(np.linalg.norm(net.a[unit]))
    foot = -net.b[unit] * net.a[unit] / length**2
    others = np.delete(np.arange(net.k), unit)
    step = _step_length(net, unit)
    reach = step * np.linalg.norm(net.a[others], axis=1) if whole else np.zeros(len(others))
    across = rng.standard_normal((POLISH.draws, d))
    across -= np.outer(across @ net.a[unit], net.a[unit]) / length**2
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    at_foot, rates = net.a[others] @ foot + net.b[others], across @ net.a[others].T  # all radii for one product
    radius = 4 * step
    while radius < 1.5 * present:
        clearance = (np.abs(at_foot + radius * rates) - reach).min(axis=1, initial=np.inf)
        best = int(np.argmax(clearance))
        if clearance[best] > 1.2 * net.link.flat:
            return np.asarray(foot + radius * across[best])
        radius *= 2
    return None


def _probed_again(net: Net, unit: int, old: Probe, point: Floats, ledger: Ledger) -> Net:
    """Return the network with a new probe of one unit at `point`; d + 1 queries."""
    step = _step_length(net, unit)
    asked = ledger.ask_numbered(np.concatenate([point[None], point + step * old.frame.plane]), "polish")
    lengths = np.full(len(old.lengths), step)
    new = Probe(old.frame, point, lengths, lengths, asked.rows, old)
    answers = ledger.ask_blocks(len(lengths), lambda part: new.points(part, ledger.arrays), "polish")
    probes = list(net.probes)
    probes[unit] = replace(new, answers=answers)
    return replace(net, probes=tuple(probes))
