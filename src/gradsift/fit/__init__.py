"""One layout, one Jacobian, one damped Gauss-Newton: what all walks share."""

from __future__ import annotations

from .constraints import NO_PRIOR, Coordinates, Prior, slope_prior
from .covariance import Fitted, covariance_factor, covariance_of, half_angles
from .family import Family
from .jacobian import layer_jacobian, predict, value_jacobian
from .joint import fit_jointly, mirror_of, mirror_rows, moved_by
from .normal_equations import Equations, NormalEquations, Refined, polish
from .parameters import Layout, Parameters, from_model

__all__ = [
    "NO_PRIOR",
    "Coordinates",
    "Equations",
    "Family",
    "Fitted",
    "Layout",
    "NormalEquations",
    "Parameters",
    "Prior",
    "Refined",
    "covariance_factor",
    "covariance_of",
    "fit_jointly",
    "from_model",
    "half_angles",
    "layer_jacobian",
    "mirror_of",
    "mirror_rows",
    "moved_by",
    "polish",
    "predict",
    "slope_prior",
    "value_jacobian",
]
