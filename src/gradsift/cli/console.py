"""What the commands share: consoles, tables, JSON, exit codes, and the names of options."""

from __future__ import annotations

import contextlib
import json
import re
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any

import typer

NOT_CERTIFIED = 3  # exit code: done, but nothing vouches for the result
INTERRUPTED = 128 + signal.SIGINT  # exit code: Ctrl-C, as shells number it
NOTHING_WRITTEN = "nothing was written"

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


@contextlib.contextmanager
def with_note(told: Callable[[], str]) -> Iterator[None]:
    """Let an interrupt of the block say what stays on the disk."""
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.add_note(told())
        raise


def show_json(value: Any) -> None:
    """Print a JSON document on stdout."""
    typer.echo(json.dumps(value, indent=1))


def show_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None) -> None:
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


FLAGS = {
    "accuracy": "--accuracy",
    "activation": "--activation",
    "alpha": "--alpha",
    "answers": "--answers",
    "batch_size": "--batch",
    "bounds": "--bounds",
    "journal": "--journal",
    "labels": "--labels",
    "layers": "--layers",
    "link": "--link",
    "max_queries": "--max-queries",
    "method": "--method",
    "n_features": "--features",
    "n_jobs": "--jobs",
    "n_outputs": "--outputs",
    "n_units": "--units",
    "n_verify": "--verify",
    "noise": "--noise",
    "random_state": "--seed",
    "recheck": "--recheck",
    "trust": "--trust",
}

_VALUE = r"""(?:'[\w.]*'|"[\w.]*"|\([^()]*\)|True|-?\d(?:[\d.e+-]*\d)?)(?!\w|\.\w)"""
_MENTION = re.compile(
    rf"(?<![\w'\"/.-])`?(?P<name>{'|'.join(FLAGS)})"
    rf"(?:`|=(?P<values>{_VALUE}(?:(?:, | or ){_VALUE})*|(?![\w'\"(-]))|(?P<bare>(?![\w'\"/=]|\.\w)))"
)


def as_options(sentence: str) -> str:
    """Return a sentence of the library with its options as the command line spells them.

    Examples
    --------
    >>> as_options("Try activation='erf', or raise max_queries.")
    'Try --activation erf, or raise --max-queries.'
    """
    return _MENTION.sub(_as_option, sentence)


def _as_option(mention: re.Match[str]) -> str:
    name, values = mention["name"], mention["values"] or ""
    if mention["bare"] is not None and not _is_option(mention):
        return mention[0]
    plain = re.sub(r"['\"()]|(?<=,) (?=[^()]*\))", "", values).replace("True", "")
    return f"{FLAGS[name]} {plain}".rstrip()


def _is_option(mention: re.Match[str]) -> bool:
    """Tell whether a bare name is an option: most are English words too, unless they begin a complaint."""
    text, start = mention.string, mention.start()
    begins = text[max(start - 2, 0) : start] in ("", ". ", ": ", "; ")
    return "_" in mention["name"] or mention["name"] == "alpha" or (begins and text.startswith(" must ", mention.end()))
