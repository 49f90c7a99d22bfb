"""Rows in Parquet files: scanned column by column in batches, never held as a whole."""

from __future__ import annotations

import copy
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..arguments import at_least
from ..runtime import keep_memory, load_extra, one_thread
from .source import Source, check_block, check_weight
from .summary import Rows, Summary

_BATCH_ROWS = 65_536
_READ_AHEAD = 4  # batches decoded while one is being summarised
_GROUPS = 2  # row groups open at a time: while one ends, the next begins
# A few pages in memory at a time, instead of whole row groups: three quarters of the time (out_of_core, scans).
_READING = {"pre_buffer": False, "use_buffered_stream": True}


class _Piece(NamedTuple):
    """Rows that lie together in one batch: the number of the first, how many, and a slice of every column."""

    first: int
    n_rows: int
    columns: list[Any]


class ParquetSource(Source):
    """Rows of one Parquet file, of all files in a folder, or of a list of files, in the order of their names.

    Parameters
    ----------
    path : str, path or list of them
    target : str
        Column of y.
    features : list of str, optional
        Columns of X, in this order; all others than target and weight by default.
    weight : str, optional
        Column of row weights.

    Notes
    -----
    Opening reads the footers only: types, row counts, and nulls where the files count them.
    """

    def __init__(
        self, path: Any, *, target: str, features: Sequence[str] | None = None, weight: str | None = None
    ) -> None:
        dataset = _open(path)
        names = list(dataset.schema.names)
        for role, name in (("target", target), ("weight", weight)):
            if name is not None and name not in names:
                raise ValueError(f"{role} must be a column of {path}, got {name!r}; it has {_names_of(names)}.")
        if features is None:
            features = [name for name in names if name not in (target, weight)]
        for name in features:
            if name not in names:
                raise ValueError(f"features must be columns of {path}, got {name!r}; it has {_names_of(names)}.")
        if not features:
            raise ValueError(f"{path} must have a column beside the target {target!r}.")
        self.features, self.target, self.weight = list(features), target, weight
        self.columns = [*features, target, *([weight] if weight else [])]
        self._dataset = dataset
        self._groups = _row_groups(dataset, self.columns)
        self._start, self._stop = 0, sum(group.num_rows for _, group in self._groups)
        if self._stop == 0:
            raise ValueError(f"{path} holds no rows.")
        self.n_rows, self.n_features = self._stop, len(features)
        self._checked = False

    def blocks(self, block_rows: int) -> Iterator[Rows]:
        at_least("block_rows", block_rows, 1)
        yield from map(self._filled, self._pieces(int(block_rows)))
        self._checked = True

    def part(self, start: int, stop: int) -> ParquetSource:
        some = copy.copy(self)
        for name in ("moments", "_reading"):
            some.__dict__.pop(name, None)
        some._start, some._stop = self._start + start, self._start + stop
        some.n_rows = stop - start
        return some

    def take(self, indices: np.ndarray[Any, np.dtype[np.intp]]) -> Rows:
        """Read the files once and keep the rows asked for."""
        rows, done, first = self._empty(len(indices)), 0, 0
        for batch in self._scan():
            wanted = indices[done : np.searchsorted(indices, first + len(batch))]
            if len(wanted):
                self._put(rows, done, self._arrays(batch.take(wanted - first)))
            done, first = done + len(wanted), first + len(batch)
        self._reading.done += self.n_rows
        check_block(rows.X, rows.y, 0)
        return rows._replace(X=np.ascontiguousarray(rows.X))

    def _collect(self, summary: Summary[Any, Any]) -> Any:
        keep_memory()
        with one_thread():  # for each block, as they are summarised side by side
            return super()._collect(summary)

    def _in_blocks(self, function: Callable[[Rows], Any], block_rows: int) -> Iterator[Any]:
        """Fill and summarise blocks on all cores while the next ones are decoded; results come in the order of the
        rows."""

        def run(blocks: list[list[_Piece]]) -> list[Any]:
            return [function(self._filled(pieces)) for pieces in blocks]

        workers, pieces, together = os.cpu_count() or 1, self._pieces(block_rows), max(1, _BATCH_ROWS // block_rows)
        waiting: deque[Any] = deque()
        with ThreadPoolExecutor(workers) as pool:
            while blocks := list(
                islice(pieces, together)
            ):  # a batch at a time: threads that wake up often cost a tenth
                waiting.append(pool.submit(run, blocks))
                if len(waiting) > workers:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        self._checked = True

    def _pieces(self, block_rows: int) -> Iterator[list[_Piece]]:
        """Cut the stream of batches at multiples of `block_rows`: block borders, and so rounding, as in memory."""
        block, filled, first = list[_Piece](), 0, self._start
        for batch in self._scan():
            columns, offset = self._arrays(batch), 0
            while offset < len(batch):
                count = min(block_rows - filled, len(batch) - offset)
                block.append(_Piece(first + offset, count, [column[offset : offset + count] for column in columns]))
                offset, filled = offset + count, filled + count
                if filled == block_rows:
                    yield block
                    block, filled = [], 0
            first += len(batch)
        if block:
            yield block

    def _filled(self, pieces: list[_Piece]) -> Rows:
        """Return the rows of some pieces, as float64, one after the other, and look at their numbers once."""
        rows, filled = self._empty(sum(piece.n_rows for piece in pieces)), 0
        for piece in pieces:
            self._put(rows, filled, piece.columns)
            filled += piece.n_rows
        if not self._checked:
            check_block(rows.X, rows.y, pieces[0].first)
            check_weight(rows.weight)
        return rows

    def _empty(self, n: int) -> Rows:
        # Column by column, as in the files: filling is a plain copy, and whoever needs rows turns them in parallel.
        return Rows(np.empty((self.n_features, n)).T, np.empty(n), np.empty(n) if self.weight else None)

    def _put(self, rows: Rows, start: int, columns: list[Any]) -> None:
        places = [*rows.X.T, rows.y, *([] if rows.weight is None else [rows.weight])]
        for place, column in zip(places, columns):
            place[start : start + len(column)] = column

    def _arrays(self, batch: Any) -> list[Any]:
        """Return the columns of a record batch, where Arrow holds them if they are of numbers without nulls."""
        for name, column in zip(self.columns, batch.columns):
            if column.null_count:
                raise ValueError(f"column {name!r} must not have nulls, it has {column.null_count}.")
        return [column.to_numpy(zero_copy_only=False) for column in batch.columns]

    def _scan(self) -> Iterator[Any]:
        """Yield record batches of rows start..stop in order; row groups outside are never opened."""
        fragments, first, skip = [], 0, None
        for fragment, group in self._groups:
            if first < self._stop and first + group.num_rows > self._start:
                fragments.append(fragment.subset(row_group_ids=[group.id]))
                skip = self._start - first if skip is None else skip
            first += group.num_rows
        dataset = self._dataset
        some = type(dataset)(fragments, dataset.schema, dataset.format, dataset.filesystem)
        scan = some.scanner(
            columns=self.columns, batch_size=_BATCH_ROWS, batch_readahead=_READ_AHEAD, fragment_readahead=_GROUPS
        )
        left, skip = self.n_rows, skip or 0
        for batch in scan.to_batches():
            here = batch.slice(min(skip, len(batch)))
            skip -= len(batch) - len(here)
            here = here.slice(0, left)
            left -= len(here)
            if len(here):
                yield here


def _open(path: Any) -> Any:
    arrow = load_extra("pyarrow", "parquet")
    dataset = load_extra("pyarrow.dataset", "parquet")
    files = [os.fspath(p) for p in path] if isinstance(path, (list, tuple)) else os.fspath(path)
    options = dataset.ParquetFragmentScanOptions(**_READING)
    try:
        return dataset.dataset(files, format=dataset.ParquetFileFormat(default_fragment_scan_options=options))
    except FileNotFoundError:
        raise FileNotFoundError(f"path must be Parquet files or a folder of them, but {path} does not exist.") from None
    except arrow.ArrowInvalid as problem:
        raise ValueError(f"{path} cannot be read as Parquet: {str(problem).splitlines()[0]}") from None


def _row_groups(dataset: Any, columns: list[str]) -> list[tuple[Any, Any]]:
    """Return (file, row group) pairs, after checking every file's types and null counts for the columns."""
    types = load_extra("pyarrow", "parquet").types
    groups = []
    for fragment in dataset.get_fragments():
        schema = fragment.physical_schema
        for name in columns:
            if name not in schema.names:
                raise ValueError(f"{fragment.path} must have the column {name!r} like the other files, but has not.")
            kind = schema.field(name).type
            if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
                raise TypeError(f"{fragment.path}: column {name!r} must hold numbers, got {kind}.")
        metadata = fragment.metadata
        place = {metadata.schema.column(j).path: j for j in range(metadata.num_columns)}
        for group in fragment.row_groups:
            for name in columns:
                known = metadata.row_group(group.id).column(place[name]).statistics
                if known is not None and known.has_null_count and known.null_count:
                    raise ValueError(
                        f"{fragment.path}: column {name!r} must not have nulls, it has {known.null_count}."
                    )
            groups.append((fragment, group))
    return groups


def _names_of(names: list[str]) -> str:
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
