"""Telling a person how far a long computation is, without threading a callback through every function.

Work calls :func:`report`; nobody listens unless a caller opened :func:`reporting`. A bar appears only after two
seconds, so short runs stay silent.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

Reporter = Callable[[str, float, float | None], None]
"""Called as ``reporter(stage, done, total)``; total is None where it is not known."""

_reporter: ContextVar[Reporter | None] = ContextVar("gradsift_reporter", default=None)

_BAR_AFTER = 2.0  # seconds before a bar is worth a person's attention
_SILENCE = 20.0  # seconds before the first plain line, where there can be no bar; each later one takes twice as long


def report(stage: str, done: float, total: float | None = None) -> None:
    """Say that `done` of `total` is behind us; costs nothing when nobody listens."""
    reporter = _reporter.get()
    if reporter is not None:
        reporter(stage, done, total)


def is_heard() -> bool:
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
    bar = _Progress() if progress is True else None
    token = _reporter.set(bar or progress)  # type: ignore[arg-type]
    try:
        yield
    finally:
        _reporter.reset(token)
        if bar is not None:
            bar.close()


class _Progress:
    """A rich progress bar on stderr that starts late and shows one line per stage.

    It opens by itself after two seconds, even if the work is too busy to report. Where stderr is no terminal nothing
    moves, and a plain line says now and then that the work goes on.
    """

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.display: Any = None
        self.tasks: dict[str, Any] = {}
        self.began: dict[str, tuple[float, float]] = {}
        self.latest: tuple[str, float, float | None] = ("working", 0, None)
        self.lock, self.closed = threading.RLock(), threading.Event()
        threading.Thread(target=self._show_late, name="gradsift-progress", daemon=True).start()

    def __call__(self, stage: str, done: float, total: float | None) -> None:
        with self.lock:
            self.latest = stage, done, total
            self.began.setdefault(stage, (time.monotonic(), done))
            if self.display is not None or time.monotonic() - self.started >= _BAR_AFTER:
                self._show()

    def _show(self) -> None:
        stage, done, total = self.latest
        if self.display is None:
            self._open()
        if stage not in self.tasks:
            self.tasks[stage] = self.display.add_task(stage, total=total, rate="")
        start, before = self.began.setdefault(stage, (time.monotonic(), done))
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

    def _show_late(self) -> None:
        if sys.stderr is not None and sys.stderr.isatty():
            if not self.closed.wait(_BAR_AFTER):
                with self.lock:
                    if self.display is None and not self.closed.is_set():
                        self._show()
            return
        pause = _SILENCE
        while not self.closed.wait(pause):
            stage, done, total = self.latest
            elapsed = time.monotonic() - self.started
            of = "" if total is None else f", {done:,.6g} of {total:,.6g}"
            start, before = self.began.get(stage, (self.started, 0.0))
            if total is not None and before < done < total:
                of += f", about {(time.monotonic() - start) * (total - done) / (done - before):.0f} s left"
            with contextlib.suppress(OSError, ValueError, AttributeError):  # nobody reads stderr any more
                sys.stderr.write(f"gradsift: at work for {elapsed:.0f} s: {stage}{of}\n")
                sys.stderr.flush()
            pause *= 2

    def close(self) -> None:
        with self.lock:
            self.closed.set()
            if self.display is not None:
                self.display.stop()
