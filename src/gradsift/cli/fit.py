"""``gradsift fit``: the units behind a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .results import Activation, Report, Seed, finish, require_distinct, require_place, require_report, verdict_speaks
from .show import AsJson

if TYPE_CHECKING:
    from ..sources import Source

__all__ = ["fit"]

_MOST_SHOWN = 20_000


def fit(
    data: Annotated[Path, typer.Argument(help="A .csv or .parquet file with column names.")],
    target: Annotated[str, typer.Option(help="Column to explain.")],
    out: Annotated[Path, typer.Option(help="Model file, .json.")],
    report: Report = None,
    units: Annotated[str, typer.Option(help="Number of units, or auto.")] = "auto",
    labels: Annotated[bool, typer.Option("--labels", help="The target holds two classes (numbers or words).")] = False,
    columns: Annotated[str | None, typer.Option(help="Inputs, as a,b,c; default: all but the target.")] = None,
    activation: Activation = "tanh",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Fit a sum of sigmoids to a table.

    Exit code 0: certified; 3: not certified; 2: bad input; 130: interrupted.

    Example: gradsift fit data.csv --target y --out model.json --report fit.html
    """
    require_place(out, (".json",))
    require_report(report)
    require_distinct({"--out": out, "--report": report}, {"the table": data})
    n_units = _number(units)
    from .. import recovery
    from .tables import column_names

    held = column_names(data)
    inputs = columns.split(",") if columns else [name for name in held if name != target]
    if target in inputs:
        raise ValueError(f"{target!r} is the target and cannot be an input too.")
    if not inputs:
        raise ValueError(f"{data} has no column beside the target {target!r}.")
    rows, classes = _rows(data, inputs, target, labels)
    with verdict_speaks():
        found = recovery.recover(rows, n_units, activation=activation, random_state=seed, progress=True)
    notes: dict[str, Any] = {"columns": inputs, "target": target, **({"classes": classes} if classes else {})}
    settings = {"command": "fit", "data": data.name, "rows": rows.n_rows, "target": target, "units": units}
    settings |= {"labels": labels, "activation": activation, "seed": seed}
    finish(
        found, out=out, report=report, as_json=as_json, notes=notes, settings=settings, names=inputs,
        data=_shown(rows) if report else None,
    )  # fmt: skip


def _number(units: str) -> int | None:
    if units == "auto":
        return None
    if not units.isdigit() or int(units) < 1:
        raise ValueError(f"--units must be auto or a number of at least 1, got {units!r}.")
    return int(units)


def _rows(data: Path, inputs: list[str], target: str, labels: bool) -> tuple[Source, list[str] | None]:
    """Return the rows, those of a parquet file unread, and the two classes behind labels."""
    from ..sources import as_source, parquet
    from .tables import read_numbers, read_words

    if labels:
        y, classes = _signs(read_words(data, target), target)
        return as_source((read_numbers(data, inputs), y)), classes
    if data.suffix == ".parquet":
        return parquet(data, target=target, features=inputs), None
    numbers = read_numbers(data, [*inputs, target])
    return as_source((numbers[:, :-1], numbers[:, -1])), None


def _shown(rows: Source) -> tuple[Any, Any]:
    """Return rows enough for the report's residuals."""
    import numpy as np

    some = rows.subsample(_MOST_SHOWN, np.random.default_rng(0))
    return some.X, some.y


def _signs(words: Any, target: str) -> tuple[Any, list[str]]:
    """Return the labels as -1 and +1, and the two words behind them."""
    import numpy as np

    classes = sorted(set(words.tolist()), key=_as_number_or_word)
    if len(classes) != 2:
        raise ValueError(f"--labels needs two classes in column {target!r}, got {len(classes)}.")
    return np.where(words == classes[1], 1.0, -1.0), classes


def _as_number_or_word(word: str) -> tuple[int, float, str]:
    try:
        return 0, float(word), word
    except ValueError:
        return 1, 0.0, word
