"""Which units are wrong, or not known well enough, when many are fitted jointly?

Units that cross a circle close to each other are told apart far out. Where one of them is read again from another
plane, its error of 1e-9 is an argument of many widths on those rows, and a step by their slopes leads nowhere. Rows
nearer the origin leave no such doubt, so that a fit goes outwards: each row that is met takes the doubt from those
further out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ....arguments import Floats
from ...ledger import Ledger
from ...odd_form import Net, Probe
from ...probe import placed, probe_rows, stack_probes
from ...scan_settings import SCAN, UNITS, negligible_at
from ..joint_fit import NetFit, solve_jointly
from ..settings import OUTWARDS, OWN_ROWS
from .equations import RowUnitPairs

Ints = NDArray[np.intp]


def within_unit_errors(net: Net, ledger: Ledger, off: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Say which rows that are off, of (m,), may be so for a unit that is wrong by a tiny share of its size."""
    return off & _in_doubt(net, ledger, np.full(net.k, OUTWARDS.excusable), crowds=False)


def unit_errors(net: Net, ledger: Ledger, off: NDArray[np.bool_]) -> Floats:
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
    # Change the argument by r / (u g') where a slope leads there; where the unit is saturated, across zero and two
    # beyond. Over |a| |x| + |b| that is the share by which all its parameters must change.
    changes = np.minimum(np.abs(y - net.predict(X))[:, None] / slopes, np.abs(arguments) + 2)
    return np.asarray(changes / (sizes + np.abs(net.b)))


