"""Answers recorded before: a CSV or Parquet table, or a journal, replayed without the oracle."""

from __future__ import annotations

import csv
import os
import threading
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...arguments import Floats, finite_matrix
from ...errors import OracleFailure
from ...runtime import load_extra
from ..journal import Journal, row_mark
from ..oracle import Oracle


def from_table(
    path: str | os.PathLike[str],
    target: str | Sequence[str] = "y",
    *,
    features: Sequence[str] | None = None,
    **options: Any,
) -> Oracle:
    """Return an oracle that looks rows up in a table.

    Parameters
    ----------
    path : path ending in .csv or .parquet
        One line per answer, with column names.
    target : str or list of str
        The column or columns that hold the answers.
    features : list of str, optional
        The columns that hold the inputs, in order; by default all others, in the order of the file.
    **options
        For :class:`~gradsift.Oracle`.

    Raises
    ------
    OracleFailure
        When asked for rows that are not in the table; ``partial`` holds all rows of the batch that are missing. Measure
        those, append them and run again: a campaign with a laboratory in the loop.

    Notes
    -----
    Rows must agree to the last bit, so write all digits (Python's ``repr``, pandas' default). A row that occurs several
    times with different answers gives them out in the order of the file, one per question, and then no more.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("answers.csv").write_text("a,b,y\\n0.5,1.0,0.25\\n")
    >>> oracle = from_table("answers.csv")
    >>> oracle([[0.5, 1.0]])
    array([0.25])
    >>> try:
    ...     oracle([[0.5, 1.0], [2.0, 1.0]])
    ... except OracleFailure as request:
    ...     request.partial
    array([[2., 1.]])
    """
    targets = [target] if isinstance(target, str) else list(target)
    columns = _read(Path(path))
    inputs = [name for name in columns if name not in targets] if features is None else list(features)
    for name in (*targets, *inputs):
        if name not in columns:
            raise ValueError(f"{os.fspath(path)} has no column {name!r}, only {', '.join(columns)}.")
    if not inputs:
        raise ValueError(f"{os.fspath(path)} has no columns beside the target, so no inputs.")
    X, Y = (np.column_stack([columns[name] for name in names]) for names in (inputs, targets))
    return Oracle(
        _Table(os.fspath(path), finite_matrix("inputs", X), finite_matrix("target", Y)), len(inputs), **options
    )


class _Table:
    """Answers by row."""

    def __init__(self, path: str, X: Floats, Y: Floats) -> None:
        self._path = path
        self._answers: dict[bytes, list[Floats]] = defaultdict(list)
        for x, y in zip(X + 0.0, Y):
            self._answers[row_mark(x)].append(y)
        for key, given in self._answers.items():
            if all((y == given[0]).all() for y in given):
                self._answers[key] = given[:1]
        self.recheckable = all(len(given) == 1 for given in self._answers.values())  # else asking uses answers up
        self._turn: dict[bytes, int] = defaultdict(int)
        self._lock = threading.Lock()

    def __call__(self, rows: Floats) -> Floats:
        with self._lock:
            return self._find(rows)

    def _find(self, rows: Floats) -> Floats:
        turn = self._turn.copy()
        found = [self._next(row_mark(row), turn) for row in rows]
        missing = [i for i, answer in enumerate(found) if answer is None]
        if missing:
            raise OracleFailure(
                f"{self._path} has no answer for {len(missing)} of the {len(rows)} rows asked for (kept in .partial): "
                "measure them, append them to the table and run again.",
                rows[missing],
            )
        self._turn = turn
        return np.array(found)

    def _next(self, key: bytes, turn: dict[bytes, int]) -> Floats | None:
        given = self._answers.get(key, [])
        if len(given) == 1:
            return given[0]
        turn[key] += 1
        return given[turn[key] - 1] if turn[key] <= len(given) else None


def _read(path: Path) -> dict[str, Floats]:
    """Return the columns of the table by name."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no table {path}.")
    if path.suffix == ".parquet":
        table = load_extra("pyarrow.parquet", "parquet").read_table(path)
        return {name: np.asarray(table[name]) for name in table.column_names}
    if path.suffix != ".csv":
        raise ValueError(f"A table must end in .csv or .parquet, got {os.fspath(path)!r}.")
    with path.open(newline="", encoding="utf-8-sig") as stream:
        lines = csv.reader(stream)
        try:
            names = next(lines, [])
            values = [_numbers(path, lines.line_num, line, len(names)) for line in lines if line]
        except (UnicodeDecodeError, csv.Error) as problem:
            raise ValueError(f"{path} must be a table in UTF-8 text, but it cannot be read: {problem}.") from None
    if not values:
        raise ValueError(f"{path} holds no answers.")
    return dict(zip(names, np.array(values).T))


def _numbers(path: Path, line_number: int, line: list[str], n_columns: int) -> list[float]:
    try:
        values = [float(entry) for entry in line]
    except ValueError:
        raise ValueError(f"{path}, line {line_number}, must hold numbers, got {','.join(line)!r}.") from None
    if len(values) != n_columns:
        raise ValueError(f"{path}, line {line_number}, must have {n_columns} entries, got {len(values)}.")
    return values


def from_journal(path: str | os.PathLike[str], **options: Any) -> Oracle:
    """Return an oracle that replays a journal and asks nobody.

    Parameters
    ----------
    path : path
        A file written by ``Oracle(..., journal=path)``, complete or not; it is only read.
    **options
        For :class:`~gradsift.Oracle`, for instance ``noise`` or ``max_queries``.

    Raises
    ------
    OracleFailure
        On a query beyond the recorded ones; ``partial`` holds the rows that are not recorded.
    GradsiftError
        On a query that differs from the recorded one.

    Examples
    --------
    >>> with Oracle(lambda X: X.sum(axis=1), 2, journal="campaign.db") as oracle:
    ...     oracle([[1.0, 2.0], [3.0, 4.0]])
    array([3., 7.])
    >>> offline = from_journal("campaign.db")
    >>> offline([[1.0, 2.0]])
    array([3.])
    >>> offline.n_queries, offline.n_replayed
    (0, 1)
    """
    journal = Journal(path)
    journal.open_to_read()
    n_recorded = journal.n_recorded

    def not_recorded(rows: Floats) -> Floats:
        raise OracleFailure(
            f"The journal {journal.path} holds {n_recorded} answers and {len(rows)} more were asked for, which are not "
            "recorded: go on with the live oracle, Oracle(function, ..., journal=path).",
            rows,
        )

    options["recheck"] = 0  # there is nobody to ask
    return Oracle(not_recorded, int(journal.header()["n_features"]), journal=journal, **options)
