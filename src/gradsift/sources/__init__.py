"""Where rows come from. An algorithm touches rows only through ``source.reduce(summary)``.

Every source gives the same rows in the same order, so that the same seed gives the same answer whether they are in an
array, a memory map, a data frame, Parquet files, a Dask collection or a tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .arrays import ArraySource, SparseSource, from_frame, is_sparse, module_of
from .source import Moments, MomentSummary, Source
from .summary import Rows, Summary

__all__ = [
    "ArraySource",
    "MomentSummary",
    "Moments",
    "Rows",
    "Source",
    "Summary",
    "as_source",
    "dask",
    "parquet",
    "tensors",
]


def as_source(data: Any) -> Source:
    """Return a :class:`Source` for ``(X, y)``, ``(X, y, sample_weight)`` or something that is one already.

    The parts may be arrays, memory maps, pandas or polars frames, Dask collections or torch tensors; the package is
    told from the type, so that nothing optional is imported for the others.
    """
    if isinstance(data, Source):
        return data
    if not (isinstance(data, (tuple, list)) and len(data) in (2, 3)):
        raise TypeError(f"source must be a Source or a pair (X, y) of rows, got {type(data).__name__}.")
    packages = {module_of(part) for part in data}
    if packages & {"dask", "dask_expr"}:
        from .dask_collections import DaskSource

        return DaskSource(*data)
    if "torch" in packages:
        return tensors(*data)
    if is_sparse(data[0]):
        return SparseSource(*data)
    names = ("X", "y", "sample_weight")
    return ArraySource(*(from_frame(name, part) for name, part in zip(names, data)))


def parquet(path: Any, *, target: str, features: Sequence[str] | None = None, weight: str | None = None) -> Source:
    """Return the rows of a Parquet file, a folder or a list of files (extra ``parquet``).

    Parameters
    ----------
    path : str, path or list of them
    target : str
        Column of y.
    features : list of str, optional
        Columns of X; all others by default.
    weight : str, optional
        Column of row weights.
    """
    from .parquet_files import ParquetSource

    return ParquetSource(path, target=target, features=features, weight=weight)


def dask(X: Any, y: Any, weight: Any = None) -> Source:
    """Return the rows of Dask collections (extra ``dask``); `y` may name a column of the data frame `X`."""
    from .dask_collections import DaskSource

    if isinstance(y, str):
        if y not in getattr(X, "columns", ()):
            raise ValueError(f"y must be a column of X, got {y!r}.")
        X, y = X.drop(columns=y), X[y]
    return DaskSource(X, y, weight)


def tensors(X: Any, y: Any, weight: Any = None, *, device: Any = None) -> Source:
    """Return the rows of torch tensors (extra ``torch``), moved to `device` first if one is given."""
    from .torch_tensors import torch_source

    return torch_source(X, y, weight, device)
