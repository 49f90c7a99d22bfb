"""Telling a person how far a long computation is, without threading a callback through every function.

Work calls :func:`report`; nobody listens unless a caller opened :func:`reporting`. A bar appears only after two
seconds, so short runs stay silent.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

__all__ = ["Reporter", "listening", "report", "reporting"]

Reporter = Callable[[str, float, float | None], None]
"""Called as ``reporter(stage, done, total)``; total is None where it is not known."""

_reporter: ContextVar[Reporter | None] = ContextVar("gradsift_reporter", default=None)

_BAR_AFTER = 2.0  # seconds before a bar is worth a person's attention


def report(stage: str, done: float, total: float | None = None) -> None:
    """Say that `done` of `total` is behind us; costs nothing when nobody listens."""
    reporter = _reporter.get()
    if reporter is not None:
        reporter(stage, done, total)


def listening() -> bool:
    """Return whether anybody hears the reports, for those that cost something to make."""
    return _reporter.get() is not None


@contextlib.contextmanager
def reporting(progress: bool | Reporter) -> Iterator[None]:
    """Let a bar (True), a function, or nobody (False: whoever listened before) hear the reports of this block."""
    if progress is False:
        yield
        return
    if progress is not True and not callable(progress):
        raise TypeError(f"progress must be True, False or a function, got {progress!r}.")
    bar = _Bar() if progress is True else None
    token = _reporter.set(bar or progress)  # type: ignore[arg-type]
    try:
        yield
    finally:
        _reporter.reset(token)
        if bar is not None:
            bar.close()


class _Bar:
    """A rich progress bar on stderr that starts late and shows one line per stage."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.display: Any = None
        self.tasks: dict[str, Any] = {}
        self.began: dict[str, tuple[float, float]] = {}

    def __call__(self, stage: str, done: float, total: float | None) -> None:
        if self.display is None:
            if time.monotonic() - self.started < _BAR_AFTER:
                return
            self._open()
        if stage not in self.tasks:
            self.tasks[stage] = self.display.add_task(stage, total=total, rate="")
            self.began[stage] = time.monotonic(), done
        start, before = self.began[stage]
        elapsed = time.monotonic() - start
        # Counts have a rate worth reading; shares of one have not.
        rate = f"{(done - before) / elapsed:,.0f}/s" if elapsed > 0 and (total or 0) > 1 else ""
        self.display.update(self.tasks[stage], completed=done, total=total, rate=rate)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}")
        self.display = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self.display.start()

    def close(self) -> None:
        if self.display is not None:
            self.display.stop()
