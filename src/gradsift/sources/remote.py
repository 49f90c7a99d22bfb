"""Rows that must not come to memory (Dask collections, tensors on a device), for those who expect arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import Floats
from ..runtime import load_extra
from .arrays import package_of


def is_remote(values: Any) -> bool:
    """Whether turning `values` into an array would move rows to this process or fail."""
    if package_of(values) == "torch":
        return bool(values.device.type != "cpu")
    return package_of(values) in ("dask", "dask_expr")


def column_names(X: Any) -> Any:
    """Return the names of a Dask frame's columns as an object array, or None where there are none."""
    names = list(getattr(X, "columns", ()))
    return np.array(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None


def distinct(y: Any) -> Any:
    """Return the different values of y, sorted, as an array."""
    if package_of(y) == "torch":
        return np.unique(y.unique().cpu().numpy())
    arrays = load_extra("dask.array", "dask")
    values = y.unique() if hasattr(y, "to_dask_array") else arrays.unique(y)
    return np.unique(np.asarray(values.compute()))


def signs(y: Any, positive: Any) -> Any:
    """Return +1 where y equals `positive` and -1 elsewhere, where y is."""
    if package_of(y) == "torch":
        return 2.0 * (y == positive).double() - 1.0
    equal = y.eq(positive) if hasattr(y, "to_dask_array") else y == positive
    return 2.0 * equal.astype(np.float64) - 1.0


def predict_rows(function: Callable[[Floats], Any], X: Any, dtype: Any = np.float64) -> Any:
    """Apply a function of (n, d) arrays to all rows: lazily for a Dask collection, at once for tensors."""
    if package_of(X) == "torch":
        return function(X.double().cpu().numpy())
    array = X.to_dask_array() if hasattr(X, "to_dask_array") else X.rechunk({1: -1})
    return array.map_blocks(function, drop_axis=1, dtype=dtype, meta=np.empty(0, dtype))
