"""The data pipeline: starts raced in one batch, escape moves, number of units."""

from __future__ import annotations

from .coefficients import Coefficients, Interval, LikelihoodRatio, coefficients, likelihood_ratio, prediction_interval
from .em import MixtureEM, expectation_maximization
from .fit import Fit
from .pipeline import search
from .several import Joint, fit_several
from .summary import facts, summary

__all__ = [
    "Coefficients",
    "Fit",
    "Interval",
    "Joint",
    "LikelihoodRatio",
    "MixtureEM",
    "coefficients",
    "expectation_maximization",
    "facts",
    "fit_several",
    "likelihood_ratio",
    "prediction_interval",
    "search",
    "summary",
]
