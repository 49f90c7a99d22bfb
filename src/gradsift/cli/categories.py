"""Columns as people have them, made numbers: truth values, categories one-hot, gaps; dates are refused by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .tables import is_text, read_columns, read_numbers

GAPS = ("error", "drop", "mean")  # what may be done about missing values
_MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "."})
_TRUTH = {"true": 1.0, "false": 0.0}
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_MOST_LEVELS = 50  # more are names of rows rather than categories


class Coding(NamedTuple):
    """How columns became the inputs of a model.

    levels : the categories of each column that has any; the first is the base, which has no input of its own
    fill : what stands for a missing value, by column
    """

    columns: tuple[str, ...]
    levels: Mapping[str, Sequence[str]]
    fill: Mapping[str, float]

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs: columns, and "column=level" for all levels but the base."""
        return [
            name
            for column in self.columns
            for name in (
                [f"{column}={level}" for level in self.levels[column][1:]] if column in self.levels else [column]
            )
        ]

    def notes(self, n_dropped: int) -> list[str]:
        """Return what was done to the columns, and to rows with gaps, as sentences without a full stop."""
        told = [
            f"{column!r} is coded against its base level {levels[0]!r}: one input for each of "
            + ", ".join(map(repr, levels[1:]))
            for column, levels in self.levels.items()
        ]
        if n_dropped:
            told.append(f"rows with missing values were left out: {n_dropped}")
        if self.fill:
            told.append("a missing value counts as the mean of its column, here and in predictions")
        return told

    def as_dict(self) -> dict[str, Any]:
        """Return what a model file carries."""
        return {
            "columns": list(self.columns),
            "levels": {k: list(v) for k, v in self.levels.items()},
            "fill": dict(self.fill),
        }


class Loaded(NamedTuple):
    """Inputs (n, d), the target as numbers or words (n,), how inputs were coded, and how many rows were left out."""

    X: Any
    y: Any
    coding: Coding
    n_dropped: int


def load(path: Path, columns: Sequence[str], target: str, *, words: bool, na: str) -> Loaded:
    """Return inputs and target of a table: at once where all are numbers, else column by column."""
    if na not in GAPS:
        raise ValueError(f"--na must be {', '.join(GAPS[:-1])} or {GAPS[-1]}, got {na!r}.")
    if is_text(path) and not words:
        try:
            numbers = read_numbers(path, [*columns, target])
        except ValueError:
            numbers = None  # looked at word by word below
        if numbers is not None and np.isfinite(numbers).all():
            return Loaded(numbers[:, :-1], numbers[:, -1], Coding(tuple(columns), {}, {}), 0)
    held = read_columns(path, [*columns, target])
    coding = _coding(path, columns, held, na)
    X, missing = _code(path, coding, held, na)
    y, gaps = (held[target], _gaps(held[target])) if words else _numbers(path, target, held[target])
    missing |= gaps
    _say_gaps(path, [*columns, target], held, missing, na)
    kept = ~missing
    if not kept.any():
        raise ValueError(f"{path} has no row without a missing value.")
    return Loaded(X[kept], np.asarray(y)[kept], coding, int(missing.sum()))


def load_coded(path: Path, coding: Coding) -> Any:
    """Return the inputs (n, d) of a model from a table, coded as when it was fitted."""
    held = read_columns(path, list(coding.columns))
    X, missing = _code(path, coding, held, "mean" if coding.fill else "error")
    _say_gaps(path, list(coding.columns), held, missing, "predict")
    return X


def _coding(path: Path, columns: Sequence[str], held: Mapping[str, Any], na: str) -> Coding:
    levels, fill = {}, {}
    for name in columns:
        values = held[name]
        there = values[~_gaps(values)]
        if len(there) and all(_number(v) is None for v in there.tolist()):
            if _DATE.fullmatch(str(there[0])):
                raise ValueError(
                    f"{path} holds dates in column {name!r} ({str(there[0])!r}): make numbers of them, such as days "
                    "since a start, or leave the column out by --columns."
                )
            found = sorted(set(there.tolist()))
            if len(found) > _MOST_LEVELS:
                raise ValueError(
                    f"{path} holds {len(found)} different words in column {name!r}, and {_MOST_LEVELS} categories are "
                    "the most: leave the column out by --columns."
                )
            levels[name] = found
        elif na == "mean":
            numbers, gaps = _numbers(path, name, values)
            fill[name] = float(numbers[~gaps].mean()) if (~gaps).any() else 0.0
    return Coding(tuple(columns), levels, fill)


def _code(path: Path, coding: Coding, held: Mapping[str, Any], na: str) -> tuple[Any, Any]:
    """Return the inputs (n, d), and which rows miss a value that nothing stands for."""
    parts: list[Any] = []
    missing: Any = False
    for name in coding.columns:
        values = held[name]
        if name in coding.levels:
            gaps = _gaps(values)
            strange = ~np.isin(values, coding.levels[name]) & ~gaps
            if strange.any():
                row = int(np.argmax(strange))
                raise ValueError(
                    f"{path} holds {str(values[row])!r} in data row {row + 1}, column {name!r}, which the model does "
                    f"not know; it knows {', '.join(coding.levels[name][:8])}."
                )
            parts += [(values == level).astype(np.float64) for level in coding.levels[name][1:]]
        else:
            numbers, gaps = _numbers(path, name, values)
            if na == "mean" and name in coding.fill:
                numbers, gaps = np.where(gaps, coding.fill[name], numbers), np.zeros_like(gaps)
            parts.append(numbers)
        missing = missing | gaps
    return np.column_stack(parts), missing


def _numbers(path: Path, name: str, values: Any) -> tuple[Any, Any]:
    """Return a column as numbers, NaN where one is missing, and where that is."""
    gaps = _gaps(values)
    numbers = np.full(len(values), np.nan)
    for row, text in enumerate(values.tolist()):
        if gaps[row]:
            continue
        number = _number(text)
        if number is None:
            raise ValueError(f"{path} must hold numbers, but data row {row + 1}, column {name!r}, holds {text!r}.")
        numbers[row] = number
    return numbers, gaps


def _number(text: str) -> float | None:
    if text.strip().lower() in _TRUTH:
        return _TRUTH[text.strip().lower()]
    try:
        return float(text)
    except ValueError:
        return None


def _gaps(values: Any) -> Any:
    return np.array([text.strip().lower() in _MISSING_WORDS for text in values.tolist()])


def _say_gaps(path: Path, names: Sequence[str], held: Mapping[str, Any], missing: Any, na: str) -> None:
    """Refuse missing values, with the place of the first, where nothing was said about them."""
    if na == "drop" or not missing.any():
        return
    row = int(np.argmax(missing))
    name = next(name for name in names if _gaps(held[name])[row])
    advice = {
        "error": "use --na drop or --na mean",
        "mean": "a target or a category has no mean: use --na drop",
        "predict": "fit the model with --na mean, by which columns of numbers may have gaps",
    }
    raise ValueError(f"{path} misses a value in data row {row + 1}, column {name!r}: fill it, or {advice[na]}.")
