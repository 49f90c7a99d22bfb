"""A linear term beside the sigmoids: told from ReLU units and measured, far out, where the sigmoids stand still."""

from __future__ import annotations

import numpy as np

from ...checking import Floats
from ...errors import NotIdentifiable
from ..asking import FAR, Ledger
from ..question import GROWING_KINDS, Narrowing, all_but, names_of
from .frames import frame_through

__all__ = ["linear_term"]

_RADII = FAR / np.array([1.0, 8.0, 64.0])
_SIDEWAYS = FAR / 64  # crosses few hyperplanes, and crossing one adds 1e-10 of its weight to the term's coordinate
_GAP = _RADII[0] - _RADII[1]
_SAME_SLOPE = 1e-6
_IDLE = 1e-12  # of the largest step: a ray on which all units that grow are idle


def linear_term(ledger: Ledger, directions: Floats, far: Floats, near: Floats) -> Floats | None:
    """Return the linear term, shape (d,), of a function that grows along two rays; None if it does not grow linearly.

    Parameters
    ----------
    directions : (2, d) array
        Orthonormal.
    far, near : (2,) arrays
        Answers at the distance FAR along them, and at a usual one.

    Raises
    ------
    NotIdentifiable
        The slopes in opposite directions differ, as those of ReLU units do.

    Notes
    -----
    d + 4 queries, two where slopes differ. Two answers on one ray give the slope along it up to rounding, however
    large the sigmoids are.
    """
    # On the ray that grows most, two answers tell linear growth, and whether it is the same to the opposite side.
    first = int(np.argmax(np.abs(far - near)))
    way, rise = directions[first], float(far[first] - near[first])
    eighth, opposite = ledger.ask(np.stack([_RADII[1] * way, -_RADII[0] * way]), "linear")
    growth = float(far[first] - eighth) / _GAP
    back = float(near[first] - opposite) / _RADII[0]
    same = _SAME_SLOPE * abs(growth) + 8 * float(np.abs(near).max()) / _RADII[0]  # sigmoids differ, too
    if abs(8 * growth * _GAP - 7 * rise) < 0.05 * abs(7 * rise) and abs(back - growth) > same:
        raise NotIdentifiable(
            f"Along a line the function grows linearly, by {growth:.6g} per unit length in one direction and by "
            f"{-back:.6g} in the opposite one ({ledger.n_queries} queries): ReLU or similar units; use "
            "activation='auto'.",
            rules_out=Narrowing(all_but(names_of(*GROWING_KINDS))),
        )
    sixtyfourths = ledger.ask(_RADII[2] * directions, "linear")
    other = ledger.ask(_RADII[1] * directions[1 - first][None], "linear")[0]
    ledger.ask(-_RADII[1] * way[None], "linear")  # one more equation of the term
    eighths = np.array([eighth, other] if first == 0 else [other, eighth])
    steps = np.stack([far - eighths, eighths - sixtyfourths])  # (2, directions)
    if not (np.abs(steps[0] - 8 * steps[1]) < 0.4 * np.abs(steps[1]) + _IDLE * np.abs(steps).max()).all():
        return None
    slopes = steps[0] / _GAP
    frame = frame_through(*directions)
    across = frame.across(np.arange(ledger.n_features - 2))
    beside = ledger.ask(FAR * directions[0] + _SIDEWAYS * across, "linear")
    coordinates = np.concatenate([slopes, (beside - far[0]) / _SIDEWAYS])
    return np.asarray(frame.from_coordinates(coordinates[None])[0])
