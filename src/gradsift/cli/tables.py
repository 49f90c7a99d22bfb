"""Tables on disk: columns by name from csv or parquet, and back."""

from __future__ import annotations

import csv
import gzip
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..files import atomic_writer, require_modest
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


def _delimiter(path: Path) -> str:
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
    width, mark = len(column_names(path)), _delimiter(path)
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
        return _parquet_names(path)
    names, _ = _csv_header(path)
    if not names:
        raise ValueError(f"{path} is empty: it needs a line of column names.")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{path} has two columns named {repeated[0]!r}.")
    return names


def _csv_header(path: Path) -> tuple[list[str], int]:
    """Return the column names and the number of lines they take: a quoted name may go on in the next one."""
    try:
        with _open_text(path) as stream:
            lines = csv.reader(stream, delimiter=_delimiter(path))
            return next(lines, []), lines.line_num
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, csv.Error) as problem:
        raise ValueError(f"{path} must be a table in UTF-8 text, but its header cannot be read: {problem}.") from None


def _parquet_names(path: Path) -> list[str]:
    parquet = _parquet()
    try:
        return list(parquet.read_schema(path).names)
    except ValueError as problem:  # of pyarrow, which does not name the file
        raise ValueError(f"{path} cannot be read: {problem}") from None


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
        return _load_csv(path, places, np.float64)
    except ValueError as problem:
        raise ValueError(_where(path, str(problem), column_names(path))) from None


def _require_modest_parquet(path: Path, n_columns: int) -> None:
    """Refuse a table that declares far more rows than its size makes likely: equal rows take next to nothing."""
    n_rows = int(_parquet().read_metadata(path).num_rows)
    try:
        require_modest(path, 8 * n_rows * n_columns, _MODEST)
    except ValueError as problem:
        raise ValueError(f"{path} declares {n_rows:,} rows: {problem}.") from None


def read_words(path: Path, name: str) -> Any:
    """Return one column as text, (rows,): class labels may be words."""
    (place,) = _places(path, [name])
    if path.suffix == ".parquet":
        return np.asarray([str(v) for v in _parquet().read_table(path, columns=[name])[name].to_pylist()])
    return _load_csv(path, [place], np.str_)[:, 0]


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
        with atomic_writer(path, "wb") as stream:
            parquet.write_table(arrow.table({name: arrow.array(values) for name, values in columns.items()}), stream)
        return
    with atomic_writer(path) as stream:
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


def _load_csv(path: Path, places: Sequence[int], dtype: Any) -> Any:
    _, n_header_lines = _csv_header(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "input contained no data": said below in our words
        rows = np.loadtxt(
            path, dtype, delimiter=_delimiter(path), quotechar='"', comments=None, skiprows=n_header_lines,
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
