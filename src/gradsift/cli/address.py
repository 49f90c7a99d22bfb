"""How an address is asked: the options of ``gradsift recover`` for servers. Secrets come from the environment."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["Answer", "Batch", "Body", "Headers", "Jobs", "Rate", "RetryLines", "asked_how"]

Headers = Annotated[
    list[str] | None, typer.Option("--header", metavar="<str>", help="Name: value; $WORD from the environment.")
]
Body = Annotated[str | None, typer.Option(help='JSON to post, with "{rows}", or a file.')]
Answer = Annotated[str | None, typer.Option(help="Place in replies, like outputs.0.data.")]
Rate = Annotated[float | None, typer.Option(help="Most requests per second.")]
Jobs = Annotated[int | None, typer.Option(help="Requests at the same time.")]
Batch = Annotated[int | None, typer.Option(help="Most rows per request.")]

_VARIABLE = re.compile(r"\$(\w+)|\$\{(\w+)\}")


class RetryLines(logging.Handler):
    """Says on stderr that a request failed and will be made again; of the failure only its kind, no secret."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one line."""
        told = record.__dict__
        cause = str(told.get("stamina.caused_by", "")).partition("(")[0] or "it failed"
        wait = told.get("stamina.wait_for", 0.0)
        typer.echo(f"gradsift: a request got no answer ({cause}); asking again in {wait:g} s.", err=True)


def asked_how(
    spec: str, headers: list[str] | None, body: str | None, answer: str | None, rate: float | None
) -> dict[str, Any]:
    """Return the settings of an address, and refuse them for anything else."""
    given: dict[str, Any] = {
        "headers": dict(_header(text) for text in headers) if headers else None,
        "body": Path(body).read_text(encoding="utf-8") if body and _is_file(body) else body,
        "answer": answer,
        "per_second": rate,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if given and "://" not in spec:
        names = {"headers": "--header", "body": "--body", "answer": "--answer", "per_second": "--rate"}
        raise ValueError(f"{', '.join(names[name] for name in given)} only makes sense for an http(s) address.")
    return given


def _is_file(text: str) -> bool:
    return not text.lstrip().startswith(("{", "[")) and Path(text).is_file()


def _header(text: str) -> tuple[str, str]:
    """Return name and value of a header, with words of the environment put in; the value is never shown."""
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise ValueError('--header must be "Name: value", and one has no name or no colon.')

    def known(match: re.Match[str]) -> str:
        word = match.group(1) or match.group(2)
        if word not in os.environ:
            raise ValueError(f"--header {name.strip()} needs the environment variable {word}, which is not set.")
        return os.environ[word]

    return name.strip(), _VARIABLE.sub(known, value.strip())
