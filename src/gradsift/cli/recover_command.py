"""``gradsift recover``: the units inside a black box, and how an address is asked."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..defaults import ANY_ACTIVATION, ANY_DEPTH, METHODS, N_VERIFY
from ..files import shown
from .console import NOTHING_WRITTEN, AsJson, show_json, with_note
from .results import Activation, Report, Seed, finish, no_warning, require_distinct, require_place, require_report

if TYPE_CHECKING:
    from ..oracle import Oracle

Headers = Annotated[
    list[str] | None, typer.Option("--header", metavar="<str>", help="Name: value; $WORD from the environment.")
]
Body = Annotated[str | None, typer.Option(help='JSON to post, with "{rows}", or a file.')]
Answer = Annotated[str | None, typer.Option(help="Place in replies, like outputs.0.data.")]
Rate = Annotated[float | None, typer.Option(help="Most requests per second.")]
Jobs = Annotated[int | None, typer.Option(help="Requests at the same time.")]
Batch = Annotated[int | None, typer.Option(help="Most rows per request.")]

_VARIABLE = re.compile(r"\$(\w+)|\$\{(\w+)\}")


def asked_how(
    spec: str, headers: list[str] | None, body: str | None, answer: str | None, rate: float | None
) -> dict[str, Any]:
    """Return the settings of an address, and refuse them for anything else."""
    given: dict[str, Any] = {
        "headers": dict(_header(text) for text in headers) if headers else None,
        "body": Path(body).read_text(encoding="utf-8") if body and _is_file(body) else body,
        "answer": answer,
        "per_second": rate,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if given and "://" not in spec:
        names = {"headers": "--header", "body": "--body", "answer": "--answer", "per_second": "--rate"}
        raise ValueError(f"{', '.join(names[name] for name in given)} only makes sense for an http(s) address.")
    return given


def _is_file(text: str) -> bool:
    return not text.lstrip().startswith(("{", "[")) and Path(text).is_file()


def _header(text: str) -> tuple[str, str]:
    """Return name and value of a header, with words of the environment put in; the value is never shown."""
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise ValueError('--header must be "Name: value", and one has no name or no colon.')

    def known(match: re.Match[str]) -> str:
        word = match.group(1) or match.group(2)
        if word not in os.environ:
            raise ValueError(f"--header {name.strip()} needs the environment variable {word}, which is not set.")
        return os.environ[word]

    return name.strip(), _VARIABLE.sub(known, value.strip())


def recover(
    oracle: Annotated[str, typer.Option(help="box:function, file or address.")],
    out: Annotated[Path, typer.Option(help="Model: .json, .npz or .onnx.")],
    features: Annotated[int | None, typer.Option(help="Number of inputs, if it must be said.")] = None,
    report: Report = None,
    units: Annotated[int | None, typer.Option(help="Number of units, if known.")] = None,
    max_queries: Annotated[int | None, typer.Option(help="Most queries to ask.")] = None,
    accuracy: Annotated[float | None, typer.Option(help="Direction error to stop at (radians).")] = None,
    journal: Annotated[Path | None, typer.Option(help="Keep answers here, to resume.")] = None,
    bounds: Annotated[str | None, typer.Option(help="LO,HI: inputs must stay in this box.")] = None,
    noise: Annotated[str, typer.Option(help="auto, labels or a number.")] = "auto",
    activation: Activation = ANY_ACTIVATION,
    layers: Annotated[str, typer.Option(help="Hidden: auto, 1, 2, ...")] = ANY_DEPTH,
    verify: Annotated[int, typer.Option(help="Fresh inputs to ask last.")] = N_VERIFY,
    link: Annotated[str | None, typer.Option(help="logistic, softmax, log_softmax, tanh.")] = None,
    output: Annotated[str | None, typer.Option(help="predict: ask a classifier for its class.")] = None,
    header: Headers = None,
    body: Body = None,
    answer: Answer = None,
    rate: Rate = None,
    jobs: Jobs = None,
    batch: Batch = None,
    method: Annotated[str, typer.Option(help=f"{' or '.join(METHODS)}.")] = METHODS[0],
    seed: Seed = 0,
    recheck: Annotated[int | None, typer.Option(help="Journal rows to ask again; 0: none.")] = None,
    trust: Annotated[bool, typer.Option("--trust", help="Allow a .joblib file to run its code.")] = False,
    as_json: AsJson = False,
    budget: Annotated[int | None, typer.Option(hidden=True)] = None,  # --max-queries as 0.2 called it
) -> None:
    """Find the hidden units of a black box.

    Exit code 0: certified; 3: not certified; 2: bad input; 130: interrupted.

    Example: gradsift recover --oracle box:f --features 3 --out found.json
    """
    require_place(out, (".json", ".npz", ".onnx"))
    if out.suffix == ".onnx":
        from ..runtime import load_extra

        load_extra("onnx", "onnx")
    require_report(report)
    source = Path(oracle) if "://" not in oracle and Path(oracle).is_file() else None
    require_distinct({"--out": out, "--report": report, "--journal": journal}, {"--oracle": source})
    max_queries = budget if max_queries is None else max_queries
    given: dict[str, Any] = {
        "bounds": _bounds(bounds),
        "noise": _noise(noise),
        "max_queries": max_queries,
        "recheck": recheck,
        "link": link,
        "output": output,
        "n_jobs": jobs,
        "batch_size": batch,
        **asked_how(oracle, header, body, answer, rate),
    }
    if journal is not None:
        require_place(journal, (journal.suffix,))
        given["journal"] = str(journal)
    if oracle.endswith(".joblib"):
        _warn_of_code(oracle, trust)
    from .. import recovery
    from ..oracle.spec import from_spec

    given = {name: value for name, value in given.items() if value is not None}
    if output is not None and ("://" in oracle or Path(oracle).suffix in (".csv", ".parquet", ".db")):
        raise ValueError("--output makes no sense there: what an address answers is named with --answer.")
    how: dict[str, Any] = {
        "method": method,
        "activation": activation,
        "layers": int(layers) if layers.isdecimal() else layers,
        "n_verify": verify,
        "random_state": seed,
        "progress": True,
    }
    if accuracy is not None:
        how["accuracy"] = accuracy
    with (
        _no_empty_journal(journal),
        from_spec(oracle, features, trust, **given) as box,
        no_warning(),
        with_note(lambda: _left(box)),
    ):
        try:
            found = recovery.recover(box, units, **how)
        except SystemExit as left:  # the box's code, which must not choose our exit code
            raise ValueError(f"{shown(oracle)} ended the program instead of answering (SystemExit: {left}).") from left
    settings = {
        "command": "recover",
        "oracle": shown(oracle),
        "features": box.n_features,
        "units": units,
        "max_queries": max_queries,
    }
    settings |= {
        "bounds": bounds,
        "noise": noise,
        "activation": activation,
        "layers": layers,
        "verify": verify,
        "link": link,
        "output": output,
        "method": method,
        "seed": seed,
    }
    notes = {"n_rechecked": box.n_rechecked} if box.n_rechecked else {}
    finish(found, out=out, report=report, as_json=as_json, notes=notes, settings=settings)


def _warn_of_code(path: str, trust: bool) -> None:
    """Say that a pickle is a program, and go on only where its owner was told so before."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    if not trust:
        raise ValueError(f"Loading {path} runs code stored in it: pass --trust if you trust where it comes from.")
    typer.echo(f"gradsift: warning: loading {path} runs the code stored in it, as --trust allows.", err=True)


