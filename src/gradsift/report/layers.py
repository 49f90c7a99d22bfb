"""The report of a network with several hidden layers: its layers drawn, and the checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..checking import Floats
from ..checks import failed_first

if TYPE_CHECKING:
    from ..recovery import Recovery

__all__ = ["layers_context"]

_MOST_SQUARES = 6000  # of one layer: a page should open at once
_SIDE = 420.0


class _Picture(NamedTuple):
    """One layer as the page shows it."""

    title: str
    svg: str
    caption: str


def layers_context(
    found: Recovery, names: Sequence[str], facts: Sequence[tuple[str, str]], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the template ``layers.html`` is given, but for its style sheet."""
    network = found.network
    shown = " x ".join(map(str, network.widths))
    tiles = [
        ("hidden layers", str(len(network.widths))), ("units", shown), ("inputs", str(network.n_features)),
        ("outputs", str(network.n_outputs)), ("activation", network.activation),
        ("queries", f"{found.n_queries:,}"),
        ("queries per unknown", f"{found.n_queries / network.n_parameters:,.3g}"),
    ]  # fmt: skip
    pictures = []
    for number, (weights, offsets) in enumerate(network.layers):
        last = number == len(network.widths)
        columns = list(names) if number == 0 else [f"unit {i + 1}" for i in range(weights.shape[1])]
        errors = found.standard_errors.get(f"layer {number + 1}")
        known = "" if errors is None else f"; largest relative error {float(np.max(errors)):.1g}"
        pictures.append(
            _Picture(
                "Output" if last else f"Hidden layer {number + 1}",
                _squares(np.concatenate([weights, offsets[:, None]], axis=1), [*columns, "offset"]),
                f"{weights.shape[0]} rows, {weights.shape[1]} inputs{known}",
            )
        )
    used = [(name, str(value)) for name, value in settings.items() if value is not None]
    return {
        "found": found, "network": network, "tiles": tiles, "layers": pictures,
        "checks": failed_first(found.checks), "facts": [*used, *facts],
    }  # fmt: skip


def _squares(rows: Floats, columns: Sequence[str]) -> str:
    """Return a matrix as coloured squares in an SVG; its first rows where it is large."""
    rows = rows[: max(1, _MOST_SQUARES // rows.shape[1])]
    side = _SIDE / max(rows.shape)
    largest = float(np.abs(rows).max()) or 1.0
    parts = []
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            color = "#2563a8" if value > 0 else "#b3372f"
            parts.append(
                f'<rect x="{j * side:.2f}" y="{i * side:.2f}" width="{side:.2f}" height="{side:.2f}" fill="{color}" '
                f'fill-opacity="{abs(value) / largest:.3f}"><title>unit {i + 1}, {escape(columns[j])}: {value:.6g}'
                "</title></rect>"
            )
    width, height = side * rows.shape[1], side * rows.shape[0]
    return (
        f'<svg viewBox="0 0 {width:.1f} {height:.1f}" width="{width:.0f}" height="{height:.0f}" role="img" '
        f'aria-label="{rows.shape[0]} by {rows.shape[1]} weights">{"".join(parts)}</svg>'
    )
