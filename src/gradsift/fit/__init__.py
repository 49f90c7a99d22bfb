"""Gauss-Newton on mergeable normal equations: least squares, or the likelihood of -1/+1 labels."""

from __future__ import annotations

from .chart import Chart
from .layout import Family, Parameters, from_model
from .minimise import Refined, refine
from .normal import Equations, NormalEquations
from .prior import NO_PRIOR, Prior

__all__ = [
    "NO_PRIOR",
    "Chart",
    "Equations",
    "Family",
    "NormalEquations",
    "Parameters",
    "Prior",
    "Refined",
    "from_model",
    "refine",
]
