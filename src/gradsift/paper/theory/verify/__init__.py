"""Every statement of the paper checked by a second way of getting its numbers.

A check takes the formula it checks as an argument where the paper prints another one, so that the printed form can
be seen to fail: `checks` are those that must hold, `printed_checks` the same with the printed forms. Statements about
algorithms are checked where the algorithms live (`gradsift.paper.method.theorem_run`): theory imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from .. import printed
from ..inequality import Comparison, Verified
from . import verify_gaussian as gaussian
from . import verify_partition as partition
from . import verify_projection as projection
from . import verify_theorems as theorems

__all__ = ["Check", "Comparison", "Verified", "checks", "printed_checks"]

Check = Callable[[], Comparison]


def checks() -> Mapping[str, tuple[Check, ...]]:
    """Return the checks of each label; each runs when called."""
    watched = [
        partial(check, k) for k in (2, 3) for check in (theorems.check_theorem_radius, theorems.check_theorem_runs)
    ]
    projected = [partial(theorems.check_projected_radius, k) for k in (2, 3)]
    projected_failures = [partial(theorems.check_theorem_runs, k, True) for k in (2, 3)]
    return {
        "eq:Model": (gaussian.check_model,),
        "gradient": (gaussian.check_gradient,),
        "voestimate": (gaussian.check_oracle_mean,),
        "maintheorem": (theorems.check_oracle_failure, theorems.check_gaussian_failure, *watched,
                        theorems.check_tight_failure, theorems.check_tight_counts),
        "sunthm": (theorems.check_mirror_level, theorems.check_mirror_scale, theorems.check_mirror_slope),
        "dimredtheorem": (theorems.check_mirror, theorems.check_projected_failure, *projected, *projected_failures,
                          theorems.check_projected_rows, theorems.check_subspace_of_signs),
        "population": (gaussian.check_mean_gradient,),
        "assympboundsvoestimate": (gaussian.check_oracle_tail_far,),
        "voebound": (gaussian.check_oracle_tail, gaussian.check_oracle_tail_tight, theorems.check_oracle_queries),
        "assympboundscor": (gaussian.check_kernel_tail,),
        "candidatebound": (gaussian.check_gaussian_tail, gaussian.check_homogeneous_tail),
        "lemma:coeffboundssimple": (partition.check_mean_derivative,),
        "lowerupperbound": (partition.check_mean_derivative_least, partition.check_mean_derivative_most),
        "anglelemma": (partition.check_slab, partition.check_slab_pair),
        "Delta": (theorems.check_delta,),
        "w0": (theorems.check_w0,),
        "xi0": (theorems.check_xi0,),
        "gamma": (theorems.check_gamma,),
        "rhoeq": (theorems.check_xi0_equation,),
        "Rsets": (partition.check_region_of, projection.check_projected_region_of),
        "eq:InR0": (partition.check_far_field,),
        "allbutone": (partition.check_all_but_one,),
        "albounds": (partition.check_own_part_least, partition.check_own_part_most),
        "clusterlemma": (partition.check_cluster_radius, partition.check_cluster_step, theorems.check_split_radius),
        "spuriouslemma": (partition.check_spurious,),
        "goodclusterlemma": (partition.check_good_cluster,),
        "stein": (gaussian.check_stein,),
        "dropmean": (gaussian.check_centered_mean,),
        "expectationsandbounds": (gaussian.check_moment_means,),
        "expectations": (gaussian.check_kernel_moments,),
        "zexpuexp": (partial(gaussian.check_kernel_moments, "zexpuexp"),),
        "sexpvexp": (partial(gaussian.check_kernel_moments, "sexpvexp"),),
        "bounds": (gaussian.check_moment_tails,),
        "zboundubound": (partial(gaussian.check_moment_tails, "zboundubound"),),
        "sboundvbound": (partial(gaussian.check_moment_tails, "sboundvbound"),),
        "expectation": (gaussian.check_kernel_mean,),
        "covariance": (gaussian.check_kernel_covariance,),
        "fractionlemma": (gaussian.check_ratio_tolerance,),
        "deltaprime": (partial(gaussian.check_tolerances, "deltaprime"),),
        "deltaprimeprime": (partial(gaussian.check_tolerances, "deltaprimeprime"),),
        "splitproducts": (gaussian.check_split,),
        "final": (gaussian.check_final,),
        "eq:BoundsFprime": (partition.check_derivative_least, partition.check_derivative_most),
        "parallelogramlemma": (partition.check_parallelogram,),
        "eq:CoInclusion": (partition.check_far_is_empty, partition.check_far_at_one_half,
                           partition.check_spurious_parts),
        "GCboundvo": (partition.check_off_oracle,),
        "GCbound": (partition.check_chi_square, partition.check_off_gaussian),
        "basisangles": (partition.check_bases_angles,),
        "basisnorms": (partition.check_bases_distance,),
        "projectionlemma": (partition.check_projected_error, partition.check_inner_gap),
        "anglecor": (partition.check_projected_distance,),
        "subspace": (gaussian.check_projected_mean,),
        "candidatebounddim": (gaussian.check_projected_tail,),
        "populationdim": (gaussian.check_projected_mean_gradient,),
        "anglelemma2": (partition.check_projected_slab_pair, partition.check_projected_slab_pair_tight,
                        projection.check_cross_term),
        "kappaprime": (theorems.check_kappa_prime,),
        "clusterlemma2": (projection.check_projected_cluster,),
        "spuriouslemma2": (projection.check_spurious_projected,),
        "goodclusterlemma2": (projection.check_good_cluster_projected, projection.check_projected_length),
    }  # fmt: skip


def printed_checks() -> tuple[Check, ...]:
    """Return the checks fed with the forms as printed; each must fail."""
    return (
        partial(theorems.check_gamma, printed.gamma), partial(theorems.check_delta, printed.Delta),
        partial(gaussian.check_mean_gradient, printed.kernel_mean_shrinkage),
        partial(gaussian.check_final, printed.gaussian_tail_final),
        partial(gaussian.check_gaussian_tail, printed.gaussian_tail, M=(1e-3,)),
        partial(gaussian.check_homogeneous_tail, printed.gaussian_tail),
        partial(partition.check_derivative_least, strict=True), partial(partition.check_bases_angles, reverse=True),
        partial(partition.check_all_but_one, printed.unit_sign),
        partial(partition.check_cluster_radius, printed.unit_sign), partial(partition.check_cluster_step, -1.0),
        partial(partition.check_far_is_empty, printed.far_is_empty),
        partial(partition.check_off_gaussian, printed.chi_square_tail),
        partial(partition.check_spurious, printed.spurious_off),
        partial(theorems.check_gaussian_failure, inside=False),
        partial(theorems.check_mirror, printed.mirror_samples),
        partial(theorems.check_mirror_slope, printed.mirror_slope_factor),
        partial(projection.check_projected_region_of, printed.projected_region_units),
        partial(projection.check_projected_length, printed.projected_length),
        partial(projection.check_projected_cluster, printed.projected_angle),
        partial(projection.check_cross_term, printed.inner_gap),
        partial(projection.check_spurious_projected, printed.spurious_off),
    )  # fmt: skip
