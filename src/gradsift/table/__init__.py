"""The data pipeline: starts raced in one batch, escape moves, number of units."""

from __future__ import annotations

from .coefficients import (
    Coefficients,
    LikelihoodRatio,
    PredictionBounds,
    coefficients,
    facts,
    likelihood_ratio,
    prediction_bounds,
    summary,
)
from .finish import Fit
from .fit_table import search
from .several_targets import Joint, fit_outputs

__all__ = [
    "Coefficients",
    "Fit",
    "Joint",
    "LikelihoodRatio",
    "PredictionBounds",
    "coefficients",
    "facts",
    "fit_outputs",
    "likelihood_ratio",
    "prediction_bounds",
    "search",
    "summary",
]
