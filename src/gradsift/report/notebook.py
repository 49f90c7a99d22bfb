"""The short view of a recovery in a notebook: no scripts, no optional package."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..recovery import Recovery

__all__ = ["notebook_view"]

_MOST_ROWS, _MOST_COORDINATES = 20, 6


def notebook_view(found: Recovery) -> str:
    """Return an HTML fragment: the verdict, then a table of at most 20 units."""
    if found.deep is not None:
        return f"<div class='gradsift'><pre>{escape(found.summary())}</pre></div>"
    model = found.model
    spread = np.asarray(found.standard_errors.get("weights", np.full(model.n_units, np.nan)))
    rows = []
    for i in range(min(model.n_units, _MOST_ROWS)):
        weight = f"{model.weights[i]:.5g}" + (f" &plusmn; {spread[i]:.1g}" if np.isfinite(spread[i]) else "")
        direction = ", ".join(f"{v:.3f}" for v in model.units[i, :_MOST_COORDINATES])
        more = ", &hellip;" if model.n_features > _MOST_COORDINATES else ""
        cells = (str(i + 1), weight, f"{model.slopes[i]:.5g}", f"{model.offsets[i]:.5g}", f"[{direction}{more}]")
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    left_out = model.n_units - len(rows)
    after = f"<p>and {left_out} more units</p>" if left_out else ""
    head = "".join(f"<th>{name}</th>" for name in ("unit", "weight", "slope", "offset", "direction"))
    return (
        f"<div class='gradsift'><p>{escape(found.verdict)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{after}</div>"
    )
