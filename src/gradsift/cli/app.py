"""The ``gradsift`` command: its sub-commands, and how errors leave it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .. import __version__
from ..errors import GradsiftError
from .demo import demo, figures
from .paper import paper
from .plan import plan
from .show import AsJson, print_json

__all__ = ["main"]

app = typer.Typer(
    name="gradsift",
    help="Find the hidden units of a sum of sigmoids, in a black box or in a table.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Exit codes: 0 done and certified, 3 done but not certified, 2 bad input."""
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


for command in (demo, figures, paper, plan):
    app.command()(command)


def main() -> None:
    """Run the command line; a bad input is one line on stderr and exit code 2."""
    try:
        app()
    except (GradsiftError, ValueError, TypeError, OSError) as problem:
        if "--debug" in sys.argv:
            raise
        typer.echo(f"gradsift: {problem}", err=True)
        raise SystemExit(2) from None
