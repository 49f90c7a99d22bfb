"""One harness for many runs: arguments, processes, a journal from which a stopped campaign goes on, rows with commits.

A task is a tuple of plain values, a record a dictionary of them: both are lines of the journal. What a task draws comes
from its own values, so that records do not depend on how many processes there are or where a campaign was stopped.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS, commit, load, save

Record = dict[str, Any]
Task = Sequence[Any]


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser with what every campaign takes."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--journal", type=Path, help="file of records: those in it are not run again")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no run later than that")
    parser.add_argument("--save", action="store_true", help="write the results")
    return parser


def run(tasks: Iterable[Task], work: Callable[[Any], Record], options: argparse.Namespace) -> Iterator[Record]:
    """Yield the record of each task as it is ready, with its task and commit; those of the journal first."""
    done = {}
    if options.journal is not None and options.journal.exists():
        lines = options.journal.read_text(encoding="utf-8").splitlines()
        done = {json.dumps(record["task"]): record for record in map(json.loads, lines)}
    wanted = {json.dumps(task): task for task in tasks}
    yield from (done[key] for key in wanted if key in done)
    todo = [task for key, task in wanted.items() if key not in done]
    here, end = commit(), time.time() + options.seconds
    for task, record in _worked(todo, work, options.jobs, end):
        record = record | {"task": list(task), "commit": here}
        if options.journal is not None:
            with options.journal.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(record) + "\n")
        yield record


def _worked(todo: list[Task], work: Callable[[Any], Record], jobs: int, end: float) -> Iterator[tuple[Task, Record]]:
    """Yield tasks with what they gave, unless time is over."""
    if jobs == 1:
        for task in todo:
            if time.time() < end:
                yield task, work(task)
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = {pool.submit(_in_time, work, task, end): task for task in todo}
        for future in as_completed(waiting):
            if (record := future.result()) is not None:
                yield waiting[future], record


def _in_time(work: Callable[[Any], Record], task: Task, end: float) -> Record | None:
    return work(task) if time.time() < end else None


def commits(records: Iterable[Record]) -> str:
    """Return the commits that made these records."""
    return ", ".join(dict.fromkeys(record["commit"] for record in records))


def save_rows(name: str, rows: list[Record], by: str = "cell", part: str = "rows", **facts: Any) -> None:
    """Save rows, which name their commit; saved ones of other cells, and other parts of the file, stay."""
    path = RESULTS / f"{name}.json"
    kept = load(path) if path.exists() else {}
    kept.pop("context", None)
    merged = {row[by]: row for row in (*kept.get(part, []), *rows)}
    print("saved", save(name, {**kept, **facts, part: list(merged.values())}))