@contextlib.contextmanager
def _no_empty_journal(path: Path | None) -> Iterator[None]:
    """Take a journal away again that this run made and never wrote an answer to."""
    if path is None or path.exists():
        yield
        return
    try:
        yield
    finally:
        if path.exists() and _n_recorded(path) == 0:
            path.unlink()


def _n_recorded(path: Path) -> int:
    from ..oracle import Journal

    journal = Journal(path)
    journal.open_to_read()
    try:
        return journal.n_recorded
    finally:
        journal.close()


def _left(box: Oracle) -> str:
    if box.journal is None:
        return f"{NOTHING_WRITTEN}, and {box.n_queries:,} answers are lost: --journal FILE would keep them"
    n = box.journal.n_recorded
    return f"{box.journal.path} keeps {n:,} answers: run the same command again to go on" if n else NOTHING_WRITTEN


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


def _widths(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--layers must be whole numbers between commas, got {text!r}.") from None


def forecast(
    features: Annotated[int, typer.Option(help="Number of inputs.")],
    units: Annotated[int | None, typer.Option(help="Number of hidden units; a guess will do.")] = None,
    answers: Annotated[str, typer.Option(help="exact, float32, noise, labels or decisions.")] = "exact",
    noise: Annotated[float | None, typer.Option(help="Standard deviation of the answers.")] = None,
    accuracy: Annotated[float | None, typer.Option(help="Direction error wanted under noise.")] = None,
    bounds: Annotated[str | None, typer.Option(help="LO,HI: the box that inputs must stay in.")] = None,
    outputs: Annotated[int, typer.Option(help="Number of outputs.")] = 1,
    layers: Annotated[str | None, typer.Option(help="Units of each hidden layer of ReLU, such as 20,10.")] = None,
    activation: Annotated[str | None, typer.Option(help="relu, or another one that grows.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say how many queries a black box will be asked.

    Example: gradsift forecast --features 20 --units 5 --answers float32
    """
    from ..forecasting import forecast as foretell

    widths = _widths(layers) if layers else 1
    told = foretell(features, units, answers, noise, accuracy, bounds, outputs, widths, activation)
    if as_json:
        show_json({"queries": told.queries, "low": told.low, "high": told.high})
    else:
        typer.echo(f"{told}.")
