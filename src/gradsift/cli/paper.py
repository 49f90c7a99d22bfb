"""``gradsift paper``: what the paper says, where it is wrong, and which code and tests carry it."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

__all__ = ["paper"]


def paper(
    label: Annotated[
        str | None, typer.Argument(help="LaTeX label of a statement, such as gamma; none lists them all.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Look a statement of the paper up. Examples: gradsift paper, gradsift paper gamma"""
    if label is None:
        _list(as_json)
    else:
        _show(label, as_json)


def _entry(label: str) -> dict[str, Any]:
    from ..paper import carriers, errata_tests, statement, tests, tests_folder

    s = statement(label)
    errata = [
        {"name": e.name, "printed": e.printed, "right": e.right, "form": e.form, "tests": errata_tests(label, e.name)}
        for e in s.errata
    ]
    entry: dict[str, Any] = {"label": label, "kind": s.kind, "place": s.place, "says": s.says, "errata": errata}
    entry["functions"] = carriers(label)
    entry["tests"] = tests(label) if tests_folder() else None
    return entry


def _list(as_json: bool) -> None:
    from ..paper import labels, statement

    if as_json:
        typer.echo(json.dumps([_entry(label) for label in labels()], indent=1))
        return
    for label in labels():
        s = statement(label)
        flag = "*" if s.errata else " "
        typer.echo(f"{flag} {label:25} {s.kind:10} {s.place}")
    typer.echo("\n* has an erratum. 'gradsift paper LABEL' shows one statement.")


def _show(label: str, as_json: bool) -> None:
    entry = _entry(label)
    if as_json:
        typer.echo(json.dumps(entry, indent=1))
        return
    typer.echo(f"{label} ({entry['kind']}, {entry['place']})\n  {entry['says']}")
    for erratum in entry["errata"]:
        typer.echo(f"erratum: {erratum['name']}\n  printed: {erratum['printed']}\n  right:   {erratum['right']}")
    typer.echo("functions")
    for name in entry["functions"]:
        typer.echo(f"  {name}")
    typer.echo("tests")
    for name in entry["tests"] if entry["tests"] is not None else ["tests/ of the source repository"]:
        typer.echo(f"  {name}")
