"""The ``gradsift`` command: its sub-commands, and how errors leave it."""

from __future__ import annotations

import contextlib
import logging
import sys
import traceback
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__
from ..addresses import shown
from ..errors import BudgetSpent, CandidateShortage, GradsiftError, NotIdentifiable
from .address import RetryLines
from .bench import bench
from .demo import demo, figures
from .fit import fit
from .flags import in_flags
from .forecast import forecast
from .paper import paper
from .plan import plan
from .playground import playground
from .predict import predict
from .recover import recover
from .show import INTERRUPTED, NOT_CERTIFIED, NOTHING_WRITTEN, AsJson, print_json
from .streams import prepare_streams
from .zoo import zoo

__all__ = ["main"]


class _Commands(TyperGroup):
    """The commands, with one way out for all of them when a person presses Ctrl-C."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _without_secrets():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        try:
            with _without_secrets():
                return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            _show_traceback()
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


def _show_traceback() -> None:
    if "--debug" in sys.argv:
        typer.echo(shown(traceback.format_exc()), err=True)


app = typer.Typer(
    name="gradsift",
    cls=_Commands,
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
        print_json({"version": __version__})
    else:
        typer.echo(__version__)


for command in (demo, recover, fit, predict, plan, forecast, paper, figures, bench, zoo, playground):
    app.command()(command)


_BAD_INPUT = 2
_GAVE_UP = (BudgetSpent, CandidateShortage, NotIdentifiable)  # the input was fine, the evidence was not


def main() -> None:
    """Run the command line; a bad input is one line on stderr and exit code 2."""
    logging.getLogger("stamina").addHandler(RetryLines())  # its retries in lines of ours
    prepare_streams()
    try:
        app()
    except (GradsiftError, ValueError, TypeError, OSError, OverflowError, MemoryError) as problem:
        _show_traceback()
        said = in_flags(shown(" ".join(str(problem).split()) or type(problem).__name__))
        if "--json" in sys.argv:
            with contextlib.suppress(OSError):  # a full disk behind stdout; the sentence below says what matters
                print_json({"certified": False, "error": type(problem).__name__, "verdict": said})
        typer.echo("gradsift: " + said, err=True)
        raise SystemExit(NOT_CERTIFIED if isinstance(problem, _GAVE_UP) else _BAD_INPUT) from None
