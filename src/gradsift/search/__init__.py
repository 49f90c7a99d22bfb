"""The data pipeline: starts raced in one batch, escape moves, number of units."""

from __future__ import annotations

from .fit import Fit
from .pipeline import search

__all__ = ["Fit", "search"]
