"""One layout, one Jacobian, one damped Gauss-Newton: what all walks share."""

from __future__ import annotations

from .chart import Chart
from .fitted import Fitted, covariance_of, covariance_root, half_angles
from .jacobian import layer_jacobian, predict, value_jacobian
from .joint import fit_jointly
from .layout import Family, Layout, Parameters, from_model
from .mirrors import mirrors_of, moved_by, reflect
from .normal import Equations, NormalEquations
from .prior import NO_PRIOR, Prior, slope_prior
from .refine import Refined, refine

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
    "covariance_root",
    "fit_jointly",
    "from_model",
    "half_angles",
    "layer_jacobian",
    "mirrors_of",
    "moved_by",
    "predict",
    "refine",
    "reflect",
    "slope_prior",
    "value_jacobian",
]
