"""Each lemma and theorem of the paper as a function that returns a `Bound`, in log space, errata applied."""

from __future__ import annotations

from .clusters import (
    chi_square_tail,
    cluster_radius,
    estimates_off_gaussian,
    estimates_off_oracle,
    far_field,
    good_cluster,
    good_cluster_projected,
    log_signal,
    one_unit_left,
    own_coefficient,
    projected_cluster_radius,
    spurious,
    spurious_projected,
)
from .concentration import (
    gaussian_tail,
    gaussian_tail_explicit,
    kernel_moments,
    log_product_tolerance,
    log_ratio_tolerance,
    moment_tails,
    product_tail,
    projected_tail,
    ratio_tolerance,
    value_oracle_tail,
)
from .explicit import (
    COLLAPSE_CONSTANT,
    ORACLE_CONSTANTS,
    THEOREM_CONSTANTS,
    VARIANCE_PROXY,
    gaussian_tail_homogeneous,
    projected_two_slabs_tight,
    theta_star_tight,
    value_oracle_tail_explicit,
)
from .record import Bound, log_add, probability
from .slabs import (
    aligned_bases,
    basis_distance,
    coefficient_bounds,
    cosine_gap,
    derivative_bounds,
    parallelogram,
    projected_two_slabs,
    projection_error,
    slab,
    two_slabs,
)
from .theorems import candidate_points, kernel_samples, mirror_failure, mirror_samples, oracle_queries, theta_star

__all__ = [
    "COLLAPSE_CONSTANT", "ORACLE_CONSTANTS", "THEOREM_CONSTANTS", "VARIANCE_PROXY",
    "Bound", "aligned_bases", "basis_distance", "candidate_points", "chi_square_tail", "cluster_radius",
    "coefficient_bounds", "cosine_gap", "derivative_bounds", "estimates_off_gaussian", "estimates_off_oracle",
    "far_field", "gaussian_tail", "gaussian_tail_explicit", "gaussian_tail_homogeneous",
    "good_cluster", "good_cluster_projected",
    "kernel_moments", "kernel_samples", "log_add", "log_product_tolerance", "log_ratio_tolerance", "log_signal",
    "mirror_failure", "mirror_samples", "moment_tails", "one_unit_left", "oracle_queries", "own_coefficient",
    "parallelogram", "probability", "product_tail", "projected_cluster_radius", "projected_tail",
    "projected_two_slabs", "projected_two_slabs_tight",
    "projection_error", "ratio_tolerance", "slab", "spurious", "spurious_projected",
    "theta_star", "theta_star_tight", "two_slabs", "value_oracle_tail", "value_oracle_tail_explicit",
]  # fmt: skip
