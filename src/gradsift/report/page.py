"""From a recovery to a page: what the template is given."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from ..addresses import shown
from ..extras import load_extra
from ..files import atomic_writer
from .cloud import cloud
from .findings import findings
from .layers import layers_context
from .pictures import pictures

if TYPE_CHECKING:
    from ..recovery import Recovery

__all__ = ["render", "write_report"]

_TEMPLATES = ("page.html", "layers.html", "page.css", "page.js")
_MOST_LOADINGS = 6
_MOST_ENTRIES = 12  # of a long list among the diagnostics


def write_report(
    found: Recovery,
    path: str | os.PathLike[str],
    *,
    feature_names: Sequence[str] | None = None,
    data: Any = None,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Write the page to `path`, all or nothing; see :func:`render`."""
    text = render(found, feature_names=feature_names, data=data, settings=settings)
    with atomic_writer(path) as stream:
        stream.write(text)


def render(
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
    if found.deep is not None:
        context = layers_context(found, names, _versions(), settings or {})
        deep: str = environment.get_template("layers.html").render(**context, css=templates["page.css"])
        return deep
    page: str = environment.get_template("page.html").render(
        found=found,
        linear_length=float(np.linalg.norm(found.model.linear)),
        tiles=_tiles(found),
        units=_unit_rows(found, names),
        outputs=[(m.intercept, m.weights.tolist()) for m in found.outputs],
        pictures=pictures(found, data),
        cloud=cloud(found),
        findings=findings(found),
        diagnostics=[(name, _shown(value)) for name, value in found.diagnostics.items()],
        settings=[(name, _shown(value)) for name, value in (settings or {}).items() if value is not None],
        versions=_versions(),
        payload=_payload(found, names),
        css=templates["page.css"],
        js=templates["page.js"],
    )
    return page


def _tiles(found: Recovery) -> list[tuple[str, str]]:
    model = found.model
    tiles = [("units", f"{model.n_units:,}"), ("inputs", f"{model.n_features:,}"), ("activation", model.activation)]
    if found.n_queries:
        per_unknown = found.n_queries / model.n_parameters
        tiles += [
            ("queries", f"{found.n_queries:,}"),
            ("queries per unknown", f"{per_unknown:,.3g}" if per_unknown < 100 else f"{per_unknown:,.0f}"),
        ]
    if found.outputs:
        tiles.append(("outputs", f"{len(found.outputs):,}"))
    rows = found.diagnostics.get("n_rows")
    if rows is not None:
        tiles.append(("rows", f"{int(rows):,}"))
    if found.fit is not None:
        name = "pseudo-R2" if found.fit.family.labels else "R2"
        tiles += [
            (name, f"{found.fit.r_squared:.3f}"),
            ("AIC", f"{found.fit.aic:.1f}"),
            ("BIC", f"{found.fit.bic:.1f}"),
        ]
    return tiles


def _unit_rows(found: Recovery, names: list[str]) -> list[dict[str, Any]]:
    model, errors = found.model, found.standard_errors
    units = model.units if found.fit is None else found.fit.directions  # of a table: per standard deviation
    rows = []
    for i in range(model.n_units):
        largest = np.argsort(-np.abs(units[i]), kind="stable")[:_MOST_LOADINGS]
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
    digits = int(np.clip(1 - np.floor(np.log10(error)), 0, 8))
    return {"value": value, "shown": f"{value:.{digits}f}", "error": f"{error:.1g}"}


def _shown(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_shown(v)}" for name, v in list(value.items())[:_MOST_ENTRIES])
    if isinstance(value, (np.ndarray, list, tuple)):
        entries = np.asarray(value).ravel().tolist() if isinstance(value, np.ndarray) else list(value)
        more = f", ... ({len(entries)} in all)" if len(entries) > _MOST_ENTRIES else ""
        return ", ".join(_shown(v) for v in entries[:_MOST_ENTRIES]) + more
    return shown(str(value))


def _versions() -> list[tuple[str, str]]:
    packages = [(name, version(name)) for name in ("gradsift", "numpy", "scipy", "scikit-learn")]
    return [*packages, ("python", platform.python_version()), ("written", f"{datetime.datetime.now():%Y-%m-%d %H:%M}")]


def _payload(found: Recovery, names: list[str]) -> dict[str, Any]:
    """Return what the download buttons hand out: the model file with verdict and errors beside it."""
    model = found.model
    errors = {
        name: [[_number(v) for v in row] if np.ndim(row) else _number(row) for row in np.atleast_1d(values)]
        for name, values in found.standard_errors.items()
    }
    return {
        "format": "gradsift.SigmoidCombination", "version": 2 if model.has_linear_term else 1,
        "activation": model.activation, "intercept": model.intercept,
        "units": model.units.tolist(), "weights": model.weights.tolist(),
        "slopes": model.slopes.tolist(), "offsets": model.offsets.tolist(), "columns": names,
        **found.judgement.as_dict(), "n_queries": found.n_queries, "standard_errors": errors,
        **({"linear": model.linear.tolist()} if model.has_linear_term else {}),
        **({"outputs": [{"weights": m.weights.tolist(), "intercept": m.intercept, "linear": m.linear.tolist()}
                        for m in found.outputs]} if found.outputs else {}),
    }  # fmt: skip


def _number(value: Any) -> float | None:
    number = float(value)
    return number if np.isfinite(number) else None
