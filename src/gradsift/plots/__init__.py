"""Figures, one function each; every function takes ``ax=`` (or ``axes=``) and returns what it drew on."""

from __future__ import annotations

from .fitted import bic_path, calibration, error_against_rows, residual_plot
from .found import query_spending, step_scan, unit_errors, unit_similarity
from .paper import candidate_panels, gradient_field, mirror_scree, norm_histogram
from .style import PALETTE

__all__ = [
    "PALETTE", "bic_path", "calibration", "candidate_panels", "error_against_rows", "gradient_field", "mirror_scree",
    "norm_histogram", "query_spending", "residual_plot", "step_scan", "unit_errors", "unit_similarity",
]  # fmt: skip
