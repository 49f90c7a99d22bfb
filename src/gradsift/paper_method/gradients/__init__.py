"""Gradients of the regression function at chosen points, one estimator per file."""

from __future__ import annotations

from .estimates import GradientEstimates, GradientEstimator
from .kernel import KernelGradients
from .local_linear import LocalLinearGradients
from .projected import ProjectedGradients, split_rows
from .value_oracle import OracleGradients

__all__ = [
    "GradientEstimates",
    "GradientEstimator",
    "KernelGradients",
    "LocalLinearGradients",
    "OracleGradients",
    "ProjectedGradients",
    "split_rows",
]
