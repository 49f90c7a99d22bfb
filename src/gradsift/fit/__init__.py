"""Gauss-Newton on mergeable normal equations: least squares, or the likelihood of -1/+1 labels."""

from __future__ import annotations

from .chart import Chart
from .jacobian import layer_jacobian, predict, value_jacobian
from .layout import Family, Layout, Parameters, from_model
from .minimise import Refined, refine
from .normal import Equations, NormalEquations
from .prior import NO_PRIOR, Prior

__all__ = [
    "NO_PRIOR",
    "Chart",
    "Equations",
    "Family",
    "Layout",
    "NormalEquations",
    "Parameters",
    "Prior",
    "Refined",
    "from_model",
    "layer_jacobian",
    "predict",
    "refine",
    "value_jacobian",
]
