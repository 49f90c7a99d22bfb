"""Where a box may be asked: bounds, typical rows, and the frame that these give."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Floats, finite_matrix


class Bounds(NamedTuple):
    """The box that queries must stay in: low and high, (d,) each."""

    low: Floats
    high: Floats

    def nearest(self, rows: Floats) -> Floats:
        """Return the rows (n, d), moved to the box where they lie outside: by rounding, if they were meant to be in."""
        return np.clip(rows, self.low, self.high)


class InputFrame(NamedTuple):
    """Centre and scale of each input, (d,) each: a view in this frame is asked at ``(x - center) / scale``."""

    center: Floats
    scale: Floats


def read_inputs(inputs: ArrayLike | None, n_features: int) -> Floats | None:
    """Return a sample of typical rows, (n, d), as numbers."""
    if inputs is None:
        return None
    rows = finite_matrix("inputs", inputs, n_features)
    if len(rows) < 2:
        raise ValueError(f"inputs must be a sample of at least 2 typical rows, got {len(rows)}.")
    return rows


def read_bounds(bounds: tuple[ArrayLike, ArrayLike] | None, n_features: int) -> Bounds | None:
    """Return bounds for every input."""
    if bounds is None:
        return None
    try:
        low, high = (np.broadcast_to(np.asarray(b, dtype=np.float64), (n_features,)).copy() for b in bounds)
    except (TypeError, ValueError):
        raise ValueError(
            f"bounds must be a pair (low, high) of numbers or of vectors of length {n_features}, got {bounds!r}."
        ) from None
    if not (low < high).all():  # NaN too
        raise ValueError(f"bounds must have low < high in every coordinate, got {bounds!r}.")
    return Bounds(low, high)
