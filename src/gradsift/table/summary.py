"""The summary of a fit as text: what was fitted to what, how well, the coefficients, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import lines
from .coefficients import coefficients
from .fit import Fit

__all__ = ["facts", "summary"]

_MODELS = {"identity": "mixture of classifiers, labels", "logit": "log-odds of labels"}
_ERROR_KINDS = {
    "sandwich": "jackknife sandwich, HC3 (rows independent, noise of any size)",
    "model": "the noise model's",
    "cluster": "jackknife by cluster, CR3 (groups independent)",
}


def facts(fit: Fit) -> dict[str, Any]:
    """Return what describes the whole fit, by name; numbers that were not fitted are said so."""
    family = fit.family
    held: dict[str, Any] = {
        "model": _MODELS[family.link] if family.labels else "least squares",
        "units": fit.n_units,
        "rows": fit.n_rows,
        "parameters": fit.n_parameters,
        "degrees of freedom": fit.degrees_of_freedom,
        "log-likelihood": fit.log_likelihood,
        "AIC": fit.aic,
        "BIC": fit.bic,
        "pseudo-R2" if family.labels else "R2": fit.r_squared,
    }
    if not family.labels:
        held["noise sd"] = fit.noise
    held["offsets"] = "fitted" if family.offsets else "not fitted"
    if not family.simplex:
        held["intercept"] = "fitted" if family.intercept else "not fitted"
    held["errors"] = _ERROR_KINDS[fit.choices.covariance]
    held["weights"] = fit.choices.weights
    held["alpha"] = fit.choices.alpha
    return held


def summary(fit: Fit, feature_names: Sequence[str] | None = None, level: float = 0.95) -> str:
    """Return verdict, facts, coefficients per original unit, directions per standard deviation, and the checks."""
    shown = [f"{name}: {_text(value)}" for name, value in facts(fit).items()]
    width = max(len(text) for text in shown) + 2
    pairs = [f"{a:<{width}}{b}".rstrip() for a, b in zip(shown[::2], [*shown[1::2], ""])]
    table = coefficients(fit, feature_names)
    names = [name.partition(": ")[2] for name in table.names if name.startswith("unit 1: ")][-fit.model.n_features :]
    angles = fit.angles
    directions = [
        f"unit {unit + 1} (+- {np.degrees(angles[unit]):.2g} degrees): {_largest(fit.directions[unit], names)}"
        for unit in range(fit.n_units)
    ]
    notes = [f"Note: {note}." for note in fit.diagnostics.get("notes", ())]
    return "\n".join(
        [
            fit.verdict, "", *pairs, "", "Coefficients, per original unit of each column (slope times direction):",
            *table.lines(level), "", "Directions, per standard deviation of each column:", *directions, *notes, "",
            *lines(fit.checks),
        ]
    )  # fmt: skip


def _largest(direction: Any, names: Sequence[str]) -> str:
    order = np.argsort(-np.abs(direction), kind="stable")[:6]
    shown = ", ".join(f"{names[j]} {direction[j]:.3f}" for j in order)
    return shown + (", ..." if len(direction) > 6 else "")


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
