"""What the commands share: consoles, tables, JSON, exit codes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any

import typer

__all__ = ["INTERRUPTED", "NOTHING_WRITTEN", "NOT_CERTIFIED", "AsJson", "keeping", "print_json", "print_table"]

NOT_CERTIFIED = 3  # exit code: done, but nothing vouches for the result
INTERRUPTED = 130  # exit code: Ctrl-C, as shells number it
NOTHING_WRITTEN = "nothing was written"

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


@contextlib.contextmanager
def keeping(told: Callable[[], str]) -> Iterator[None]:
    """Let an interrupt of the block say what stays on the disk."""
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.add_note(told())
        raise


def print_json(value: Any) -> None:
    """Print a JSON document on stdout."""
    typer.echo(json.dumps(value, indent=1))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None) -> None:
    """Print a table on stdout; numbers are right-aligned."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    cells = [[_cell(v) for v in row] for row in rows]
    for i, name in enumerate(columns):
        numeric = bool(cells) and all(row[i][1] for row in cells)
        table.add_column(name, justify="right" if numeric else "left")
    for row in cells:
        table.add_row(*(text for text, _ in row))
    Console().print(table)


def _cell(value: Any) -> tuple[str, bool]:
    if isinstance(value, float):
        return f"{value + 0.0:.3g}", True  # plus zero: no minus before a zero
    if isinstance(value, int):
        return f"{value:,}", True
    from rich.markup import escape

    return escape(str(value)), False
