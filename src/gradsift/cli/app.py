"""The ``gradsift`` command: its sub-commands, how errors leave it, and output that nobody reads any more."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import traceback
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__
from ..errors import BudgetSpent, CandidateShortage, GradsiftError, NotIdentifiable
from ..files import shown
from .console import INTERRUPTED, NOT_CERTIFIED, NOTHING_WRITTEN, AsJson, as_options, show_json
from .demo import demo, figures
from .doors import bench, playground, zoo
from .fit_command import fit, predict
from .paper_command import paper, plan
from .recover_command import forecast, recover


class _Output(io.FileIO):
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


def prepare_output() -> None:
    """Let stdout and stderr bear a closed pipe, or being closed from the start.

    The files of a command are written before it prints, so that its exit code stays what it would have been.
    """
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None:  # closed by the shell: >&-
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif stream is getattr(sys, f"__{name}__") and _number(stream) == number:
            setattr(sys, name, _prepared(stream, number))


def _number(stream: Any) -> int | None:
    try:
        return int(stream.fileno())
    except (OSError, ValueError):
        return None


def _prepared(stream: Any, number: int) -> io.TextIOWrapper:
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(number, "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or number == 2,
        write_through=stream.write_through,
    )


class _Prepared(TyperGroup):
    """The commands, with one way out for all of them when a person presses Ctrl-C."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _without_secrets():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        try:
            with _without_secrets():
                return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            _show_cause()
            kept = "; ".join(getattr(stop, "__notes__", ())) or NOTHING_WRITTEN
            typer.echo(f"gradsift: interrupted; {kept}.", err=True)
            raise typer.Exit(INTERRUPTED) from None


_UsageError: Any = typer.BadParameter.__base__


@contextlib.contextmanager
def _without_secrets() -> Iterator[None]:
    """Take secrets out of complaints about the command line, which quote it."""
    try:
        yield
    except _UsageError as problem:
        problem.message = shown(problem.message)
        raise


def _show_cause() -> None:
    if "--debug" in sys.argv:
        typer.echo(shown(traceback.format_exc()), err=True)


app = typer.Typer(
    name="gradsift",
    cls=_Prepared,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Find the hidden units of a sum of sigmoids, in a black box or in a table.

    Exit codes: 0 certified; 3 not certified, or given up for lack of evidence; 2 bad input; 130 interrupted.

    Example: gradsift demo
    """
    context.obj = {"debug": debug}


@app.command()
def version(as_json: AsJson = False) -> None:
    """Print the version.

    Example: gradsift version
    """
    if as_json:
        show_json({"version": __version__})
    else:
        typer.echo(__version__)


for command in (demo, recover, fit, predict, plan, forecast, paper, figures, bench, zoo, playground):
    app.command()(command)


_BAD_INPUT = 2
_GAVE_UP = (BudgetSpent, CandidateShortage, NotIdentifiable)  # the input was fine, the evidence was not


class _RequestLog(logging.Handler):
    """Prints which requests are made again, on stderr as it is by then."""

    def emit(self, record: logging.LogRecord) -> None:
        typer.echo(f"gradsift: {record.getMessage()}", err=True)


def main() -> None:
    """Run the command line; a bad input is one line on stderr and exit code 2."""
    prepare_output()
    logging.getLogger("gradsift.http").handlers[:] = [_RequestLog()]
    try:
        app()
    except (GradsiftError, ValueError, TypeError, OSError, OverflowError, MemoryError) as problem:
        _show_cause()
        said = as_options(shown(" ".join(str(problem).split()) or type(problem).__name__))
        if "--json" in sys.argv:
            with contextlib.suppress(OSError):  # a full disk behind stdout; the sentence below says what matters
                show_json({"certified": False, "error": type(problem).__name__, "verdict": said})
        typer.echo("gradsift: " + said, err=True)
        raise SystemExit(NOT_CERTIFIED if isinstance(problem, _GAVE_UP) else _BAD_INPUT) from None
