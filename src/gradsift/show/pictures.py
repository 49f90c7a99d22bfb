"""The figures that fit a run as inline SVG, and the points of the interactive view."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import Floats
from ..geometry import normalize_rows
from ..runtime import load_extra
from . import plots
from .plots import PALETTE

if TYPE_CHECKING:
    from ..recovery import Recovery

_MOST_POINTS = 1500
_MOST_UNITS = 60
_MOST_NUMBERS = 1_000_000  # drawn for the view; it should not take longer than the rest of the page


def unit_view(found: Recovery) -> dict[str, Any] | None:
    """Return points, arrows and words for the page's 3-D view; None in one dimension.

    In more than three dimensions everything is projected on the three directions that carry most of the units.
    """
    model = found.model
    if model.n_features < 2 or model.n_units > _MOST_UNITS:
        return None
    directions, words = _directions(found)
    frame = _frame(model.units)  # (3, d)
    nearest = np.argmax(directions @ model.units.T, axis=1)
    if model.n_features > 3:
        words += f" Projected from {model.n_features:,} dimensions on the three that carry most of the units; "
        words += "a point inside the sphere has more of its length outside this view."
    return {
        "points": np.round(directions @ frame.T, 4).tolist(),
        "groups": nearest.tolist(),
        "arrows": np.round(model.units @ frame.T, 4).tolist(),
        "colors": [PALETTE[i % len(PALETTE)] for i in range(model.n_units)],
        "words": words,
    }


def _directions(found: Recovery) -> tuple[Floats, str]:
    rng = np.random.default_rng(0)  # only what is drawn depends on it
    if found.candidates is not None and found.candidates.directions.shape[1] == found.model.n_features:
        rows = found.candidates.directions
        shown = rng.choice(len(rows), min(len(rows), _MOST_POINTS), replace=False)
        return rows[
            np.sort(shown)
        ], f"{len(shown)} of {len(rows)} candidates, coloured by the unit they are closest to."
    model = found.model
    # Far enough out that most points see one unit or none, as the method does.
    reach = 4.0 * max(1.0, float(np.abs(model.offsets / model.slopes).max()))
    n_points = int(np.clip(_MOST_NUMBERS // model.n_features, 200, 4 * _MOST_POINTS))
    points = reach * rng.standard_normal((n_points, model.n_features))
    gradients = model.gradient(points)
    norms = np.linalg.norm(gradients, axis=1)
    longest = np.argsort(-norms, kind="stable")[: min(_MOST_POINTS // 2, n_points // 4)]
    kept = longest[norms[longest] > 0]
    words = f"Directions of the {len(kept)} longest gradients of the found model at {len(points)} random points."
    return normalize_rows(gradients[kept]), words


def _frame(units: Floats) -> Floats:
    """Return three orthonormal rows: the axes themselves up to three dimensions, else the units' main directions."""
    d = units.shape[1]
    if d <= 3:
        return np.eye(3)[:, :d]
    frame = np.zeros((3, d))
    # Right singular vectors: the orthonormal directions with the largest sum of squared components of the units.
    main = np.linalg.svd(units, full_matrices=False)[2][:3]
    frame[: len(main)] = main * np.where(main.sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
    return frame


_INK = "#010203"  # stands for the page's text colour until the drawing is written


class ReportFigure(NamedTuple):
    """A figure of the report: title, what it shows, the drawing, whether it wants the whole width."""

    title: str
    caption: str
    svg: str
    wide: bool


class _FigureRow(NamedTuple):
    """A figure that may fit: the diagnostics keys it needs ("candidates" and "data" too), a test, how to draw it."""

    title: str
    caption: str
    needs: tuple[str, ...]
    fits: Callable[[Any], bool]
    size: tuple[float, float]
    draw: Callable[[Any, Any], None]
    wide: bool = False  # whether it spans both columns


def report_figures(found: Recovery, data: Any = None) -> list[ReportFigure]:
    """Return the figures whose numbers the run provides; `data` = (X, y) adds residuals or calibration."""
    matplotlib = load_extra("matplotlib", "report")
    facts = {**found.diagnostics, "found": found, "model": found.model, "candidates": found.candidates, "data": data}
    ink = dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _INK)
    drawn = []
    for i, sketch in enumerate(_SKETCHES):
        if all(facts.get(name) is not None for name in sketch.needs) and sketch.fits(facts):
            with matplotlib.rc_context({**ink, "svg.hashsalt": f"gradsift-{i}", "font.size": 10}):
                drawn.append(ReportFigure(sketch.title, sketch.caption, _draw(sketch, facts, i), sketch.wide))
    return drawn


