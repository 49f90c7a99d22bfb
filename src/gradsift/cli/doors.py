"""``gradsift bench``, ``zoo`` and ``playground``: doors to what lies beside the library."""

from __future__ import annotations

import importlib
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from .console import AsJson, show_json, show_table, with_note
from .results import no_warning, require_place

Seed = Annotated[int, typer.Option("--seed", help="First seed of models, data and algorithms.")]
Repeats = Annotated[int, typer.Option("--repeats", help="Draws of each size; a second or three each.")]
Share = Annotated[float, typer.Option(help="Share of each family, evenly taken; at least one network.")]
Kept = Annotated[
    Path | None, typer.Option(help="File that keeps a line for each network; those in it are skipped.")
]  # fmt: skip


def playground(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port on this machine; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
    out: Annotated[Path | None, typer.Option(help="Write the page to this .html file instead of serving it.")] = None,
) -> None:
    """Play with units, gradients and candidates in the plane; served to this machine only, until Ctrl-C.

    Example: gradsift playground
    """
    from ..show.playground import html, make_server

    if out is not None:
        from ..files import open_whole

        require_place(out, (".html",))
        with open_whole(out) as stream:
            stream.write(html())
        typer.echo(f"Written: {out}")
        return
    with make_server(port) as server:
        address = f"http://{server.server_address[0]!s}:{server.server_address[1]}/"
        typer.echo(f"Playground at {address} (Ctrl-C ends it)")
        if browser:
            import webbrowser

            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo("Closed.")


def _load_beside(name: str, command: str) -> Any:
    """Return a module of benchmarks/, from the checkout that this package runs from."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "benchmarks").is_dir():
        raise ValueError(f"gradsift {command} runs from a checkout: what it runs is in benchmarks/ of the repository.")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return importlib.import_module(f"benchmarks.{name}")


def bench(seed: Seed = 1, repeats: Repeats = 5, as_json: AsJson = False) -> None:
    """Measure gradsift here in half a minute: black boxes, and tables beside scikit-learn's network.

    Runs from a checkout, whose benchmarks/speed/quick.py it is.

    Example: gradsift bench --repeats 10
    """
    from ..arguments import at_least
    from ..progress import report, reporting

    at_least("--seed", seed, 0)
    at_least("--repeats", repeats, 1)
    quick, boxes, tables = _load_beside("speed.quick", "bench"), [], []
    with reporting(True), no_warning():
        for i, (more_boxes, more_tables) in enumerate(quick.measure(seed, repeats)):
            boxes += more_boxes
            tables += more_tables
            report("draws", i + 1, repeats)
    if as_json:
        show_json({"seed": seed, "boxes": [asdict(row) for row in boxes], "tables": [asdict(row) for row in tables]})
    else:
        for table in (quick.box_table(boxes), quick.fit_table(tables)):
            show_table(table.columns, table.rows, title=table.title)


def zoo(
    families: Annotated[list[str] | None, typer.Argument(help="Families to open; none opens all.")] = None,
    share: Share = 1.0,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    kept: Kept = None,
    as_json: AsJson = False,
) -> None:
    """Open networks that others trained and released; from a checkout, whose benchmarks/zoo fetches them with pip.

    Example: gradsift zoo leaves --share 0.2
    """
    from ..arguments import at_least

    at_least("--jobs", jobs, 1)
    if not 0 < share <= 1:
        raise ValueError(f"--share must lie in (0, 1], got {share!r}.")
    runner = _load_beside("zoo.zoo_run", "zoo")
    names = families or list(runner.FAMILIES)
    if unknown := sorted(set(names) - set(runner.FAMILIES)):
        raise ValueError(f"The zoo has the families {', '.join(runner.FAMILIES)}; got {', '.join(unknown)}.")
    records = []
    with with_note(lambda: f"{kept} holds what was opened" if kept else "nothing was kept (--kept FILE would)"):
        for record in runner.run(names, share, jobs, kept):
            records.append(record)
            typer.echo(runner.line(record), err=True)
    rows = runner.table(records)
    if as_json:
        show_json({"rows": rows, "missing": {r["family"]: r["missing"] for r in records if "missing" in r}})
    else:
        columns, cells = runner.cells(rows)
        show_table(columns, cells, title="Networks that others released or trained")
        typer.echo("\n".join(runner.refusals(rows)))
    if any(row["certified but wrong"] for row in rows):
        raise typer.Exit(1)
