"""``gradsift demo`` and ``gradsift figures``: a first look at the paper's method and ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .console import NOTHING_WRITTEN, AsJson, keeping, print_json, print_table
from .results import require_folder

if TYPE_CHECKING:
    from ..recovery import Recovery
    from .five_ways import DemoRow

Out = Annotated[Path, typer.Option("--out", help="Folder for the figures.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of model, data and algorithm (separate streams).")]


def demo(out: Out = Path("demo"), seed: Seed = 1, as_json: AsJson = False) -> None:
    """Recover a simulated model by the paper's method and by the default ones; draw the paper's figures.

    Example: gradsift demo --out demo
    """
    from ..paper.figures import draw_all
    from ..progress import reporting
    from .five_ways import N_UNITS, compare

    require_folder(out)
    with reporting(True):
        rows = list(compare(seed))
    if not as_json:
        columns = ("method", "units matched", "largest angle (deg)", "used", "", "seconds")
        cells = [(r.method, f"{r.n_matched} of {N_UNITS}", r.angle, r.n_used, r.used, r.seconds) for r in rows]
        print_table(columns, cells, title="Two hidden units in dimension ten")
        for row in rows:
            typer.echo(f"- {row.method}: {row.verdict}")
    with reporting(True), keeping(lambda: _kept(out)):
        paths = draw_all(out, seed)
        report_path = out / "report.html"
        _black_box(rows).to_html(report_path, settings={"command": "demo", "seed": seed})
    if as_json:
        told = [{name: value for name, value in vars(row).items() if name != "found"} for row in rows]
        print_json({"rows": told, "files": [str(p) for p in (*paths, report_path)]})
    else:
        typer.echo("Figures: " + ", ".join(str(p) for p in paths if p.suffix == ".png"))
        typer.echo(f"Report of the black box: {report_path}")


def _black_box(rows: list[DemoRow]) -> Recovery:
    """Return the run of the demo that comes with a certificate."""
    return next(row.found for row in rows if row.found.certified and row.found.n_queries)


def _kept(out: Path) -> str:
    done = sorted(path.name for path in out.glob("*.*") if not path.name.startswith("."))
    return f"{out} holds {', '.join(done)}" if done else NOTHING_WRITTEN


def figures(out: Out = Path("figures"), seed: Seed = 1, as_json: AsJson = False) -> None:
    """Redraw the paper's two figures as PNG and SVG, with measured captions.

    Example: gradsift figures --out figures
    """
    from ..paper.figures import draw_all
    from ..progress import reporting

    require_folder(out)
    with reporting(True), keeping(lambda: _kept(out)):
        paths = draw_all(out, seed)
    if as_json:
        print_json([str(p) for p in paths])
    else:
        typer.echo("\n".join(str(p) for p in paths))
