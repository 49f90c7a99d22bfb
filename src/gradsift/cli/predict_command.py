"""``gradsift predict``: a saved model applied to a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from .console import AsJson, print_json
from .results import read_notes, require_distinct, require_place


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
    loaded = _loaded(model)
    X = _inputs(data, loaded.notes, loaded.n_features)
    columns = _columns(loaded, X)
    _require_numbers(columns)
    write_table(out, columns)
    if as_json:
        print_json({"rows": len(X), "file": str(out)})
    else:
        typer.echo(f"{len(X):,} predictions written to {out}")


class _Loaded(NamedTuple):
    """A model file: what gives (n,) values at (n, d) rows, or (n, m) of several outputs, and what is noted beside."""

    n_features: int
    predict: Callable[[Any], Any]
    notes: dict[str, Any]


def _loaded(path: Path) -> _Loaded:
    """Return the model in a file of any kind that ``recover`` or ``fit`` writes."""
    if path.suffix == ".onnx":
        from ..oracle import from_onnx

        box = from_onnx(path, link=None)
        return _Loaded(box.n_features, box, {})
    from ..network import Network, load_model

    model = load_model(path)
    notes = read_notes(path)
    if "outputs" in notes and not isinstance(model, Network):  # as 0.2 wrote several outputs: beside a mixture of them
        model = Network.of([_for_output(model, output) for output in notes["outputs"]])
    return _Loaded(model.n_features, model.predict, notes)


def _inputs(data: Path, notes: dict[str, Any], n_features: int) -> Any:
    """Return the model's columns by name; a model without names takes all columns in their order."""
    from .categories import Coding, load_coded
    from .tables import column_names, read_numbers

    if "coding" in notes:
        held = notes["coding"]
        return load_coded(data, Coding(tuple(held["columns"]), held["levels"], held["fill"]))
    names = notes.get("columns")
    if names is None:
        names = column_names(data)
        if len(names) != n_features:
            raise ValueError(f"{data} has {len(names)} columns, but the model has {n_features} inputs without names.")
    return read_numbers(data, names)


def _require_numbers(columns: dict[str, Any]) -> None:
    import numpy as np

    for values in columns.values():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values))) + 1
            raise ValueError(f"The model's value leaves double precision at data row {row}: its numbers are too large.")


def _columns(model: _Loaded, X: Any) -> dict[str, Any]:
    """Return the columns to write: numbers, one per output where there are several, or classes with probabilities."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):  # looked at afterwards
        values = model.predict(X)
    if values.ndim > 1:
        return {f"prediction_{i + 1}": column for i, column in enumerate(values.T)}
    if "classes" not in model.notes:
        return {"prediction": values}
    second = np.clip(0.5 * (1 + values), 0.0, 1.0)
    classes = np.asarray(model.notes["classes"])
    return {"prediction": classes[(second > 0.5).astype(int)], "probability": second}


def _for_output(model: Any, output: dict[str, Any]) -> Any:
    """Return the model of one output: the same units with that output's weights and intercept."""
    try:
        weights, intercept, linear = output["weights"], output["intercept"], output.get("linear", 0.0)
        return type(model)(model.units, weights, model.slopes, model.offsets, intercept, model.activation, linear)
    except (KeyError, TypeError, ValueError) as problem:
        raise ValueError(f"An output of the model is damaged: {type(problem).__name__} ({problem}).") from None
