"""What `recover` and `fit` share: places for results, files, tables, exit codes."""

from __future__ import annotations

import contextlib
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..certificate import lines
from ..files import read_json, same_file
from .console import NOT_CERTIFIED, NOTHING_WRITTEN, as_options, show_json, show_table, with_note

if TYPE_CHECKING:
    from ..recovery import Recovery

Report = Annotated[Path | None, typer.Option("--report", help="Write a report to this .html file.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the algorithm.")]
Activation = Annotated[str, typer.Option("--activation", help="tanh, erf, relu, ...")]


def require_report(path: Path | None) -> None:
    """Refuse, before any work, a report that could not be made or written in the end."""
    require_place(path, (".html",))
    if path is None:
        return
    from ..runtime import load_extra

    for package in ("jinja2", "matplotlib"):
        load_extra(package, "report")


def require_place(path: Path | None, suffixes: Iterable[str]) -> None:
    """Refuse, before any work, a file that could not be written in the end."""
    if path is None:
        return
    if path.suffix not in suffixes:
        raise ValueError(f"{path} must end in {' or '.join(suffixes)}.")
    folder = path.parent
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder} for {path.name}.")
    try:
        tempfile.TemporaryFile(dir=folder).close()  # permissions alone do not tell
    except OSError:
        raise PermissionError(f"{path} cannot be written: the folder takes no files.") from None
    if path.is_dir():
        raise IsADirectoryError(f"{path} cannot be written: it is a folder.")


def require_distinct(outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | None]) -> None:
    """Refuse, before any work, to write two files to one place, or one over what is read."""
    names = [*outputs, *inputs]
    for i, one in enumerate(outputs):
        for other in names[i + 1 :]:
            paths = outputs[one], {**inputs, **outputs}[other]
            if paths[0] is not None and paths[1] is not None and same_file(paths[0], paths[1]):
                raise ValueError(f"{one} and {other} must be different files, but both are {paths[0]}.")


