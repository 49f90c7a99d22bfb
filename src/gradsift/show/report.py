"""One self-contained HTML file about a recovery: verdict, units, figures, doubts, and how to repeat it."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from ..arguments import Floats
from ..certificate import failed_first
from ..files import open_whole, shown
from ..runtime import load_extra
from .pictures import ReportFigure, report_figures, unit_view

if TYPE_CHECKING:
    from ..recovery import Recovery

_COORDINATES = 6  # of a direction, the largest or the first
_MOST_ROWS = 20  # of a table, or of a long list among the diagnostics


_TEMPLATES = ("report.html", "layers.html", "page.css", "page.js")


class ReportNote(NamedTuple):
    """One thing a run tells: level is "good", "note" or "doubt"; `do` says what to change ("" for nothing)."""

    level: str
    says: str
    do: str = ""


def report_notes(found: Recovery) -> list[ReportNote]:
    """Return the checks, those that fail first and with their advice; then notes on what the diagnostics hold."""
    facts = {**found.diagnostics, "units": None if found.deep is not None else found.model.units}
    notes = [note(facts[name]) for name, note in _REPORT_NOTES if facts.get(name) is not None]
    notes.append(found.told_of_scale)
    told = [
        ReportNote("good", check.sentence) if check.holds else ReportNote("doubt", check.sentence, check.advice)
        for check in failed_first(found.checks)
    ]
    unchecked = [] if told else [ReportNote("doubt", "Nothing was checked.")]
    return [*told, *unchecked, *(ReportNote("note", says) for says in notes if says)]


def _close_pair(units: Any) -> str:
    if len(units) < 2:
        return ""
    # A unit and its opposite are one direction, so each is compared with all units and all opposites. The nearest two
    # are the unit itself and, by distance rather than by cosine (which rounds small angles to zero), its neighbour.
    found: Any = cKDTree(np.concatenate([units, -units])).query(units, k=2)
    distances, nearest = found
    i = int(np.argmin(distances[:, 1]))
    j = next(int(other) for other in nearest[i] % len(units) if other != i)
    degrees = float(np.degrees(2 * np.arcsin(min(1.0, distances[i, 1] / 2))))
    return (
        f"The closest pair are units {min(i, j) + 1} and {max(i, j) + 1}, {degrees:.3g} degrees apart: the smaller "
        "the angle, the more do small errors move weight between them."
    )


_REPORT_NOTES: tuple[tuple[str, Callable[[Any], str]], ...] = (
    ("attempts", lambda n: f"It took {n} circles to see every unit: some units hide each other from one plane."
     if n > 1 else ""),
    ("units", _close_pair),
    ("notes", lambda notes: "On the way: " + "; ".join(map(str, notes)) + "." if notes else ""),
)  # fmt: skip


def write_report(
    found: Recovery,
    path: str | os.PathLike[str],
    *,
    feature_names: Sequence[str] | None = None,
    data: Any = None,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Write the page to `path`, all or nothing; see :func:`make_report`."""
    text = make_report(found, feature_names=feature_names, data=data, settings=settings)
    with open_whole(path) as stream:
        stream.write(text)


def make_report(
    found: Recovery,
    *,
    feature_names: Sequence[str] | None = None,
    data: Any = None,
    settings: Mapping[str, Any] | None = None,
) -> str:
    """Return the page: one HTML document that loads nothing from anywhere.

    Parameters
    ----------
    found : Recovery
    feature_names : d strings, optional
        Shown beside the directions; x1, x2, ... by default. They are escaped.
    data : (X, y), optional
        Rows of the fit: adds a residual or calibration plot.
    settings : dict, optional
        What the run was asked to do, for repeating it.
    """
    jinja2 = load_extra("jinja2", "report")
    d = found.model.n_features
    names = [f"x{i + 1}" for i in range(d)] if feature_names is None else [str(name) for name in feature_names]
    if len(names) != d:
        raise ValueError(f"feature_names must have {d} entries, got {len(names)}.")
    home = files(__package__)
    templates = {name: (home / name).read_text(encoding="utf-8") for name in _TEMPLATES}
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(templates), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    versions = [(name, version(name)) for name in ("gradsift", "numpy", "scipy", "scikit-learn")]
    versions += [("python", platform.python_version()), ("written", f"{datetime.datetime.now():%Y-%m-%d %H:%M}")]
    context = {
        "found": found, "tiles": _facts(found), "findings": report_notes(found), "versions": versions,
        "settings": [(name, _shown(value)) for name, value in (settings or {}).items() if value is not None],
        "css": templates["page.css"], "js": templates["page.js"],
    }  # fmt: skip
    context |= _layer_context(found, names) if found.deep is not None else _unit_context(found, names, data)
    template = environment.get_template("layers.html" if found.deep is not None else "report.html")
    return str(template.render(context))


