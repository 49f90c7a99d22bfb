"""Output that nobody reads any more must not turn a result into a failure."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

__all__ = ["prepare_streams"]


class _Patient(io.FileIO):
    """A file that goes on when its reader has left (a closed pipe); another failure is told once."""

    failed = False

    def write(self, data: Any) -> int:
        if self.failed:
            return len(memoryview(data).cast("B"))
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            self.failed = True
            return len(memoryview(data).cast("B"))
        except OSError:
            self.failed = True  # what stays in the buffers must not fail again when Python ends
            raise


def prepare_streams() -> None:
    """Let stdout and stderr bear a closed pipe, or being closed from the start.

    The files of a command are written before it prints, so that its exit code stays what it would have been.
    """
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None:  # closed by the shell: >&-
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif stream is getattr(sys, f"__{name}__") and _number(stream) == number:
            setattr(sys, name, _patient(stream, number))


def _number(stream: Any) -> int | None:
    try:
        return int(stream.fileno())
    except (OSError, ValueError):
        return None


def _patient(stream: Any, number: int) -> io.TextIOWrapper:
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Patient(number, "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or number == 2,
        write_through=stream.write_through,
    )