def _draw(sketch: _FigureRow, facts: dict[str, Any], number: int) -> str:
    from matplotlib.figure import Figure

    figure = Figure(figsize=sketch.size, layout="constrained")
    sketch.draw(facts, figure)
    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=True, dpi=110, metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :].replace(_INK, "currentColor")
    # Glyphs are shared by name within a page: keep each drawing's own.
    text = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>p{number}-", text)
    text = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", text, count=1)
    return re.sub(r'<svg ([^>]*?)height="[^"]*"', r'<svg role="img" \1', text, count=1)


def _units(facts: Any, figure: Any) -> None:
    figure.set_figheight(1.3 + 0.28 * facts["model"].n_units)
    axes = figure.subplots(1, 3, sharey=True)
    plots.unit_errors(facts["model"], facts["found"].standard_errors, axes=axes)


def _field(facts: Any, figure: Any) -> None:
    model = facts["model"]
    reach = 2.5 + float(np.abs(model.offsets / model.slopes).max())
    side = np.linspace(-reach, reach, 17)
    points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    plots.gradient_field(points, model.gradient(points), model.units, ax=figure.subplots())


def _spent(facts: Any, figure: Any) -> None:
    figure.set_figheight(1.4 + 0.32 * len(facts["spent"]))
    plots.query_spending(facts["spent"], facts["model"].n_parameters, ax=figure.subplots())


def _calibrated(facts: Any, figure: Any) -> None:
    X, y = facts["data"]
    r, fit = facts["model"].predict(X), facts["found"].fit
    log_odds = fit is not None and fit.family.link == "logit"
    second = 1 / (1 + np.exp(-r)) if log_odds else np.clip(0.5 * (1 + r), 0, 1)
    plots.calibration(second, 0.5 * (1 + np.asarray(y)), ax=figure.subplots())


def _has_labels(facts: Any) -> bool:
    return bool(np.isin(facts["data"][1], (-1.0, 1.0)).all())


_SKETCHES = (
    _FigureRow("Units and their uncertainty", "Bars are 95% intervals; without bars the method gives none.", (),
            lambda f: f["model"].n_units <= _MOST_UNITS, (9.6, 3.0), _units, wide=True),
    _FigureRow("How alike the units are", "Cosines between directions; pale off the diagonal is easy to tell apart.",
            (),
            lambda f: 2 <= f["model"].n_units <= 200, (4.6, 3.9),
            lambda f, g: plots.unit_similarity(f["model"].units, ax=g.subplots())),
    _FigureRow("Gradient field of the found model", "Each arrow is the gradient there; it lies along a single unit "
            "wherever only one is active.", (), lambda f: f["model"].n_features == 2, (6.2, 5.2), _field),
    _FigureRow("The black box on a large half circle", "Flat almost everywhere, with one step for each unit: counting "
            "steps counts units.", ("angles", "values"), lambda f: len(f["angles"]) > 1, (6.4, 3.4),
            lambda f, g: plots.step_scan(f["angles"], f["values"], ax=g.subplots())),
    _FigureRow("Where the queries went", "Steps in order; the dashed line is the number of unknowns.", ("spent",),
            lambda f: bool(f["spent"]), (6.4, 3.0), _spent),
    _FigureRow("Length of the gradient estimates", "The longest are kept; an estimate with few effective samples is "
            "noise however long it is.", ("candidates",), lambda f: len(f["candidates"]) > 0, (5.8, 4.0),
            lambda f, g: plots.norm_histogram(f["candidates"], ax=g.subplots())),
    _FigureRow("Eigenvalues of the spectral mirror", "Those beyond the edge of the noise span the units.",
            ("mirror_eigenvalues",), lambda f: len(f["mirror_eigenvalues"]) > 1, (5.6, 3.6),
            lambda f, g: plots.mirror_scree(
                f["mirror_eigenvalues"], f.get("mirror_noise_edge"), f["model"].n_units, ax=g.subplots())),
    _FigureRow("Number of units", "Schwarz's criterion; lower is better.", ("bic_path",),
            lambda f: len(f["bic_path"]) > 1, (5.6, 3.6),
            lambda f, g: plots.bic_path(list(f["bic_path"]), list(f["bic_path"].values()), ax=g.subplots())),
    _FigureRow("Residuals", "Their mean should stay on zero everywhere.", ("data",),
            lambda f: not _has_labels(f), (5.8, 3.8),
            lambda f, g: plots.residual_plot(f["model"].predict(f["data"][0]), f["data"][1], ax=g.subplots())),
    _FigureRow("Calibration", "Predicted probability against what was seen, on the rows of the fit.", ("data",),
            _has_labels, (4.6, 4.2), _calibrated),
)  # fmt: skip