def _unit_context(found: Recovery, names: list[str], data: Any) -> dict[str, Any]:
    """Return what the page of one hidden layer shows beside the rest."""
    return {
        "linear_length": float(np.linalg.norm(found.model.linear)),
        "units": _unit_rows(found, names),
        "outputs": [(m.intercept, m.weights.tolist()) for m in found.outputs],
        "pictures": report_figures(found, data),
        "cloud": unit_view(found),
        "diagnostics": [(name, _shown(value)) for name, value in found.diagnostics.items()],
        "payload": _model_dict(found, names),
    }


def _layer_context(found: Recovery, names: Sequence[str]) -> dict[str, Any]:
    """Return what the page of several hidden layers shows beside the rest: each layer as a picture."""
    network, shown = found.network, []
    for number, (weights, offsets) in enumerate(network.layers):
        last = number == len(network.widths)
        columns = list(names) if number == 0 else [f"unit {i + 1}" for i in range(weights.shape[1])]
        errors = found.standard_errors.get(f"layer {number + 1}")
        known = "" if errors is None else f"; largest relative error {float(np.max(errors)):.1g}"
        svg = _squares(np.concatenate([weights, offsets[:, None]], axis=1), [*columns, "offset"])
        title = "Output" if last else f"Hidden layer {number + 1}"
        shown.append(ReportFigure(title, f"{weights.shape[0]} rows, {weights.shape[1]} inputs{known}", svg, False))
    return {"network": network, "layers": shown}


def _facts(found: Recovery) -> list[tuple[str, str]]:
    """Return the numbers at the top of the page."""
    network, asked = found.network, []
    if found.n_queries:
        per_unknown = found.n_queries / (found.deep or found.model).n_parameters
        rate = f"{per_unknown:,.3g}" if per_unknown < 100 else f"{per_unknown:,.0f}"
        asked = [("queries", f"{found.n_queries:,}"), ("queries per unknown", rate)]
    if found.deep is not None:
        widths = " x ".join(map(str, network.widths))
        return [
            ("hidden layers", str(len(network.widths))), ("units", widths), ("inputs", str(network.n_features)),
            ("outputs", str(network.n_outputs)), ("activation", network.activation), *asked,
        ]  # fmt: skip
    model = found.model
    tiles = [("units", f"{model.n_units:,}"), ("inputs", f"{model.n_features:,}"), ("activation", model.activation)]
    tiles += asked
    if found.outputs:
        tiles.append(("outputs", f"{len(found.outputs):,}"))
    rows = found.diagnostics.get("n_rows")
    if rows is not None:
        tiles.append(("rows", f"{int(rows):,}"))
    if found.fit is not None:
        name = "pseudo-R2" if found.fit.family.labels else "R2"
        criteria = (("AIC", found.fit.aic), ("BIC", found.fit.bic))
        tiles += [(name, f"{found.fit.r_squared:.3f}"), *((n, f"{v:.1f}") for n, v in criteria)]
    return tiles


def _unit_rows(found: Recovery, names: list[str]) -> list[dict[str, Any]]:
    model, errors = found.model, found.standard_errors
    units = model.units if found.fit is None else found.fit.directions  # of a table: per standard deviation
    rows = []
    for i in range(model.n_units):
        largest = np.argsort(-np.abs(units[i]), kind="stable")[:_COORDINATES]
        row: dict[str, Any] = {"number": i + 1, "more": model.n_features - len(largest)}
        row["loadings"] = [(names[j], float(units[i, j])) for j in largest if units[i, j] != 0]
        for name in ("weights", "slopes", "offsets"):
            row[name] = _with_error(float(getattr(model, name)[i]), _error(errors.get(name), i))
        row["angle"] = _direction_error(errors, i)
        rows.append(row)
    return rows


def _error(values: Any, i: int) -> float | None:
    array = np.asarray(np.nan if values is None else values, dtype=np.float64)
    error = float(array[i]) if array.ndim == 1 and i < len(array) else float("nan")
    return error if np.isfinite(error) else None


def _direction_error(errors: Mapping[str, Any], i: int) -> dict[str, Any]:
    """Return the angle (radians) by which a unit may be off, from "angles" or from the errors of its coordinates."""
    angle = _error(errors.get("angles"), i)
    if angle is None and "units" in errors:
        rows = np.asarray(errors["units"], dtype=np.float64)
        angle = float(np.linalg.norm(rows[i])) if rows.ndim == 2 else _error(rows, i)
    if angle is None or not np.isfinite(angle):
        return {"value": -1.0, "shown": "not given"}
    return {"value": angle, "shown": f"{np.degrees(angle):.2g}°"}


def _with_error(value: float, error: float | None) -> dict[str, Any]:
    """Return a number for sorting, and as text with as many digits as its error deserves."""
    if error is None or error <= 0:
        return {"value": value, "shown": f"{value + 0.0:.6g}", "error": ""}  # plus zero: no minus before a zero
    # Two digits of the error decide how many of the value are worth reading.
    digits = int(np.clip(1 - np.floor(np.log10(error)), 0, 8))
    return {"value": value, "shown": f"{value:.{digits}f}", "error": f"{error:.1g}"}


