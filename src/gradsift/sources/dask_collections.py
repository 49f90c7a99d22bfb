"""Rows in Dask arrays and data frames: summarised where the chunks are, merged in a tree, one state returned."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..arguments import at_least
from ..progress import is_heard, report
from ..runtime import load_extra
from .arrays import from_frame, module_of
from .source import Source, check_block, check_weight
from .summary import Rows, Summary, merge_all


def report_parts(result: Any, parts: Sequence[Any], rows: Mapping[str, int], stage: str) -> Any:
    """Compute a delayed value and report the rows behind it as the parts it is merged from are done.

    Parameters
    ----------
    result : Delayed
    parts : sequence of Delayed
        What `result` is made of.
    rows : dict
        Rows behind each part, by its key.
    stage : str
        Name of the progress report.
    """
    counter = _RowReport(rows, stage)
    client = _cluster()
    if client is None:
        return _on_threads(result, counter)
    return _on_cluster(client, result, parts, counter)


class _RowReport:
    """Reports the rows of parts that are done, each part once: a lost worker may compute one again."""

    def __init__(self, rows: Mapping[str, int], stage: str) -> None:
        self.left, self.stage = dict(rows), stage
        self.done, self.total = 0, sum(rows.values())

    def __call__(self, key: str) -> None:
        n = self.left.pop(key, 0)
        if n:
            self.done += n
            report(self.stage, self.done, self.total)


def _cluster() -> Any:
    """Return the cluster's client if that is where Dask would compute now, else None."""
    scheduler = load_extra("dask.base", "dask").get_scheduler()
    client = getattr(scheduler, "__self__", None)  # a cluster's scheduler is a method of its client
    return client if hasattr(client, "compute") else None


def _on_threads(result: Any, counter: _RowReport) -> Any:
    callbacks = load_extra("dask.callbacks", "dask")

    def after(key: str, *_: Any) -> None:
        counter(key)

    with callbacks.Callback(posttask=after):  # called in this thread
        return result.compute()


def _on_cluster(client: Any, result: Any, parts: Sequence[Any], counter: _RowReport) -> Any:
    distributed = load_extra("distributed", "dask")
    *futures, last = client.compute([*parts, result])
    finished = distributed.as_completed(futures)
    del futures  # what is merged need not be kept for us
    for future in finished:
        counter(future.key)
    return last.result()


