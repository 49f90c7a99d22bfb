"""Is this argument usable, and what is meant where it is not given? One-sentence errors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

# Fits square and sum what they are given: between these, squares, sums of a million squares and inverses stay numbers.
LARGEST, SMALLEST = 1e151, 1e-152


def _numbers(name: str, values: ArrayLike) -> Floats:
    array = np.asarray(values)
    if array.dtype == object or array.dtype.kind not in "biuf":
        try:
            array = array.astype(np.float64) if array.dtype == object else np.asarray(None)
        except OverflowError:  # whole numbers have no limit in Python
            raise ValueError(f"{name} must stay within double precision, but an entry is beyond 1e308.") from None
        except (TypeError, ValueError):
            array = np.asarray(None)
        if array.dtype != np.float64:
            kind = np.asarray(values).dtype
            raise TypeError(f"{name} must hold real numbers, got an array of dtype {kind}.")
    return np.asarray(array, dtype=np.float64)


def _finite(name: str, array: Floats) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(array.sum()):  # one cheap look before the careful one
            return array
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        place = f"row {where[0]}" + (f", column {where[1]}" if len(where) > 1 else "")
        raise ValueError(f"{name} must be finite, but {int(bad.sum())} entries are NaN or inf (first: {place}).")
    return array


def finite_matrix(name: str, values: ArrayLike, n_columns: int | None = None) -> Floats:
    """Return `values` as a finite float64 matrix, or say in one sentence what is wrong with `name`."""
    array = _numbers(name, values)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must be a non-empty matrix, got shape {array.shape}.")
    if n_columns is not None and array.shape[1] != n_columns:
        raise ValueError(f"{name} must have {n_columns} columns, got {array.shape[1]}.")
    return _finite(name, array)


def finite_vector(name: str, values: ArrayLike, length: int | None = None) -> Floats:
    """Return `values` as a finite float64 vector; a scalar is repeated when `length` is given."""
    array = _numbers(name, values)
    if array.ndim == 0 and length is not None:
        array = np.full(length, float(array))
    if array.ndim != 1:
        raise ValueError(f"{name} must be a vector, got shape {array.shape}.")
    if length is not None and array.size != length:
        raise ValueError(f"{name} must have length {length}, got {array.size}.")
    return _finite(name, array)


def moderate_columns(name: str, column: str, array: Floats) -> None:
    """Refuse entries of a vector or matrix that are too large to be squared, naming the column; NaN and inf pass."""
    with np.errstate(invalid="ignore"):
        if not (float(array.max()) > LARGEST or float(array.min()) < -LARGEST):  # one cheap look before the careful one
            return
    sizes = np.abs(array)
    too_large = (sizes > LARGEST) & np.isfinite(sizes)
    if too_large.any():
        place = np.argwhere(too_large)[0]
        where = f"{column} {int(place[1])}" if array.ndim == 2 and column else f"row {int(place[0])}"
        raise ValueError(
            f"{name} must stay below {LARGEST:g} in size, but {where} holds {array[tuple(place)]:g}: rescale it."
        )


def same_rows(X: Floats, y: Floats) -> None:
    """Refuse a target whose length differs from the number of rows."""
    if X.shape[0] != y.shape[0]:
        raise ValueError(f"X and y must have the same number of rows, got {X.shape[0]} and {y.shape[0]}.")


def at_least(name: str, value: Any, low: float, *, strict: bool = False) -> None:
    """Refuse anything but a finite number of at least `low` (above it, when `strict`)."""
    good = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if good and np.isinf(value):
        raise ValueError(f"{name} must be finite, got {value!r}.")
    if not good or not (value > low if strict else value >= low):
        raise ValueError(f"{name} must be {'above' if strict else 'at least'} {low:g}, got {value!r}.")


def whole(name: str, value: Any, low: int = 1) -> None:
    """Refuse anything but a whole number of at least `low`."""
    at_least(name, value, low)
    if value != int(value):
        raise ValueError(f"{name} must be a whole number, got {value!r}.")


def as_generator(rng: Any) -> np.random.Generator:
    """Return a ``Generator`` from None, an integer seed, a ``Generator`` or a legacy ``RandomState``."""
    if isinstance(rng, np.random.RandomState):
        return np.random.default_rng(rng.randint(2**31, size=4))
    if isinstance(rng, (int, np.integer)) and rng < 0:
        raise ValueError(f"A seed must be at least 0, got {rng}.")
    return np.random.default_rng(rng)
