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
from .fit_table import Joint, fit_outputs, search
from .table_certificate import Fit

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