def require_folder(path: Path) -> None:
    """Make a folder, or refuse it before any work."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"{path} must be a folder, but a file is in the way.") from None


@contextlib.contextmanager
def no_warning() -> Iterator[None]:
    """Keep warnings that repeat the verdict off the screen: the verdict is printed anyway."""
    from ..errors import LowSupportWarning, SlowFitWarning, UncertifiedWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowFitWarning)  # told by the progress report
        warnings.simplefilter("ignore", UncertifiedWarning)
        warnings.simplefilter("ignore", LowSupportWarning)
        yield


def finish(
    found: Recovery,
    *,
    out: Path,
    report: Path | None,
    as_json: bool,
    notes: Mapping[str, Any],
    settings: Mapping[str, Any],
    names: list[str] | None = None,
    data: Any = None,
) -> None:
    """Write the files, print what was found, and leave with the exit code that says whether it is certified."""
    from ..show.report import facts_of

    # Checks advise what the command line can be given.
    judged = found.judgement
    checks = (replace(check, says=as_options(check.says), advice=as_options(check.advice)) for check in judged.checks)
    found = replace(found, judgement=replace(judged, checks=tuple(checks)))
    told, written = {**facts_of(found, names), **notes}, list[str]()
    with with_note(lambda: f"{', '.join(written)} is complete" if written else NOTHING_WRITTEN):
        if report is not None:  # first: if it fails, nothing is left behind
            found.to_html(report, feature_names=names, data=data, settings=settings)
            written.append(str(report))
        _write(out, found, told)
    files = [str(out), *written]
    if as_json:
        show_json({**told, "files": files})
    else:
        typer.echo(found.verdict)
        show_table(*_unit_rows(found))
        typer.echo(_beside_units(found))
        if found.up_to_scale:
            typer.echo(found.told_of_scale)
        for line in _fit_lines(found, names):
            typer.echo(line)
        for line in lines(found.checks):
            typer.echo(line)
        typer.echo("Written: " + ", ".join(files))
    if not found.certified:
        raise typer.Exit(NOT_CERTIFIED)


def _fit_lines(found: Recovery, names: list[str] | None) -> list[str]:
    """Return what a statistician asks of a fit to a table, as lines."""
    if found.fit is None:
        return []
    from ..table import facts

    told = ", ".join(
        f"{name} {v:.6g}" if isinstance(v, float) else f"{name} {v}" for name, v in facts(found.fit).items()
    )
    return [told, *found.coefficients(names).lines(), *(f"Note: {note}." for note in found.diagnostics["notes"])]


def _write(path: Path, found: Recovery, told: Mapping[str, Any]) -> None:
    """Save what was found, all layers and outputs; a .json file keeps verdict, errors and notes beside it."""
    network = found.network
    if path.suffix == ".onnx":
        network.to_onnx(path)
        return
    single = len(network.widths) == network.n_outputs == 1 and network.classes is None
    model = found.model if single else network
    model.save(path, told)


def read_notes(path: Path) -> dict[str, Any]:
    """Return what a .json model file carries beside the model."""
    if path.suffix != ".json":
        return {}
    held = read_json(path)
    notes: dict[str, Any] = {name: held[name] for name in _NOTES if name in held}
    for name, good in _NOTES.items():
        if name in notes and not good(notes[name]):
            raise ValueError(f"{path} is damaged: what it holds as {name} cannot be that.")
    return notes


def _all_distinct(value: Any) -> bool:
    """Return whether a value is a list of different words."""
    return (
        isinstance(value, list) and all(isinstance(word, str) for word in value) and len(set(value)) == len(value) > 0
    )


def _is_columns(value: Any) -> bool:
    """Return whether a value says how columns became inputs."""
    if (
        not isinstance(value, dict)
        or set(value) != {"columns", "levels", "fill"}
        or not _all_distinct(value["columns"])
    ):
        return False
    levels, fill = value["levels"], value["fill"]
    if not (isinstance(levels, dict) and isinstance(fill, dict) and {*levels, *fill} <= set(value["columns"])):
        return False
    return all(_all_distinct(v) for v in levels.values()) and all(isinstance(v, float) for v in fill.values())


_NOTES: dict[str, Callable[[Any], bool]] = {
    "columns": _all_distinct,
    "target": lambda value: isinstance(value, str),
    "classes": lambda value: _all_distinct(value) and len(value) == 2,
    "link": lambda value: value in ("identity", "logit"),
    "na": lambda value: value in ("error", "drop", "mean"),
    "coding": _is_columns,
    "outputs": lambda value: isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value),
}


def _unit_rows(found: Recovery) -> tuple[list[str], list[list[Any]]]:
    import numpy as np

    if found.deep is not None:
        sizes = [(len(b), W.shape[1], float(np.linalg.norm(W, axis=1).max())) for W, b in found.deep.layers]
        rows = [[i + 1, *size] for i, size in enumerate(sizes)]
        return ["layer", "units", "inputs", "longest row"], rows
    model, errors = found.model, found.standard_errors
    columns = ["unit"]
    parts: list[Any] = [range(1, model.n_units + 1)]
    for name in ("weights", "slopes", "offsets"):
        columns.append(name.removesuffix("s"))
        parts.append(getattr(model, name).tolist())
        if name in errors and np.shape(errors[name]) == (model.n_units,):
            columns.append("+-")
            parts.append(np.asarray(errors[name]).tolist())
    columns.append("direction")
    parts.append([_first_numbers(unit) for unit in model.units])
    return columns, [list(row) for row in zip(*parts)]


def _beside_units(found: Recovery) -> str:
    """Return a line with the intercept, and the linear term where there is one."""
    import numpy as np

    if found.deep is not None:
        return f"{found.deep.n_parameters} parameters"
    model, error = found.model, found.standard_errors.get("intercept")
    unfitted = found.fit is not None and not found.fit.family.intercept
    line = "intercept not fitted" if unfitted else f"intercept {model.intercept:.4g}"
    if error is not None and np.isfinite(error).all():
        line += f" +- {float(error[0]):.2g}"
    return f"{line}, linear term {_first_numbers(model.linear)}" if model.linear.any() else line


def _first_numbers(vector: Any) -> str:
    more = ", ..." if len(vector) > 5 else ""
    return "[" + ", ".join(f"{round(v, 3) + 0.0:.3f}" for v in vector[:5]) + more + "]"