class DaskSource(Source):
    """Rows of Dask collections, computed on the active client or, without one, on this machine's threads.

    Parameters
    ----------
    X : Dask array or data frame, (n, d)
    y, weight : Dask array or series, or array, (n,)

    Notes
    -----
    A data frame's partition lengths are computed first (a pass over the data unless it comes from Parquet).
    A collection that takes long to compute is computed again in every pass unless you ``persist`` it.
    """

    def __init__(self, X: Any, y: Any, weight: Any = None) -> None:
        self.X, self.y = _as_array("X", X, 2), _as_array("y", y, 1)
        self.weight = None if weight is None else _as_array("sample_weight", weight, 1)
        for name, part in (("y", self.y), ("sample_weight", self.weight)):
            if part is not None and part.shape[0] != self.X.shape[0]:
                raise ValueError(
                    f"X and {name} must have the same number of rows, got {self.X.shape[0]} and {part.shape[0]}."
                )
        self.X = self.X.map_blocks(_checked_shape, dtype=self.X.dtype, meta=self.X._meta)
        self.n_rows, self.n_features = (int(s) for s in self.X.shape)
        self._checked = False

    def _collect(self, summary: Summary[Any, Any]) -> Any:
        dask = load_extra("dask", "dask")
        block = summary.block_rows(self.n_features)
        # Pieces of 2^j blocks begin at multiples of their length: merging them is merging the blocks, bit by bit.
        segment = block * 2 ** max(0, int(np.log2(max(self.X.chunks[0]) / block)))  # no larger than a chunk
        pieces = self._cut(segment)
        shared = dask.delayed(summary, traverse=False)  # in the graph once, not in every task
        reduce = dask.delayed(_piece_state, pure=False)
        parts = [reduce(shared, Rows(*piece), i * segment, block, not self._checked) for i, piece in enumerate(pieces)]
        merged: Any = merge_all(_ClusterMerge(dask.delayed(_merged, pure=False), shared), parts)  # type: ignore[arg-type]
        rows = {part.key: min(segment, self.n_rows - i * segment) for i, part in enumerate(parts)}
        state = report_parts(merged, parts, rows, self._stage) if is_heard() else merged.compute()
        self._checked = True
        return state

    def _cut(self, segment: int) -> list[tuple[Any, Any, Any]]:
        """Return the rows as delayed pieces of `segment` rows; collections so chunked already are not touched."""
        X = self.X.rechunk({0: segment, 1: -1}, method="tasks").to_delayed()[:, 0]
        y = self.y.rechunk(segment, method="tasks").to_delayed()
        if self.weight is None:
            return [(a, b, None) for a, b in zip(X, y)]
        return list(zip(X, y, self.weight.rechunk(segment, method="tasks").to_delayed()))

    def blocks(self, block_rows: int) -> Iterator[Rows]:
        """Yield all rows, a few chunks at a time in memory; algorithms use :meth:`reduce`, which moves no rows."""
        at_least("block_rows", block_rows, 1)
        step = int(block_rows) * max(1, max(self.X.chunks[0]) // int(block_rows))
        for start in range(0, self.n_rows, step):
            rows = _in_memory(self.part(start, min(start + step, self.n_rows)))
            check_block(rows.X, rows.y, start)
            yield from _cut_rows(rows, int(block_rows))

    def part(self, start: int, stop: int) -> DaskSource:
        return self._part_of(slice(start, stop))

    def _part_of(self, which: Any) -> DaskSource:
        some = copy.copy(self)
        for name in ("moments", "_reading"):
            some.__dict__.pop(name, None)
        some.X, some.y = self.X[which], self.y[which]
        some.weight = None if self.weight is None else self.weight[which]
        some.n_rows = int(some.X.shape[0])
        return some

    def take(self, indices: np.ndarray[Any, np.dtype[np.intp]]) -> Rows:
        """Compute the rows asked for; only they come back."""
        rows = _in_memory(self._part_of(indices))
        self._reading.done += self.n_rows
        check_block(rows.X, rows.y, 0)
        return rows


class _ClusterMerge:
    """The merge of a summary as a Dask task, for :func:`merge_all`."""

    def __init__(self, merged: Any, summary: Any) -> None:
        self.merged, self.summary = merged, summary

    def merge(self, left: Any, right: Any) -> Any:
        return self.merged(self.summary, left, right)


def _merged(summary: Summary[Any, Any], left: Any, right: Any) -> Any:
    return summary.merge(left, right)


def _checked_shape(block: Any, block_info: Any = None) -> Any:
    """Return a chunk that has the shape its array says; Dask itself would stretch a narrow one without a word."""
    if block_info:  # absent while Dask builds the graph
        place = block_info[0]["array-location"]
        announced = tuple(stop - start for start, stop in place)
        if block.shape != announced:
            first = place[0][0]
            raise ValueError(
                f"X's chunks must be as announced, but that at row {first} is {block.shape}, not {announced}."
            )
    return block


def _piece_state(summary: Summary[Any, Any], rows: Rows, first_row: int, block_rows: int, check: bool) -> Any:
    """Summarise one piece on the worker that holds it."""
    if check:
        check_block(np.asarray(rows.X), np.asarray(rows.y), first_row)
        check_weight(rows.weight)
    return merge_all(summary, (summary.chunk(block) for block in _cut_rows(rows, block_rows)))


def _cut_rows(rows: Rows, block_rows: int) -> Iterator[Rows]:
    for start in range(0, len(rows.y), block_rows):
        parts = (None if part is None else part[start : start + block_rows] for part in rows)
        yield _float_rows(parts)


def _float_rows(parts: Iterable[Any]) -> Rows:
    arrays: list[Any] = [None if part is None else np.ascontiguousarray(part, dtype=np.float64) for part in parts]
    return Rows(*arrays)


def _in_memory(source: DaskSource) -> Rows:
    dask = load_extra("dask", "dask")
    return _float_rows(dask.compute(source.X, source.y, source.weight))


def _as_array(name: str, values: Any, ndim: int) -> Any:
    arrays = load_extra("dask.array", "dask")
    if module_of(values) not in ("dask", "dask_expr"):
        values = arrays.from_array(np.asarray(from_frame(name, values)))
    if hasattr(values, "to_dask_array"):
        _require_numbers(name, values)
        values = values.to_dask_array(lengths=True)
    if any(np.isnan(size) for size in values.shape):
        raise ValueError(f"{name} must know its chunk sizes: call {name}.compute_chunk_sizes() first.")
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {values.dtype}.")
    if ndim == 1 and values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != ndim or 0 in values.shape:
        raise ValueError(f"{name} must be a non-empty {'matrix' if ndim == 2 else 'vector'}, got shape {values.shape}.")
    return values


def _require_numbers(name: str, frame: Any) -> None:
    kinds = frame.dtypes.items() if frame.ndim == 2 else [(frame.name, frame.dtype)]
    for column, kind in kinds:
        if getattr(kind, "kind", "O") not in "biuf":
            raise TypeError(f"{name} column {column!r} must hold real numbers, got {kind}.")
