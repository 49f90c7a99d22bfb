"""Data frames in memory (pandas, polars) as arrays, column by column so that an error can name the column."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["from_frame", "package_of"]


def package_of(value: Any) -> str:
    """Return the top-level package that a value's type comes from, without importing anything."""
    return type(value).__module__.partition(".")[0]


def from_frame(name: str, frame: Any) -> Any:
    """Return a frame as a matrix or a series as a vector; anything else passes through.

    Columns keep their type where all share one, and otherwise take the smallest that holds them all.
    """
    if package_of(frame) not in ("pandas", "polars") or not hasattr(frame, "to_numpy"):
        return frame
    if not hasattr(frame, "columns"):
        return _numbers(f"{name} ({frame.name})" if frame.name else name, frame)
    return np.column_stack([_numbers(f"{name} column {label!r}", frame[label]) for label in frame.columns])


def _numbers(what: str, column: Any) -> Any:
    values = column.to_numpy()
    if values.dtype == object:  # nullable numbers come as objects, and so does text
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{what} must hold real numbers and no nulls, got {column.dtype}.") from None
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{what} must hold real numbers, got {column.dtype}.")
    return values