def _shown(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_shown(v)}" for name, v in list(value.items())[:_MOST_ROWS])
    if isinstance(value, (np.ndarray, list, tuple)):
        entries = np.asarray(value).ravel().tolist() if isinstance(value, np.ndarray) else list(value)
        more = f", ... ({len(entries)} in all)" if len(entries) > _MOST_ROWS else ""
        return ", ".join(_shown(v) for v in entries[:_MOST_ROWS]) + more
    return shown(str(value))


def facts_of(found: Recovery, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Return what JSON says of a recovery: verdict, counts, errors, statistics of a table, outputs."""
    told = {**found.judgement.as_dict(), "n_units": found.n_units, "n_queries": found.n_queries}
    told["standard_errors"] = {name: _plain(values) for name, values in found.standard_errors.items()}
    if found.fit is not None:
        from ..table import facts

        table = found.coefficients(names)
        columns = {name: _plain(values) for name, values in table.columns().items()}
        told |= {"statistics": facts(found.fit), "notes": list(found.diagnostics["notes"])}
        told["coefficients"] = {"names": list(table.names), **columns}
    if found.up_to_scale:
        told["up_to_scale"] = True
    if found.outputs:
        told["outputs"] = [
            {"weights": m.weights.tolist(), "intercept": m.intercept, "linear": m.linear.tolist()}
            for m in found.outputs
        ]
    return told


def _plain(values: Any) -> Any:
    """Return an array as lists that JSON can hold: what is not finite becomes null."""
    array = np.array(values, dtype=object)
    array[~np.isfinite(array.astype(np.float64))] = None
    return array.tolist()


def _model_dict(found: Recovery, names: list[str]) -> dict[str, Any]:
    """Return what the download buttons hand out: the model file with verdict and errors beside it."""
    model = found.model
    parts = ("units", "weights", "slopes", "offsets", *(["linear"] if model.has_linear_term else []))
    return {
        "format": "gradsift.SigmoidCombination", "version": 2 if model.has_linear_term else 1,
        "activation": model.activation, "intercept": model.intercept, "columns": names,
        **{name: getattr(model, name).tolist() for name in parts}, **facts_of(found, names),
    }  # fmt: skip


_MOST_SQUARES = 6000  # of one layer: a page should open at once
_SIDE = 420.0


def _squares(rows: Floats, columns: Sequence[str]) -> str:
    """Return a matrix as coloured squares in an SVG; its first rows where it is large."""
    rows = rows[: max(1, _MOST_SQUARES // rows.shape[1])]
    side = _SIDE / max(rows.shape)
    largest = float(np.abs(rows).max()) or 1.0
    parts = []
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            color = "#2563a8" if value > 0 else "#b3372f"
            parts.append(
                f'<rect x="{j * side:.2f}" y="{i * side:.2f}" width="{side:.2f}" height="{side:.2f}" fill="{color}" '
                f'fill-opacity="{abs(value) / largest:.3f}"><title>unit {i + 1}, {escape(columns[j])}: {value:.6g}'
                "</title></rect>"
            )
    width, height = side * rows.shape[1], side * rows.shape[0]
    return (
        f'<svg viewBox="0 0 {width:.1f} {height:.1f}" width="{width:.0f}" height="{height:.0f}" role="img" '
        f'aria-label="{rows.shape[0]} by {rows.shape[1]} weights">{"".join(parts)}</svg>'
    )


def summary_html(found: Recovery) -> str:
    """Return an HTML fragment: the verdict, then a table of at most 20 units."""
    if found.deep is not None:
        return f"<div class='gradsift'><pre>{escape(found.summary())}</pre></div>"
    model = found.model
    spread = np.asarray(found.standard_errors.get("weights", np.full(model.n_units, np.nan)))
    rows = []
    for i in range(min(model.n_units, _MOST_ROWS)):
        weight = f"{model.weights[i]:.5g}" + (f" &plusmn; {spread[i]:.1g}" if np.isfinite(spread[i]) else "")
        direction = ", ".join(f"{v:.3f}" for v in model.units[i, :_COORDINATES])
        more = ", &hellip;" if model.n_features > _COORDINATES else ""
        cells = (str(i + 1), weight, f"{model.slopes[i]:.5g}", f"{model.offsets[i]:.5g}", f"[{direction}{more}]")
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    left_out = model.n_units - len(rows)
    after = f"<p>and {left_out} more units</p>" if left_out else ""
    head = "".join(f"<th>{name}</th>" for name in ("unit", "weight", "slope", "offset", "direction"))
    return (
        f"<div class='gradsift'><p>{escape(found.verdict)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{after}</div>"
    )
