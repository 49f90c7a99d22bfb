"""One layout, one Jacobian, one damped Gauss-Newton: what all walks share."""

from __future__ import annotations

from .constraints import NO_PRIOR, Chart, Prior, slope_prior
from .covariance import Fitted, covariance_of, covariance_root, half_angles
from .jacobian import layer_jacobian, predict, value_jacobian
from .joint import fit_jointly, mirrors_of, moved_by, reflect
from .normal_equations import Equations, NormalEquations, Refined, refine
from .parameters import Family, Layout, Parameters, from_model

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
