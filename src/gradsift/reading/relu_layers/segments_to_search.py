"""Where units of the next layer are looked for: segments on which many known units are active, and tours."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...arguments import Floats
from ...tuned import TRIES
from .box import Box
from .feature_map import FeatureMap
from .line_scan import StraightLine

SCALES = np.array([1.0, 3.0, 10.0])  # of inputs, over the typical distance of a hyperplane
_AXIS_LENGTH = 300.0  # the same for the axes of a tour


def lines_for(box: Box, phi: FeatureMap, scale: float) -> list[StraightLine]:
    """Return segments that meet every unit of the next layer where features are reachable: rich ones, and a tour along
    the axes of the features; elsewhere rich ones only."""
    rich = [StraightLine.between(*rich_points(box, phi, scale, 2)) for _ in range(TRIES)]
    return rich + (list(_tour(box, phi, scale)) if is_reachable(phi, box.d) else [])


def further_line(box: Box, phi: FeatureMap, scale: float, number: int) -> StraightLine:
    """Return a random segment, or a rich one, in turn."""
    if number % 2:
        return StraightLine.between(*rich_points(box, phi, scale, 2))
    radius = scale * np.exp(box.rng.uniform(0, np.log(_AXIS_LENGTH)))
    return StraightLine.between(*radius * box.rng.standard_normal((2, box.d)))


def telling_points(box: Box, phi: FeatureMap, scale: float) -> Floats:
    """Return inputs at which units that random ones seldom activate would show, (n, d).

    Where features are reachable, far out on the axis of each: a unit with any positive weight is active on one of them.
    """
    if not is_reachable(phi, box.d):
        radii = scale * np.exp(box.rng.uniform(0, np.log(_AXIS_LENGTH), (2 * TRIES, 1)))
        return np.asarray(radii * box.rng.standard_normal((2 * TRIES, box.d)))
    k = phi.n_units
    axes = -0.05 * scale * np.exp(box.rng.standard_normal((k + 1, k)))
    axes[np.arange(k), np.arange(k)] = _AXIS_LENGTH * scale * (1 + box.rng.random(k))
    return _inputs_at(phi, axes)


def is_reachable(phi: FeatureMap, d: int) -> bool:
    """Say whether any features can be asked for: one layer of no more units than inputs."""
    return len(phi.layers) == 1 and phi.n_units <= d and phi.signed


def _inputs_at(phi: FeatureMap, z: Floats) -> Floats:
    """Return inputs at which the arguments of the first layer are these, (n, k)."""
    ((A, b),) = phi.layers
    return np.asarray((z - b) @ np.linalg.pinv(A).T)


def rich_points(box: Box, phi: FeatureMap, scale: float, n: int) -> Floats:
    """Return n inputs, (n, d), at which all units of the last known layer are active, or as many as a search finds."""
    sizes = scale * SCALES[box.rng.integers(3, size=(n, 1))]
    if is_reachable(phi, box.d):
        return _inputs_at(phi, sizes * np.exp(1.7 * box.rng.standard_normal((n, phi.n_units))))
    if phi.slope or not phi.signed or not phi.layers:
        return np.asarray(sizes * box.rng.standard_normal((n, box.d)))
    found = sizes * box.rng.standard_normal((n, box.d))
    wanted = min(box.d, phi.widths[-1])
    for _ in range(16 * TRIES):
        # Hill climbing on the number of active units, up to as many as one jump of the gradient can tell.
        moved = np.where(box.rng.random((n, 1)) < 0.3, sizes * box.rng.standard_normal((n, box.d)),
                         found + 0.3 * sizes * box.rng.standard_normal((n, box.d)))  # fmt: skip
        better = _n_active(phi, moved, wanted) > _n_active(phi, found, wanted)
        found = np.where(better[:, None], moved, found)
    return np.asarray(found)


def _n_active(phi: FeatureMap, X: Floats, most: int) -> Floats:
    return np.asarray(np.minimum((phi.features(X) > 0).sum(axis=1), most), dtype=np.float64)


def _tour(box: Box, phi: FeatureMap, scale: float) -> Iterator[StraightLine]:
    """Yield a ray from the corner where all features are zero, then a way from axis to axis of the features.

    A row of mixed sign changes sign on the way; one of negative offset and positive weights does on the ray.
    """
    k = phi.n_units
    # Of leaky units all arguments must be far below zero for the sum of their outputs to be.
    depth = _AXIS_LENGTH / np.sqrt(phi.slope) if phi.slope else 0.05
    corner = _inputs_at(phi, -depth * scale * np.ones((1, k)))[0]
    inside = _inputs_at(phi, _AXIS_LENGTH * scale * np.exp(box.rng.standard_normal((1, k))))[0]
    yield StraightLine.between(corner, inside)
    order = box.rng.permutation(k)
    lengths = _AXIS_LENGTH * scale * (1 + box.rng.random(k))
    axes = np.full((k, k), 0.05 * scale) * np.exp(box.rng.standard_normal((k, k)))
    axes[np.arange(k), order] = lengths
    stops = _inputs_at(phi, axes)
    for number in range(k if k > 2 else k - 1):
        yield StraightLine.between(stops[number], stops[(number + 1) % k])
        if number % 3 == 2:
            yield StraightLine.between(*rich_points(box, phi, scale, 2))
