"""The data pipeline: starts raced in one batch, escape moves, number of units."""

from __future__ import annotations

from .em import MixtureEM, expectation_maximization
from .fit import Fit
from .pipeline import search

__all__ = ["Fit", "MixtureEM", "expectation_maximization", "search"]
