"""The data pipeline: starts raced in one batch, escape moves, number of units."""

from __future__ import annotations

from .coefficients import (
    Coefficients,
    Interval,
    LikelihoodRatio,
    coefficients,
    facts,
    likelihood_ratio,
    prediction_interval,
    summary,
)
from .finish import Fit
from .fit_table import search
from .several_targets import Joint, fit_several

__all__ = [
    "Coefficients",
    "Fit",
    "Interval",
    "Joint",
    "LikelihoodRatio",
    "coefficients",
    "facts",
    "fit_several",
    "likelihood_ratio",
    "prediction_interval",
    "search",
    "summary",
]