def solve_outwards(fit: NetFit, ledger: Ledger, off: NDArray[np.bool_]) -> NetFit:
    """Return a joint fit to all rows that comes from fits without those on which a unit may be on the wrong side.

    Parameters
    ----------
    fit : NetFit
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
    # A homotopy in which the assumed errors shrink: each fit leaves out rows on which a unit this wrong may be on
    # either side of its hyperplane, and begins where the one before has ended.
    errors, closer = OUTWARDS.margin * unit_errors(fit.net, ledger, off), fit
    for floor in OUTWARDS.errors:
        doubtful = _in_doubt(closer.net, ledger, np.maximum(errors, floor), crowds=bool(errors.any()))
        ledger.aside = frozenset(np.flatnonzero(doubtful & ~probed).tolist())
        try:
            closer = solve_jointly(closer.net, ledger)
        finally:
            ledger.aside, errors = frozenset(), np.zeros(len(errors))
        if closer.few_out_of_reach:  # these were misread by more: without them the others are right already
            return closer
    return closer if closer.chi < fit.chi else fit


def _in_doubt(net: Net, ledger: Ledger, errors: Floats, crowds: bool) -> NDArray[np.bool_]:
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


def without_cancelling(net: Net, ledger: Ledger) -> Net:
    """Return the network without pairs of units that add up to nothing: a wrong unit, and what the next scan found
    in its place."""
    keep = np.ones(net.k, dtype=bool)
    # u g(z) - u g(z) = 0: equal rows (a, b, u) cancel up to the sign of u or, g being odd, of (a, b).
    form = np.concatenate([net.a, net.b[:, None], net.u[:, None]], axis=1)
    most = negligible_at(ledger.resolution).wrong * np.abs(form).max(axis=1)
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


def without_missed_probes(net: Net, ledger: Ledger) -> Net:
    """Return the network without units whose own probes it misses by more than a constant.

    Units still missing stand still during a probe and add a constant to it. One that did not stand still went into the
    unit that was being read; as soon as it is found itself, it shows here.
    """
    keep, most = np.ones(net.k, dtype=bool), negligible_at(ledger.resolution).wrong * np.abs(net.u)
    at = placed(net, ledger.arrays)
    for stack in stack_probes(net, ledger.arrays):
        if stack.latest and ledger.n_features > 2:
            apart = ledger.arrays.spans(probe_rows(at, stack, ledger).residuals)
            keep[stack.units] = ledger.arrays.get(apart) <= most[stack.units]
    return net.only(keep)


def suspects(fit: NetFit, ledger: Ledger, most: float) -> NDArray[np.bool_]:
    """Say which units are most active on the rows that a fit misses by `most` times the rounding, (k,).

    A few bad units can keep a large fit from its first step, so that most rows are missed: then only those count that
    are missed by far more than the others.
    """
    if fit.out_of_reach is not None and fit.few_out_of_reach:
        return fit.out_of_reach
    found = _most_active(fit, ledger, most)
    if fit.net.k >= UNITS.many and found.mean() > SCAN.by_chance:
        found = _most_active(fit, ledger, max(most, SCAN.little * fit.chi))
    return found


def _most_active(fit: NetFit, ledger: Ledger, most: float) -> NDArray[np.bool_]:
    """Say which units are the most active ones on a row that is missed by this much, or miss a probe of their own."""
    net, missed = fit.net, fit.row_chi > most
    xp, found = ledger.arrays, fit.probe_chi > most
    at, rows = placed(net, xp), ledger.placed_rows()[xp.put(np.flatnonzero(missed))]
    active = abs(at.u) * xp.derivative(net.link.odd)(rows @ at.a.T + at.b)  # (n, k)
    found[xp.get(active.argmax(1))] = True
    return found


def with_own_rows(net: Net, ledger: Ledger, turning: RowUnitPairs) -> Net:
    """Return the network with three more rows for each unit that lacks rows of its own; as many queries.

    Parameters
    ----------
    turning : RowUnitPairs
        Which units move on which stored rows.
    """
    # A unit that was probed again has rows of its own, beside a base that is outside its plane through the origin.
    first = {unit: probe for unit, probe in enumerate(net.probes) if probe is not None and probe.earlier is None}
    settled = _settled(net, first, ledger, turning) if first else set()
    points = {unit: _points_alone(net, unit, probe) for unit, probe in first.items() if unit not in settled}
    points = {unit: found for unit, found in points.items() if len(found)}
    if not points:
        return net
    asked, probes = ledger.ask_rows(np.concatenate(list(points.values())), "offset").rows, list(net.probes)
    for unit, rows in zip(points, asked.reshape(len(points), -1)):
        probes[unit] = replace(first[unit], rows=np.concatenate([first[unit].rows, rows]))
    return replace(net, probes=tuple(probes))


def _settled(net: Net, probed: dict[int, Probe], ledger: Ledger, turning: RowUnitPairs) -> set[int]:
    """Return the units with three rows of their own, at different distances and on different parts of the slope."""
    rows = np.concatenate([probe.rows for probe in probed.values()])
    units = np.repeat(list(probed), [len(probe.rows) for probe in probed.values()])
    alone = np.bincount(turning.rows, minlength=len(ledger.X))[rows] == 1
    X, units = ledger.X[rows[alone]], units[alone]
    arguments = np.einsum("nd,nd->n", X, net.a[units]) + net.b[units]
    steepness = np.zeros(net.k)
    steepness[list(probed)] = [np.linalg.norm(probe.frame.plane @ net.a[unit]) for unit, probe in probed.items()]
    # In the plane, x = aside * normal + along * line: what is left of |x|^2 is the distance along the unit's line.
    aside = (arguments - net.b[units]) / steepness[units]
    distances = np.sqrt(np.maximum(np.einsum("nd,nd->n", X, X) - aside**2, 1e-300))  # along the unit's line
    precise = np.abs(arguments) < 0.5 * net.link.usable
    distances, arguments, units = distances[precise], arguments[precise], units[precise]
    far = _spread_of_groups(np.log(distances), units, net.k) > np.log(OWN_ROWS.further)
    wide = _spread_of_groups(arguments, units, net.k) > OWN_ROWS.wide * net.link.usable
    return set(np.flatnonzero(far & wide & (np.bincount(units, minlength=net.k) > 2)).tolist())


def _spread_of_groups(values: Floats, groups: Ints, n_groups: int) -> Floats:
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
    flat = np.abs(net.arguments(points)) <= net.link.flat
    free = points[flat.sum(axis=1) == 1][:2]  # only the unit itself, which is zero there
    beside = free[:1] + OWN_ROWS.aside * net.link.usable / steepness * (normal @ plane)
    return np.concatenate([free, beside]) if len(free) == 2 else points[:0]
