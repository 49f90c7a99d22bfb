"""Columns as people have them, by name from csv or parquet, made numbers: truth values, categories one-hot, gaps.

Dates are refused by name.
"""

from __future__ import annotations

import csv
import gzip
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..files import open_whole, require_modest
from ..runtime import load_extra

_MODEST = 256 << 20  # bytes of a table that are read whatever its file looks like
SUFFIXES = (".csv", ".parquet")  # that are written
_TEXT = (".csv", ".tsv", ".csv.gz", ".tsv.gz")  # that are read, beside .parquet
_SEPARATORS = ",;\t"


def is_text(path: Path) -> bool:
    """Tell whether a table is text, packed or not."""
    return path.name.lower().endswith(_TEXT)


def _open_text(path: Path) -> Any:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", newline="", encoding="utf-8-sig")
    return path.open(newline="", encoding="utf-8-sig")


def _mark_between(path: Path) -> str:
    """Return what parts the names in the header, quoted names aside: a comma, a semicolon or a tab."""
    with _open_text(path) as stream:
        header = re.sub(r'"[^"]*"', "", stream.readline())
    return max(_SEPARATORS, key=lambda mark: (header.count(mark), mark == ","))


def read_columns(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Return columns as words, (rows,) each."""
    places = _places(path, names)
    if path.suffix == ".parquet":
        table = _parquet().read_table(path, columns=list(names))
        return {name: np.asarray(["" if v is None else str(v) for v in table[name].to_pylist()]) for name in names}
    width, mark = len(column_names(path)), _mark_between(path)
    with _open_text(path) as stream:
        rows = [row for row in csv.reader(stream, delimiter=mark) if row][1:]
    for number, row in enumerate(rows):
        if len(row) != width:
            raise ValueError(f"{path} must have {width} values in every row, but data row {number + 1} has {len(row)}.")
    if not rows:
        raise ValueError(f"{path} has column names but no rows.")
    return {name: np.asarray([row[place] for row in rows]) for name, place in zip(names, places)}


def column_names(path: Path) -> list[str]:
    """Return the names in the header of the table."""
    _require_table(path)
    if path.suffix == ".parquet":
        try:
            return list(_parquet().read_schema(path).names)
        except ValueError as problem:  # of pyarrow, which does not name the file
            raise ValueError(f"{path} cannot be read: {problem}") from None
    names, _ = _read_header(path)
    if not names:
        raise ValueError(f"{path} is empty: it needs a line of column names.")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{path} has two columns named {repeated[0]!r}.")
    return names


def _read_header(path: Path) -> tuple[list[str], int]:
    """Return the column names and the number of lines they take: a quoted name may go on in the next one."""
    try:
        with _open_text(path) as stream:
            lines = csv.reader(stream, delimiter=_mark_between(path))
            return next(lines, []), lines.line_num
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, csv.Error) as problem:
        raise ValueError(f"{path} must be a table in UTF-8 text, but its header cannot be read: {problem}.") from None


def read_numbers(path: Path, names: Sequence[str]) -> Any:
    """Return the named columns as a (rows, columns) float array; text in them is refused with its place."""
    places = _places(path, names)
    if path.suffix == ".parquet":
        _require_modest_parquet(path, len(names))
        table = _parquet().read_table(path, columns=list(names))
        for name in names:
            if str(table.schema.field(name).type) in ("string", "large_string"):
                raise ValueError(f"{path} holds text in column {name!r}, where numbers are needed.")
        return np.column_stack([np.asarray(table[name].to_numpy(), dtype=np.float64) for name in names])
    try:
        return _read_numbers(path, places, np.float64)
    except ValueError as problem:
        raise ValueError(_where(path, str(problem), column_names(path))) from None


def _require_modest_parquet(path: Path, n_columns: int) -> None:
    """Refuse a table that declares far more rows than its size makes likely: equal rows take next to nothing."""
    n_rows = int(_parquet().read_metadata(path).num_rows)
    try:
        require_modest(path, 8 * n_rows * n_columns, _MODEST)
    except ValueError as problem:
        raise ValueError(f"{path} declares {n_rows:,} rows: {problem}.") from None


def text_columns(path: Path, names: Sequence[str]) -> list[str]:
    """Return which columns of a parquet file hold words or truth values."""
    _places(path, names)
    schema = _parquet().read_schema(path)
    words = ("string", "large_string", "bool")
    return [name for name in names if str(schema.field(name).type).startswith((*words, "dictionary"))]


def write_table(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns of equal length, all or nothing."""
    if path.suffix == ".parquet":
        parquet, arrow = _parquet(), load_extra("pyarrow", "parquet")
        with open_whole(path, "wb") as stream:
            parquet.write_table(arrow.table({name: arrow.array(values) for name, values in columns.items()}), stream)
        return
    with open_whole(path) as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*(np.asarray(values).tolist() for values in columns.values())))


