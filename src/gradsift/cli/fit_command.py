"""``gradsift fit`` and ``gradsift predict``: the units behind a table, and a saved model applied to one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from .console import AsJson, as_options, show_json
from .results import (
    Activation,
    Report,
    Seed,
    finish,
    no_warning,
    read_notes,
    require_distinct,
    require_place,
    require_report,
)

if TYPE_CHECKING:
    from ..sources import Source
    from .tables import InputColumns


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
    link: Annotated[str | None, typer.Option(help="With --labels: identity (a mixture), logit or auto.")] = None,
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
    n_units, options = _options(units, labels, alpha, link)
    from .. import recovery
    from .tables import column_names

    held = column_names(data)
    inputs = columns.split(",") if columns else [name for name in held if name != target]
    if target in inputs:
        raise ValueError(f"{target!r} is the target and cannot be an input too.")
    if not inputs:
        raise ValueError(f"{data} has no column beside the target {target!r}.")
    rows, classes, coding, told = _rows(data, inputs, target, labels, na)
    with no_warning():
        found = recovery.recover(rows, n_units, activation=activation, random_state=seed, progress=True, **options)
    found = found.with_note(notes=[*map(as_options, found.diagnostics["notes"]), *told])
    notes: dict[str, Any] = {"columns": inputs, "target": target, **({"na": na} if na == "drop" else {})}
    if classes and found.fit is not None:
        notes |= {"classes": classes, "link": found.fit.family.link}
    if coding is not None and (coding.levels or coding.fill or na == "drop"):
        notes["coding"] = coding.as_dict()
        inputs = coding.inputs
    settings = {"command": "fit", "data": data.name, "rows": rows.n_rows, "target": target, "units": units}
    settings |= {"labels": labels, "activation": activation, "seed": seed, "na": na, "alpha": alpha, "link": link}
    some = None
    if report:
        import numpy as np

        drawn = rows.sample(_MOST_SHOWN, np.random.default_rng(0))  # enough for the residuals
        some = drawn.X, drawn.y
    finish(
        found, out=out, report=report, as_json=as_json, notes=notes, settings=settings, names=inputs, data=some
    )  # fmt: skip


def _options(units: str, labels: bool, alpha: str, link: str | None) -> tuple[int | None, dict[str, Any]]:
    """Return the number of units, and the options of ``recover`` for a table."""
    if link is not None and not labels:
        raise ValueError(f"--link {link} is for classes: use it with --labels.")
    if units != "auto" and not (units.isdigit() and int(units) >= 1):
        raise ValueError(f"--units must be auto or a number of at least 1, got {units!r}.")
    try:
        options: dict[str, Any] = {"alpha": alpha if alpha == "auto" else float(alpha)}
    except ValueError:
        raise ValueError(f"--alpha must be auto or a number of at least 0, got {alpha!r}.") from None
    if labels:
        options |= {"labels": True, "link": link or "identity"}
    if link in ("logit", "auto"):
        options["intercept"] = "auto"  # odds need a constant, a mixture has none
    return None if units == "auto" else int(units), options


def _rows(
    data: Path, inputs: list[str], target: str, labels: bool, na: str
) -> tuple[Source, list[str] | None, InputColumns | None, list[str]]:
    """Return the rows (those of a parquet file of numbers unread), the classes behind labels, how words were coded,
    and that in words."""
    from ..sources import as_source, parquet
    from .tables import load, text_columns

    if data.suffix == ".parquet" and not labels and na == "error" and not text_columns(data, inputs):
        return parquet(data, target=target, features=inputs), None, None, []
    loaded = load(data, inputs, target, words=labels, na=na)
    told = loaded.coding.notes(loaded.n_dropped)
    if labels:
        y, classes = _signs(loaded.y, target)
        told.append(f"the fit is of the chance that {target!r} is {classes[1]!r}, not {classes[0]!r}")
        return as_source((loaded.X, y)), classes, loaded.coding, told
    return as_source((loaded.X, loaded.y)), None, loaded.coding, told


def _signs(words: Any, target: str) -> tuple[Any, list[str]]:
    """Return the labels as -1 and +1, and the two words behind them."""
    import numpy as np

    from .tables import as_number

    # Numbers by size, then words by the alphabet.
    classes = sorted(set(words.tolist()), key=lambda word: (as_number(word) is None, as_number(word) or 0.0, word))
    if len(classes) != 2:
        raise ValueError(f"--labels needs two classes in column {target!r}, got {len(classes)}.")
    return np.where(words == classes[1], 1.0, -1.0), classes


def predict(
    model: Annotated[Path, typer.Argument(help="A file written by fit or recover.")],
    data: Annotated[Path, typer.Argument(help="A .csv, .tsv, .csv.gz or .parquet file with the model's columns.")],
    out: Annotated[Path, typer.Option(help="Predictions, .csv or .parquet.")],
    as_json: AsJson = False,
) -> None:
    """Apply a saved model to the rows of a table.

    Example: gradsift predict model.json data.csv --out predictions.csv
    """
    from .tables import SUFFIXES, write_table

    require_place(out, SUFFIXES)
    require_distinct({"--out": out}, {"the table": data, "the model": model})
    if not model.is_file():
        raise FileNotFoundError(f"There is no file {model}.")
    loaded = _read_model(model)
    X = _inputs(data, loaded.notes, loaded.n_features)
    write_table(out, _columns(loaded, X))
    if as_json:
        show_json({"rows": len(X), "file": str(out)})
    else:
        typer.echo(f"{len(X):,} predictions written to {out}")


class _ModelFile(NamedTuple):
    """A model file: what gives (n,) values at (n, d) rows, or (n, m) of several outputs, and what is noted beside."""

    n_features: int
    predict: Callable[[Any], Any]
    notes: dict[str, Any]


def _read_model(path: Path) -> _ModelFile:
    """Return the model in a file of any kind that ``recover`` or ``fit`` writes."""
    if path.suffix == ".onnx":
        from ..oracle import from_onnx

        box = from_onnx(path, link=None)
        return _ModelFile(box.n_features, box, {})
    from ..network import Network, load_model

    model = load_model(path)
    notes = read_notes(path)
    if "outputs" in notes and not isinstance(model, Network):  # as 0.2 wrote several outputs: beside a mixture of them
        model = Network.of([_for_output(model, output) for output in notes["outputs"]])
    decides = isinstance(model, Network) and model.classes is not None
    return _ModelFile(model.n_features, model.decide if decides else model.predict, notes)  # type: ignore[union-attr]


def _inputs(data: Path, notes: dict[str, Any], n_features: int) -> Any:
    """Return the model's columns by name; a model without names takes all columns in their order."""
    from .tables import InputColumns, column_names, inputs_of, read_numbers

    if "coding" in notes:
        held = notes["coding"]
        coding = InputColumns(tuple(held["columns"]), held["levels"], held["fill"])
        return inputs_of(data, coding, gaps=notes.get("na") == "drop")
    names = notes.get("columns")
    if names is None:
        names = column_names(data)
        if len(names) != n_features:
            raise ValueError(f"{data} has {len(names)} columns, but the model has {n_features} inputs without names.")
    return read_numbers(data, names)


