"""A linear term beside the sigmoids: told from ReLU units and measured, far out, where the sigmoids stand still."""

from __future__ import annotations

import numpy as np

from ...checking import Floats
from ..asking import FAR, Ledger
from .families import GrowsBothWays
from .frames import frame_through

__all__ = ["linear_term"]

_RADII = FAR / np.array([1.0, 8.0, 64.0])
_SIDEWAYS = FAR / 64  # crosses few hyperplanes, and crossing one adds 1e-10 of its weight to the term's coordinate
_SAME_SLOPE = 1e-6
_IDLE = 1e-12  # of the largest step: a ray on which all units that grow are idle


def linear_term(ledger: Ledger, directions: Floats, far: Floats) -> Floats | None:
    """Return the linear term, shape (d,), of a function that grows along two rays; None if it does not grow linearly.

    Parameters
    ----------
    directions : (2, d) array
        Orthonormal.
    far : (2,) array
        Answers at the distance FAR along them.

    Raises
    ------
    NotIdentifiable
        The slopes in opposite directions differ, as those of ReLU units do.

    Notes
    -----
    d + 4 queries. Two answers on one ray give the slope along it up to rounding, however large the sigmoids are.
    """
    rows = (_RADII[1:, None, None] * directions).reshape(-1, ledger.n_features)
    values = np.concatenate([far[None], ledger.ask(rows, "linear").reshape(2, 2)])  # (radii, directions)
    steps = values[:-1] - values[1:]
    if not (np.abs(steps[0] - 8 * steps[1]) < 0.4 * np.abs(steps[1]) + _IDLE * np.abs(steps).max()).all():
        return None
    slopes = steps[0] / (_RADII[0] - _RADII[1])
    behind = ledger.ask(-_RADII[:2, None] * directions[0], "linear")
    back = float((behind[1] - behind[0]) / (_RADII[0] - _RADII[1]))
    if not abs(back - slopes[0]) < _SAME_SLOPE * np.abs(slopes).max():
        raise GrowsBothWays(
            f"Along a line the function grows linearly, by {slopes[0]:.6g} per unit length in one direction and by "
            f"{-back:.6g} in the opposite one ({ledger.n_queries} queries): ReLU or similar units; use "
            "activation='auto'."
        )
    frame = frame_through(*directions)
    across = frame.across(np.arange(ledger.n_features - 2))
    beside = ledger.ask(FAR * directions[0] + _SIDEWAYS * across, "linear")
    coordinates = np.concatenate([slopes, (beside - far[0]) / _SIDEWAYS])
    return np.asarray(frame.from_coordinates(coordinates[None])[0])