def _require_table(path: Path) -> None:
    if path.suffix != ".parquet" and not is_text(path):
        raise ValueError(f"A table must end in {', '.join(_TEXT)} or .parquet, got {str(path)!r}.")
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")


def _parquet() -> Any:
    return load_extra("pyarrow.parquet", "parquet")


def _places(path: Path, names: Sequence[str]) -> list[int]:
    held = column_names(path)
    for name in names:
        if name not in held:
            shown = ", ".join(repr(n) for n in held[:8]) + (", ..." if len(held) > 8 else "")
            raise ValueError(f"{path} has no column {name!r}; it has {shown}.")
    return [held.index(name) for name in names]


def _read_numbers(path: Path, places: Sequence[int], dtype: Any) -> Any:
    _, n_header_lines = _read_header(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "input contained no data": said below in our words
        rows = np.loadtxt(
            path, dtype, delimiter=_mark_between(path), quotechar='"', comments=None, skiprows=n_header_lines,
            usecols=places, ndmin=2, encoding="utf-8-sig",
        )  # fmt: skip
    if not len(rows):
        raise ValueError(f"{path} has column names but no rows.")
    return rows


def _where(path: Path, problem: str, names: list[str]) -> str:
    """Turn NumPy's complaint into one that names line and column as a spreadsheet shows them."""
    found = re.search(r"convert string '(.*)' to \w+ at row (\d+), column (\d+)", problem)
    short = re.search(r"invalid column index -?\d+ at row (\d+) with (\d+) columns", problem)
    if short is not None:
        return f"{path} must have {len(names)} values in every row, but data row {short[1]} has {short[2]}."
    if found is None:
        return problem if str(path) in problem else f"{path} cannot be read: {problem}"
    text, row, column = found[1], int(found[2]), int(found[3])
    name = names[column - 1] if 0 < column <= len(names) else "?"
    return f"{path} must hold numbers, but data row {row + 1}, column {name!r}, holds {text!r}."


GAPS = ("error", "drop", "mean")  # what may be done about missing values
_MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "."})
_TRUTH = {"true": 1.0, "false": 0.0}
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_MOST_LEVELS = 50  # of a column; rarer words become one
OTHER = "(other)"  # the level of words too rare to have one of their own


