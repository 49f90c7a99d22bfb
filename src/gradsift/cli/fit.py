"""``gradsift fit``: the units behind a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .results import Activation, Report, Seed, finish, require_place, verdict_speaks
from .show import AsJson

__all__ = ["fit"]


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
    """Fit a sum of sigmoids to a table. Exit code 0: certified; 3: not certified; 2: bad input.

    Example: gradsift fit data.csv --target y --out model.json --report fit.html
    """
    require_place(out, (".json",))
    require_place(report, (".html",))
    n_units = _number(units)
    from .. import recovery
    from .tables import column_names, read_numbers, read_words

    held = column_names(data)
    inputs = columns.split(",") if columns else [name for name in held if name != target]
    if target in inputs:
        raise ValueError(f"{target!r} is the target and cannot be an input too.")
    classes: list[str] | None = None
    if labels:
        y, classes = _signs(read_words(data, target), target)
    else:
        y = read_numbers(data, [target])[:, 0]
    if not inputs:
        raise ValueError(f"{data} has no column beside the target {target!r}.")
    X = read_numbers(data, inputs)
    with verdict_speaks():
        found = recovery.recover((X, y), n_units, activation=activation, random_state=seed, progress=True)
    notes: dict[str, Any] = {"columns": inputs, "target": target, **({"classes": classes} if classes else {})}
    settings = {"command": "fit", "data": data.name, "rows": len(y), "target": target, "units": units}
    settings |= {"labels": labels, "activation": activation, "seed": seed}
    finish(
        found, out=out, report=report, as_json=as_json, notes=notes, settings=settings, names=inputs, data=(X, y)
    )  # fmt: skip


def _number(units: str) -> int | None:
    if units == "auto":
        return None
    if not units.isdigit() or int(units) < 1:
        raise ValueError(f"--units must be auto or a number of at least 1, got {units!r}.")
    return int(units)


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
