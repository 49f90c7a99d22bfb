"""Where rows come from. An algorithm touches rows only through ``source.reduce(summary)``."""

from __future__ import annotations

from typing import Any

from .arrays import ArraySource
from .base import Source
from .moments import Moments, MomentSummary
from .summary import Rows, Summary

__all__ = ["ArraySource", "MomentSummary", "Moments", "Rows", "Source", "Summary", "as_source"]


def as_source(data: Any) -> Source:
    """Return a :class:`Source` for ``(X, y)``, ``(X, y, sample_weight)`` or something that is one already."""
    if isinstance(data, Source):
        return data
    if isinstance(data, (tuple, list)) and len(data) in (2, 3):
        return ArraySource(*data)
    raise TypeError(f"source must be an Oracle, a Source or a pair (X, y), got {type(data).__name__}.")
