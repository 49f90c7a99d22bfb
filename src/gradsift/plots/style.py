"""What all figures share: the colours, and the one door to matplotlib."""

from __future__ import annotations

from typing import Any

from ..extras import load_extra

__all__ = ["PALETTE", "axes_or_new", "color", "pyplot"]

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442")  # Okabe and Ito
_LEFT_OUT = "#9a9a9a"


def pyplot() -> Any:
    """Return matplotlib.pyplot, or say which extra brings it."""
    return load_extra("matplotlib.pyplot", "plot")


def axes_or_new(ax: Any, width: float = 5.6, height: float = 3.8) -> Any:
    """Return the given axes, or new ones in a figure of this size (inches)."""
    if ax is None:
        _, ax = pyplot().subplots(figsize=(width, height), layout="constrained")
    return ax


def color(label: int) -> str:
    """Return the colour of a unit or cluster; grey for what was left out (-1)."""
    return PALETTE[label % len(PALETTE)] if label >= 0 else _LEFT_OUT
