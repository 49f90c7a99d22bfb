"""``gradsift fit``: the units behind a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import AsJson, in_flags
from .results import Activation, Report, Seed, finish, require_distinct, require_place, require_report, verdict_speaks

if TYPE_CHECKING:
    from ..sources import Source
    from .categories import Coding

_MOST_SHOWN = 20_000


def fit(
    data: Annotated[Path, typer.Argument(help="A .csv, .tsv, .csv.gz or .parquet file with column names.")],
    target: Annotated[str, typer.Option(help="Column to explain.")],
    out: Annotated[Path, typer.Option(help="Model file, .json.")],
    report: Report = None,
    units: Annotated[str, typer.Option(help="Number of units, or auto.")] = "auto",
    labels: Annotated[bool, typer.Option("--labels", help="The target holds two classes (numbers or words).")] = False,
    columns: Annotated[str | None, typer.Option(help="Inputs, as a,b,c; default: all but the target.")] = None,
    na: Annotated[str, typer.Option("--na", help="Missing values: error, drop (the row) or mean.")] = "error",
    alpha: Annotated[str, typer.Option(help="Ridge: a number, or auto (cross-validation).")] = "0",
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
    rows, classes, coding, told = _rows(data, inputs, target, labels, na)
    options: dict[str, Any] = {"alpha": _strength(alpha), **({"labels": True} if labels else {})}
    with verdict_speaks():
        found = recovery.recover(rows, n_units, activation=activation, random_state=seed, progress=True, **options)
    found = found.noting(notes=[*map(in_flags, found.diagnostics["notes"]), *told])
    notes: dict[str, Any] = {"columns": inputs, "target": target, **({"classes": classes} if classes else {})}
    if coding is not None and (coding.levels or coding.fill):
        notes["coding"] = coding.as_dict()
        inputs = coding.inputs
    settings = {"command": "fit", "data": data.name, "rows": rows.n_rows, "target": target, "units": units}
    settings |= {"labels": labels, "activation": activation, "seed": seed, "na": na, "alpha": alpha}
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


def _strength(alpha: str) -> float | str:
    try:
        return alpha if alpha == "auto" else float(alpha)
    except ValueError:
        raise ValueError(f"--alpha must be auto or a number of at least 0, got {alpha!r}.") from None


def _rows(
    data: Path, inputs: list[str], target: str, labels: bool, na: str
) -> tuple[Source, list[str] | None, Coding | None, list[str]]:
    """Return the rows (those of a parquet file of numbers unread), the classes behind labels, how words were coded,
    and that in words."""
    from ..sources import as_source, parquet
    from .categories import load
    from .tables import text_columns

    if data.suffix == ".parquet" and not labels and na == "error" and not text_columns(data, inputs):
        return parquet(data, target=target, features=inputs), None, None, []
    loaded = load(data, inputs, target, words=labels, na=na)
    told = loaded.coding.notes(loaded.n_dropped)
    if labels:
        y, classes = _signs(loaded.y, target)
        told.append(f"the fit is of the chance that {target!r} is {classes[1]!r}, not {classes[0]!r}")
        return as_source((loaded.X, y)), classes, loaded.coding, told
    return as_source((loaded.X, loaded.y)), None, loaded.coding, told


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
