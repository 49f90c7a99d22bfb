"""More answers for units that are not known well enough: rows of their own, and probes closer to the origin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...certificate import EXACT
from ..far_field.odd_network import Net, Probe
from ..ledger import Ledger
from .accuracy import Errors
from .equations import Turning
from .joint_fit import Solution, parameter_errors, solve_jointly
from .settings import OWN_ROWS, POLISH

Ints = NDArray[np.intp]


def with_own_rows(net: Net, ledger: Ledger, turning: Turning) -> Net:
    """Return the network with three more rows for each unit that lacks rows of its own; as many queries.

    Parameters
    ----------
    turning : Turning
        Which units move on which stored rows.
    """
    # A unit that was probed again has rows of its own, beside a base that is outside its plane through the origin.
    first = {unit: probe for unit, probe in enumerate(net.probes) if probe is not None and probe.earlier is None}
    settled = _settled(net, first, ledger, turning) if first else set()
    points = {unit: _points_alone(net, unit, probe) for unit, probe in first.items() if unit not in settled}
    points = {unit: found for unit, found in points.items() if len(found)}
    if not points:
        return net
    asked, probes = ledger.ask_numbered(np.concatenate(list(points.values())), "offset").rows, list(net.probes)
    for unit, rows in zip(points, asked.reshape(len(points), -1)):
        probes[unit] = replace(first[unit], rows=np.concatenate([first[unit].rows, rows]))
    return replace(net, probes=tuple(probes))


def _settled(net: Net, probed: dict[int, Probe], ledger: Ledger, turning: Turning) -> set[int]:
    """Return the units with three rows of their own, at different distances and on different parts of the slope."""
    rows = np.concatenate([probe.rows for probe in probed.values()])
    units = np.repeat(list(probed), [len(probe.rows) for probe in probed.values()])
    alone = np.bincount(turning.rows, minlength=len(ledger.X))[rows] == 1
    X, units = ledger.X[rows[alone]], units[alone]
    arguments = np.einsum("nd,nd->n", X, net.a[units]) + net.b[units]
    steepness = np.zeros(net.k)
    steepness[list(probed)] = [np.linalg.norm(probe.frame.plane @ net.a[unit]) for unit, probe in probed.items()]
    aside = (arguments - net.b[units]) / steepness[units]
    distances = np.sqrt(np.maximum(np.einsum("nd,nd->n", X, X) - aside**2, 1e-300))  # along the unit's line
    precise = np.abs(arguments) < 0.5 * net.link.usable
    distances, arguments, units = distances[precise], arguments[precise], units[precise]
    far = _ranges(np.log(distances), units, net.k) > np.log(OWN_ROWS.further)
    wide = _ranges(arguments, units, net.k) > OWN_ROWS.wide * net.link.usable
    return set(np.flatnonzero(far & wide & (np.bincount(units, minlength=net.k) > 2)).tolist())


def _ranges(values: Floats, groups: Ints, n_groups: int) -> Floats:
    """Return how far the values of each group are apart, (n_groups,); below zero if there are none."""
    most, least = np.full(n_groups, -np.inf), np.full(n_groups, np.inf)
    np.maximum.at(most, groups, values)
    np.minimum.at(least, groups, values)
    return np.asarray(most - least)


def _points_alone(net: Net, unit: int, probe: Probe) -> Floats:
    """Return two points of the unit's line in its plane, as near to the origin as others leave room, and one beside
    the first, (3, d); (0, d) if there is no room."""
    plane = probe.frame.plane
    slope, base = plane @ net.a[unit], plane @ probe.base
    steepness = float(np.linalg.norm(slope))
    normal = slope / steepness
    along = np.array([-normal[1], normal[0]])
    along *= np.sign(along @ base)
    distances = float(along @ base) * np.array(OWN_ROWS.distances)
    points = (distances[:, None] * along - net.b[unit] / steepness * normal) @ plane
    flat = np.abs(net.arguments(points)) <= OWN_ROWS.clear * net.link.flat
    free = points[flat.sum(axis=1) == 1][:2]  # only the unit itself, which is zero there
    beside = free[:1] + OWN_ROWS.aside * net.link.usable / steepness * (normal @ plane)
    return np.concatenate([free, beside]) if len(free) == 2 else points[:0]


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
    close = 1e-6 * np.abs(point).max()
    alike = ledger.X[np.abs(ledger.X[:, 0] - point[0]) <= close]  # one input rules out most rows
    asked_before = bool((np.abs(alike - point).max(axis=1, initial=0.0) <= close).any())
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
