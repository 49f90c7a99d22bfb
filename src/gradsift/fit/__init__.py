"""Gauss-Newton on mergeable normal equations: least squares, or the likelihood of -1/+1 labels."""

from __future__ import annotations

from .chart import Chart
from .fitted import Fitted, covariance_of, half_angles
from .jacobian import layer_jacobian, predict, value_jacobian
from .layout import Family, Layout, Parameters, from_model
from .minimise import Refined, refine
from .mirrors import mirrors_of, moved_by, reflect
from .normal import Equations, NormalEquations
from .prior import NO_PRIOR, Prior

__all__ = [
    "NO_PRIOR",
    "Chart",
    "Equations",
    "Family",
    "Fitted",
    "Layout",
    "NormalEquations",
    "Parameters",
    "Prior",
    "Refined",
    "covariance_of",
    "from_model",
    "half_angles",
    "layer_jacobian",
    "mirrors_of",
    "moved_by",
    "predict",
    "refine",
    "reflect",
    "value_jacobian",
]
