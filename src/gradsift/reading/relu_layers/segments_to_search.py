"""Where units of the next layer are looked for: segments on which many known units are active, and tours of the rest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...arguments import Floats
from ...tuned import TRIES
from .box import Box
from .feature_map import FeatureMap
from .line_scan import Line

_SCALES = np.array([1.0, 3.0, 10.0])  # of inputs, over the typical distance of a hyperplane
_LONG = 300.0  # the same for the axes of a tour


def lines_for(box: Box, phi: FeatureMap, scale: float) -> Iterator[Line]:
    """Yield segments without end: rich ones, a tour along the axes of the features, then random and rich in turn."""
    reachable = _reachable(phi, box.d)
    for _ in range(TRIES):
        yield Line.between(*rich_points(box, phi, scale, 2))
    if reachable:
        yield from _tour(box, phi, scale)
    while True:
        yield Line.between(*scale * _SCALES[box.rng.integers(3)] * box.rng.standard_normal((2, box.d)))
        yield Line.between(*rich_points(box, phi, scale, 2))


def _reachable(phi: FeatureMap, d: int) -> bool:
    """Say whether any features can be asked for: one layer of no more units than inputs."""
    return len(phi.layers) == 1 and phi.n_units <= d and phi.signed and not phi.slope


def _inputs_at(phi: FeatureMap, z: Floats) -> Floats:
    """Return inputs at which the arguments of the first layer are these, (n, k)."""
    (A, b), = phi.layers
    return np.asarray((z - b) @ np.linalg.pinv(A).T)


def rich_points(box: Box, phi: FeatureMap, scale: float, n: int) -> Floats:
    """Return n inputs, (n, d), at which all units of the last known layer are active, or as many as a search finds."""
    sizes = scale * _SCALES[box.rng.integers(3, size=(n, 1))]
    if _reachable(phi, box.d):
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
    return np.minimum((phi.features(X) > 0).sum(axis=1), most)


def _tour(box: Box, phi: FeatureMap, scale: float) -> Iterator[Line]:
    """Yield a ray from the corner where all features are zero, then a way from axis to axis of the features.

    A row of mixed sign changes sign on the way; one of negative offset and positive weights does on the ray.
    """
    k = phi.n_units
    corner = _inputs_at(phi, -0.05 * scale * np.ones((1, k)))[0]
    inside = _inputs_at(phi, _LONG * scale * np.exp(box.rng.standard_normal((1, k))))[0]
    yield Line.between(corner, inside)
    order = box.rng.permutation(k)
    lengths = _LONG * scale * (1 + box.rng.random(k))
    axes = np.full((k, k), 0.05 * scale) * np.exp(box.rng.standard_normal((k, k)))
    axes[np.arange(k), order] = lengths
    stops = _inputs_at(phi, axes)
    for number in range(k if k > 2 else k - 1):
        yield Line.between(stops[number], stops[(number + 1) % k])
        if number % 3 == 2:
            yield Line.between(*rich_points(box, phi, scale, 2))
