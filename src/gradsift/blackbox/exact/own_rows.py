"""Rows of its own for every unit: answers in the plane it was read in, on which it moves and all others stand still.

While a plane is read, units that are not known yet may move beside the one that is. Once all are known, such rows are
told from the others, and a unit with too few of its own to settle its part in the plane is asked for again there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...checking import Floats
from ..asking import Ledger
from .exact_policy import OWN_ROWS
from .net import Net, Probe
from .replies import Turning

__all__ = ["with_own_rows"]

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