def _columns(model: _ModelFile, X: Any) -> dict[str, Any]:
    """Return the columns to write: numbers, one per output where there are several, or classes with probabilities; None
    in rows of X, (n, d), that have gaps."""
    import numpy as np

    known = np.isfinite(X).all(axis=1)  # a row with a gap has no prediction
    with np.errstate(over="ignore", invalid="ignore"):  # looked at afterwards
        values = np.asarray(model.predict(np.where(known[:, None], X, 0.0)))
    if values.dtype.kind != "f":  # classes
        return {"prediction": _with_empty(values, known)}
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values.reshape(len(X), -1)).all(axis=1))) + 1
        raise ValueError(f"The model's value leaves double precision at data row {row}: its numbers are too large.")
    if values.ndim > 1:
        return {f"prediction_{i + 1}": _with_empty(column, known) for i, column in enumerate(values.T)}
    if "classes" not in model.notes:
        return {"prediction": _with_empty(values, known)}
    means = np.tanh(values / 2) if model.notes.get("link") == "logit" else values  # log-odds
    second = np.clip(0.5 * (1 + means), 0.0, 1.0)
    classes = np.asarray(model.notes["classes"])
    return {
        "prediction": _with_empty(classes[(second > 0.5).astype(int)], known),
        "probability": _with_empty(second, known),
    }


def _with_empty(values: Any, known: Any) -> Any:
    """Return a column, (n,), as it is, or with None where nothing is known."""
    return values if known.all() else [value if there else None for value, there in zip(values.tolist(), known)]


def _for_output(model: Any, output: dict[str, Any]) -> Any:
    """Return the model of one output: the same units with that output's weights and intercept."""
    try:
        weights, intercept, linear = output["weights"], output["intercept"], output.get("linear", 0.0)
        return type(model)(model.units, weights, model.slopes, model.offsets, intercept, model.activation, linear)
    except (KeyError, TypeError, ValueError) as problem:
        raise ValueError(f"An output of the model is damaged: {type(problem).__name__} ({problem}).") from None