class InputColumns(NamedTuple):
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
        told += [
            f"{column!r} has more than {_MOST_LEVELS} different words: the rarest, and any other, count as {OTHER!r}"
            for column, levels in self.levels.items()
            if OTHER in levels
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


class TableRows(NamedTuple):
    """Inputs (n, d), the target as numbers or words (n,), how inputs were coded, and how many rows were left out."""

    X: Any
    y: Any
    coding: InputColumns
    n_dropped: int


def load(path: Path, columns: Sequence[str], target: str, *, words: bool, na: str) -> TableRows:
    """Return inputs and target of a table: at once where all are numbers, else column by column."""
    if na not in GAPS:
        raise ValueError(f"--na must be {', '.join(GAPS[:-1])} or {GAPS[-1]}, got {na!r}.")
    if is_text(path) and not words:
        try:
            numbers = read_numbers(path, [*columns, target])
        except ValueError:
            numbers = None  # looked at word by word below
        if numbers is not None and np.isfinite(numbers).all():
            return TableRows(numbers[:, :-1], numbers[:, -1], InputColumns(tuple(columns), {}, {}), 0)
    held = read_columns(path, [*columns, target])
    coding = _find_columns(path, columns, held, na)
    X, missing = _as_inputs(path, coding, held, na)
    y, gaps = (held[target], _missing(held[target])) if words else _numbers(path, target, held[target])
    missing |= gaps
    _refuse_missing(path, [*columns, target], held, missing, na)
    kept = ~missing
    if not kept.any():
        raise ValueError(f"{path} has no row without a missing value.")
    return TableRows(X[kept], np.asarray(y)[kept], coding, int(missing.sum()))


def inputs_of(path: Path, coding: InputColumns, *, gaps: bool = False) -> Any:
    """Return the inputs (n, d) of a model from a table, coded as when it was fitted; with gaps, NaN in such rows."""
    held = read_columns(path, list(coding.columns))
    X, missing = _as_inputs(path, coding, held, "mean" if coding.fill else "error")
    if gaps:
        X[missing] = np.nan
    else:
        _refuse_missing(path, list(coding.columns), held, missing, "predict")
    return X


def _find_columns(path: Path, columns: Sequence[str], held: Mapping[str, Any], na: str) -> InputColumns:
    levels, fill = {}, {}
    for name in columns:
        values = held[name]
        there = values[~_missing(values)]
        if len(there) and all(as_number(v) is None for v in there.tolist()):
            if _DATE.fullmatch(str(there[0])):
                raise ValueError(
                    f"{path} holds dates in column {name!r} ({str(there[0])!r}): make numbers of them, such as days "
                    "since a start, or leave the column out by --columns."
                )
            levels[name] = _groups(path, name, there)
        elif na == "mean":
            numbers, gaps = _numbers(path, name, values)
            fill[name] = float(numbers[~gaps].mean()) if (~gaps).any() else 0.0
    return InputColumns(tuple(columns), levels, fill)


def _groups(path: Path, name: str, words: Any) -> list[str]:
    """Return the levels of a column by the alphabet, the rarest of too many words as one; names of rows are refused."""
    found, counts = np.unique(words, return_counts=True)
    if len(found) <= _MOST_LEVELS:
        return list(found.tolist())
    if 2 * len(found) > len(words):
        raise ValueError(
            f"{path} holds {len(found)} different words in the {len(words)} rows of column {name!r}, which name rows "
            "rather than groups of them: leave the column out by --columns."
        )
    often = np.argsort(-counts, kind="stable")[: _MOST_LEVELS - 1]
    return [*sorted(found[often].tolist()), OTHER]


def _as_inputs(path: Path, coding: InputColumns, held: Mapping[str, Any], na: str) -> tuple[Any, Any]:
    """Return the inputs (n, d), and which rows miss a value that nothing stands for."""
    parts: list[Any] = []
    missing: Any = False
    for name in coding.columns:
        values = held[name]
        if name in coding.levels:
            gaps = _missing(values)
            strange = ~np.isin(values, coding.levels[name]) & ~gaps
            if OTHER in coding.levels[name]:
                values = np.where(strange, OTHER, values)
            elif strange.any():
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
    gaps = _missing(values)
    numbers = np.full(len(values), np.nan)
    for row, text in enumerate(values.tolist()):
        if gaps[row]:
            continue
        number = as_number(text)
        if number is None:
            raise ValueError(f"{path} must hold numbers, but data row {row + 1}, column {name!r}, holds {text!r}.")
        numbers[row] = number
    return numbers, gaps


def as_number(text: str) -> float | None:
    """Return a number, or one for true and zero for false; None for another word."""
    if text.strip().lower() in _TRUTH:
        return _TRUTH[text.strip().lower()]
    try:
        return float(text)
    except ValueError:
        return None


def _missing(values: Any) -> Any:
    return np.array([text.strip().lower() in _MISSING_WORDS for text in values.tolist()])


def _refuse_missing(path: Path, names: Sequence[str], held: Mapping[str, Any], missing: Any, na: str) -> None:
    """Refuse missing values, with the place of the first, where nothing was said about them."""
    if na == "drop" or not missing.any():
        return
    row = int(np.argmax(missing))
    name = next(name for name in names if _missing(held[name])[row])
    advice = {
        "error": "use --na drop or --na mean",
        "mean": "a target or a category has no mean: use --na drop",
        "predict": "fit the model with --na mean, by which columns of numbers may have gaps",
    }
    raise ValueError(f"{path} misses a value in data row {row + 1}, column {name!r}: fill it, or {advice[na]}.")
