"""``gradsift paper``: what the paper says, where it is wrong, and which code and tests carry it."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

__all__ = ["paper"]


def paper(
    label: Annotated[
        str | None,
        typer.Argument(help="LaTeX label of a statement, such as gamma; none lists them; verify checks them."),
    ] = None,
    printed: Annotated[
        bool, typer.Option("--printed", help="With verify: check the forms as printed, which must fail.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Look a statement of the paper up, or check them all.

    Examples: gradsift paper, gradsift paper gamma, gradsift paper verify
    """
    if printed and label != "verify":
        raise ValueError("--printed goes with verify: gradsift paper verify --printed.")
    if label == "verify":
        _verify(printed, as_json)
    elif label is None:
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


def _verify(printed: bool, as_json: bool) -> None:
    """Run every check; exit 1 if one fails."""
    from ..theory.verify import checks, printed_checks

    done = []
    for run in printed_checks() if printed else checks():
        check = run()
        done.append(check)
        if not as_json:
            typer.echo(_line(check))
    failed = sum(not check.holds for check in done)
    if as_json:
        typer.echo(json.dumps([_check_fields(check) for check in done], indent=1))
    else:
        typer.echo(f"{len(done) - failed} of {len(done)} hold.")
    if failed:
        raise typer.Exit(1)


def _number(log_value: float) -> str:
    import math

    return f"{math.exp(log_value):.4g}" if abs(log_value) < 500 or math.isinf(log_value) else f"e^{log_value:.6g}"


def _line(check: Any) -> str:
    import math

    room = "equal" if check.relation == "==" else f"slack x{_number(max(check.log_slack, -math.inf))}"
    mark = "ok   " if check.holds else "FAILS"
    return (
        f"{mark} {check.label:19} {check.claim}: measured {_number(check.log_measured)} {check.relation} "
        f"{_number(check.log_claimed)}, {room} ({check.n_cases} cases; {check.how})"
    )


def _check_fields(check: Any) -> dict[str, Any]:
    from dataclasses import asdict

    fields = asdict(check)
    return {
        name: str(v) if isinstance(v, float) and v in (float("inf"), -float("inf")) else v for name, v in fields.items()
    }
