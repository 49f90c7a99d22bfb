"""``gradsift demo`` and ``gradsift figures``: a first look at the paper's method and ours."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import NOTHING_WRITTEN, AsJson, show_json, show_table, with_note
from .results import require_folder

if TYPE_CHECKING:
    from ..model import SigmoidCombination
    from ..recovery import Recovery

N_UNITS = 2
MATCHED = 30.0  # a unit counts as matched within this angle, in degrees

Out = Annotated[Path, typer.Option("--out", help="Folder for the figures.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of model, data and algorithm (separate streams).")]


@dataclass(frozen=True)
class RunRow:
    """One way of recovering the demo's model.

    Attributes
    ----------
    method : str
    n_matched : int
        Units within 30 degrees of a true one.
    angle : float
        Largest angle between a found and a true unit, in degrees.
    n_used : int
        Queries asked or rows read.
    used : {"queries", "rows"}
    seconds : float
    verdict : str
    found : Recovery
    """

    method: str
    n_matched: int
    angle: float
    n_used: int
    used: str
    seconds: float
    verdict: str
    found: Recovery


def compare(seed: int = 1, n_rows: int = 1_000_000) -> Iterator[RunRow]:
    """Recover the model by the paper's method under its three access models, then by ours, one row at a time.

    Two units in dimension ten, a mixture with equal weights as in the paper's figures. The paper's rows are the literal
    algorithm at its defaults, without any filter of ours.
    """
    import numpy as np

    from ..oracle import Oracle
    from ..recovery import recover
    from ..simulate import random_combination

    model = random_combination(
        10, N_UNITS, slope=4.0, min_singular_value=1.0, mixture=True, min_weight=1.0, rng=seed
    )  # fmt: skip
    # Separate streams: the truth must not leak into data or algorithm through a shared seed.
    rows = model.sample(n_rows, 0.1, rng=np.random.default_rng([seed, 1]))
    few = n_rows // 100
    stream = np.random.default_rng([seed, 2])

    def box() -> Oracle:
        return Oracle(model.predict, 10)

    def paper(source: Any, **how: Any) -> Recovery:
        return recover(source, N_UNITS, method="paper", random_state=stream, **how)

    yield _row("paper, value oracle", lambda: paper(box()), model, 0)
    yield _row("paper, Gaussian rows", lambda: paper(rows, access="gaussian"), model, n_rows)
    yield _row("paper, projected rows", lambda: paper(rows, access="projected"), model, n_rows)
    yield _row("auto, black box", lambda: recover(box(), random_state=stream), model, 0)
    yield _row("auto, a table", lambda: recover((rows[0][:few], rows[1][:few]), random_state=stream), model, few)


def _row(name: str, run: Callable[[], Recovery], model: SigmoidCombination, n_rows: int) -> RunRow:
    import numpy as np

    from ..errors import LowSupportWarning, UncertifiedWarning
    from ..geometry import match_units

    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)  # the table shows the verdict
        warnings.simplefilter("ignore", LowSupportWarning)
        found = run()
    angles = np.degrees(2 * np.arcsin(np.minimum(match_units(found.model.units, model.units).errors / 2, 1.0)))
    return RunRow(
        method=name,
        n_matched=int(np.sum(angles <= MATCHED)),
        angle=float(angles.max()),
        n_used=found.n_queries or n_rows,
        used="queries" if found.n_queries else "rows",
        seconds=time.perf_counter() - start,
        verdict=found.verdict,
        found=found,
    )


def demo(out: Out = Path("demo"), seed: Seed = 1, as_json: AsJson = False) -> None:
    """Recover a simulated model by the paper's method and by the default ones; draw the paper's figures.

    Example: gradsift demo --out demo
    """
    from ..paper.figures import draw_all
    from ..progress import reporting

    require_folder(out)
    with reporting(True):
        rows = list(compare(seed))
    if not as_json:
        columns = ("method", "units matched", "largest angle (deg)", "used", "", "seconds")
        cells = [(r.method, f"{r.n_matched} of {N_UNITS}", r.angle, r.n_used, r.used, r.seconds) for r in rows]
        show_table(columns, cells, title="Two hidden units in dimension ten")
        for row in rows:
            typer.echo(f"- {row.method}: {row.verdict}")
    certified = next(row.found for row in rows if row.found.certified and row.found.n_queries)
    with reporting(True), with_note(lambda: _left(out)):
        paths = draw_all(out, seed)
        report_path = out / "report.html"
        certified.to_html(report_path, settings={"command": "demo", "seed": seed})
    if as_json:
        told = [{name: value for name, value in vars(row).items() if name != "found"} for row in rows]
        show_json({"rows": told, "files": [str(p) for p in (*paths, report_path)]})
    else:
        typer.echo("Figures: " + ", ".join(str(p) for p in paths if p.suffix == ".png"))
        typer.echo(f"Report of the black box: {report_path}")


def _left(out: Path) -> str:
    done = sorted(path.name for path in out.glob("*.*") if not path.name.startswith("."))
    return f"{out} holds {', '.join(done)}" if done else NOTHING_WRITTEN


def figures(out: Out = Path("figures"), seed: Seed = 1, as_json: AsJson = False) -> None:
    """Redraw the paper's two figures as PNG and SVG, with measured captions.

    Example: gradsift figures --out figures
    """
    from ..paper.figures import draw_all
    from ..progress import reporting

    require_folder(out)
    with reporting(True), with_note(lambda: _left(out)):
        paths = draw_all(out, seed)
    if as_json:
        show_json([str(p) for p in paths])
    else:
        typer.echo("\n".join(str(p) for p in paths))
