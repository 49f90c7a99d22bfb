"""Points where all units of the first layer are awake at once."""

from __future__ import annotations

import numpy as np

from ...checking import Floats
from .tower import Layers

__all__ = ["near_points"]


def near_points(layers: Layers, n: int, spread: float, rng: np.random.Generator) -> Floats:
    """Return points (n, d) at which the arguments of the first layer are about `spread`, in random directions.

    Around the point where they are smallest together; directions in which nothing changes get the typical width.
    """
    weights, offsets = layers[0]
    middle = -np.linalg.lstsq(weights, offsets, rcond=1e-8)[0]
    _, sizes, ways = np.linalg.svd(weights, full_matrices=True)
    typical = float(np.median(np.linalg.norm(weights, axis=1)))
    scales = np.full(weights.shape[1], typical)
    scales[: len(sizes)] = np.maximum(sizes / np.sqrt(max(1.0, len(offsets) / weights.shape[1])), 0.1 * typical)
    return np.asarray(middle + spread * (rng.standard_normal((n, weights.shape[1])) / scales) @ ways)
