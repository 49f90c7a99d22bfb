"""``gradsift recover``: the units inside a black box."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .results import Activation, Report, Seed, finish, require_place, require_report, verdict_speaks
from .show import AsJson

__all__ = ["recover"]


def recover(
    oracle: Annotated[str, typer.Option(help="module:function, model.onnx, model.joblib, address or answers.csv.")],
    out: Annotated[Path, typer.Option(help="Model file, .json or .npz.")],
    features: Annotated[int | None, typer.Option(help="Number of inputs, where it cannot be told.")] = None,
    report: Report = None,
    units: Annotated[int | None, typer.Option(help="Number of units, if known.")] = None,
    budget: Annotated[int | None, typer.Option(help="Most queries to ask.")] = None,
    journal: Annotated[Path | None, typer.Option(help="Keep answers here; run again to resume.")] = None,
    bounds: Annotated[str | None, typer.Option(help="LO,HI: the box that inputs must stay in.")] = None,
    noise: Annotated[str, typer.Option(help="auto, labels, or the answers' standard deviation.")] = "auto",
    activation: Activation = "tanh",
    method: Annotated[str, typer.Option(help="auto, or paper for the published algorithm.")] = "auto",
    seed: Seed = 0,
    trust: Annotated[bool, typer.Option("--trust", help="Allow a .joblib file: loading it runs its code.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find the hidden units of a black box. Exit code 0: certified; 3: not certified; 2: bad input.

    Example: gradsift recover --oracle box:f --features 3 --out found.json --report found.html
    """
    require_place(out, (".json", ".npz"))
    require_report(report)
    given: dict[str, Any] = {"bounds": _bounds(bounds), "noise": _noise(noise), "max_queries": budget}
    if journal is not None:
        require_place(journal, (journal.suffix,))
        given["journal"] = str(journal)
    if oracle.endswith(".joblib") and not trust:
        raise ValueError(f"Loading {oracle} runs code stored in it: pass --trust if you trust where it comes from.")
    from .. import recovery
    from ..oracle.spec import from_spec

    wrapped = from_spec(oracle, features, trust, **{name: value for name, value in given.items() if value is not None})
    with wrapped as box, verdict_speaks():
        found = recovery.recover(box, units, method=method, activation=activation, random_state=seed, progress=True)
    settings = {"command": "recover", "oracle": oracle, "features": box.n_features, "units": units, "budget": budget}
    settings |= {"bounds": bounds, "noise": noise, "activation": activation, "method": method, "seed": seed}
    finish(found, out=out, report=report, as_json=as_json, notes={}, settings=settings)


def _bounds(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"--bounds must be two numbers LO,HI, got {text!r}.") from None
    return low, high


def _noise(text: str) -> float | str | None:
    if text in ("auto", "labels"):
        return None if text == "auto" else text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--noise must be auto, labels or a number, got {text!r}.") from None
