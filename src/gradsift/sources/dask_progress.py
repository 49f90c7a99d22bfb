"""Telling how far a Dask computation is, on local schedulers and on a cluster alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..extras import load_extra
from ..progress import report

__all__ = ["compute_heard"]


def compute_heard(result: Any, parts: Sequence[Any], rows: Mapping[str, int], stage: str) -> Any:
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
    counter = _Counter(rows, stage)
    client = _active_client()
    if client is None:
        return _on_this_machine(result, counter)
    return _on_cluster(client, result, parts, counter)


class _Counter:
    """Reports the rows of parts that are done, each part once: a lost worker may compute one again."""

    def __init__(self, rows: Mapping[str, int], stage: str) -> None:
        self.left, self.stage = dict(rows), stage
        self.done, self.total = 0, sum(rows.values())

    def __call__(self, key: str) -> None:
        n = self.left.pop(key, 0)
        if n:
            self.done += n
            report(self.stage, self.done, self.total)


def _active_client() -> Any:
    """Return the cluster's client if that is where Dask would compute now, else None."""
    scheduler = load_extra("dask.base", "dask").get_scheduler()
    client = getattr(scheduler, "__self__", None)  # a cluster's scheduler is a method of its client
    return client if hasattr(client, "compute") else None


def _on_this_machine(result: Any, counter: _Counter) -> Any:
    callbacks = load_extra("dask.callbacks", "dask")

    def after(key: str, *_: Any) -> None:
        counter(key)

    with callbacks.Callback(posttask=after):  # called in this thread
        return result.compute()


def _on_cluster(client: Any, result: Any, parts: Sequence[Any], counter: _Counter) -> Any:
    distributed = load_extra("distributed", "dask")
    *futures, last = client.compute([*parts, result])
    finished = distributed.as_completed(futures)
    del futures  # what is merged need not be kept for us
    for future in finished:
        counter(future.key)
    return last.result()
