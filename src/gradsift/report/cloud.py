"""The points of the interactive view: candidates (or gradients of the found model) and units, in three dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..checking import Floats
from ..geometry import normalize_rows
from ..plots import PALETTE

if TYPE_CHECKING:
    from ..recovery import Recovery

__all__ = ["cloud"]

_MOST_POINTS = 1500
_MOST_UNITS = 60
_MOST_NUMBERS = 1_000_000  # drawn for the view; it should not take longer than the rest of the page


def cloud(found: Recovery) -> dict[str, Any] | None:
    """Return points, arrows and words for the page's 3-D view; None in one dimension.

    In more than three dimensions everything is projected on the three directions that carry most of the units.
    """
    model = found.model
    if model.n_features < 2 or model.n_units > _MOST_UNITS:
        return None
    directions, words = _directions(found)
    frame = _frame(model.units)  # (3, d)
    nearest = np.argmax(directions @ model.units.T, axis=1)
    if model.n_features > 3:
        words += f" Projected from {model.n_features:,} dimensions on the three that carry most of the units; "
        words += "a point inside the sphere has more of its length outside this view."
    return {
        "points": np.round(directions @ frame.T, 4).tolist(),
        "groups": nearest.tolist(),
        "arrows": np.round(model.units @ frame.T, 4).tolist(),
        "colors": [PALETTE[i % len(PALETTE)] for i in range(model.n_units)],
        "words": words,
    }


def _directions(found: Recovery) -> tuple[Floats, str]:
    rng = np.random.default_rng(0)  # only what is drawn depends on it
    if found.candidates is not None and found.candidates.directions.shape[1] == found.model.n_features:
        rows = found.candidates.directions
        shown = rng.choice(len(rows), min(len(rows), _MOST_POINTS), replace=False)
        return rows[
            np.sort(shown)
        ], f"{len(shown)} of {len(rows)} candidates, coloured by the unit they are closest to."
    model = found.model
    # Far enough out that most points see one unit or none, as the method does.
    reach = 4.0 * max(1.0, float(np.abs(model.offsets / model.slopes).max()))
    n_points = int(np.clip(_MOST_NUMBERS // model.n_features, 200, 4 * _MOST_POINTS))
    points = reach * rng.standard_normal((n_points, model.n_features))
    gradients = model.gradient(points)
    norms = np.linalg.norm(gradients, axis=1)
    longest = np.argsort(-norms, kind="stable")[: min(_MOST_POINTS // 2, n_points // 4)]
    kept = longest[norms[longest] > 0]
    words = f"Directions of the {len(kept)} longest gradients of the found model at {len(points)} random points."
    return normalize_rows(gradients[kept]), words


def _frame(units: Floats) -> Floats:
    """Return three orthonormal rows: the axes themselves up to three dimensions, else the units' main directions."""
    d = units.shape[1]
    if d <= 3:
        return np.eye(3)[:, :d]
    frame = np.zeros((3, d))
    main = np.linalg.svd(units, full_matrices=False)[2][:3]
    frame[: len(main)] = main * np.where(main.sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
    return frame
