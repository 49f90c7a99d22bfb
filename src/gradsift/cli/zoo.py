"""``gradsift zoo``: networks that others released, opened one after another."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .show import AsJson, keeping, print_json, print_table

__all__ = ["zoo"]

_COLUMNS = ("family", "certified", "units", "unknowns", "queries per unknown", "worst error", "seconds")


def zoo(
    families: Annotated[list[str] | None, typer.Argument(help="Families to open; none opens all.")] = None,
    share: Annotated[float, typer.Option(help="Share of each family, evenly taken; at least one network.")] = 1.0,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    kept: Annotated[
        Path | None, typer.Option(help="File that keeps a line for each network; those in it are skipped.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Open networks that others trained and released; from a checkout, whose benchmarks/zoo fetches them with pip.

    Example: gradsift zoo leaves --share 0.2
    """
    from ..checking import at_least

    at_least("--jobs", jobs, 1)
    if not 0 < share <= 1:
        raise ValueError(f"--share must lie in (0, 1], got {share!r}.")
    runner = _runner()
    names = families or list(runner.FAMILIES)
    if unknown := sorted(set(names) - set(runner.FAMILIES)):
        raise ValueError(f"The zoo has the families {', '.join(runner.FAMILIES)}; got {', '.join(unknown)}.")
    records = []
    with keeping(lambda: f"{kept} holds what was opened" if kept else "nothing was kept (--kept FILE would)"):
        for record in runner.run(names, share, jobs, kept):
            records.append(record)
            typer.echo(_line(record), err=True)
    rows = runner.table(records)
    if as_json:
        print_json({"rows": rows, "missing": {r["family"]: r["missing"] for r in records if "missing" in r}})
    else:
        _show(rows)
    if any(row["certified but wrong"] for row in rows):
        raise typer.Exit(1)


def _runner() -> Any:
    """Return the module that opens the zoo, from the checkout that this package runs from."""
    folder = Path(__file__).resolve().parents[3] / "benchmarks"
    if not (folder / "zoo").is_dir():
        raise ValueError("gradsift zoo runs from a checkout: its readers are in benchmarks/zoo of the repository.")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return importlib.import_module("zoo_run")


def _line(record: dict[str, Any]) -> str:
    if "missing" in record:
        return f"{record['family']}: left out; {record['missing']}"
    how = "certified" if record["certified"] else "not certified: " + record["cause"]
    return f"{record['family']} {record['name']}: {record['queries']} queries, {record['seconds']:.1f} s, {how}"


def _show(rows: list[dict[str, Any]]) -> None:
    cells = []
    for row in rows:
        certified = f"{row['certified']} of {row['networks']}"
        measured = ("-" if row[name] is None else float(row[name]) for name in ("queries per unknown", "worst error"))
        cells.append((row["family"], certified, row["hidden units"], row["unknowns"], *measured, row["seconds"]))
    print_table(_COLUMNS, cells, title="Networks that others released or trained")
    for row in rows:
        for cause, count in row["refusals"].items():
            typer.echo(f"- {row['family']}, {count} of {row['networks']} not certified: {cause}")
    wrong = sum(row["certified but wrong"] for row in rows)
    typer.echo(f"{sum(row['networks'] for row in rows)} networks, {wrong} certified but wrong.")
