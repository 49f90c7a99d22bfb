"""Every statement of the paper checked by a second way of getting its numbers.

A check takes the formula it checks as an argument where the paper prints another one, so that the printed form can
be seen to fail: `checks` are those that must hold, `printed_checks` the same with the printed forms. Statements about
algorithms are checked where the algorithms live (`gradsift.paper.method.method_checks`): theory imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from .. import printed
from . import verify_clusters as clusters
from . import verify_constants as constants
from . import verify_identities as identities
from . import verify_projection as projection
from . import verify_runs as runs
from . import verify_slabs as slabs
from . import verify_tails as tails
from . import verify_theorems as theorems
from . import verify_tight as tight
from .comparison import Comparison, Verified

__all__ = ["Check", "Comparison", "Verified", "checks", "printed_checks"]

Check = Callable[[], Comparison]


def checks() -> Mapping[str, tuple[Check, ...]]:
    """Return the checks of each label; each runs when called."""
    watched = [partial(check, k) for k in (2, 3) for check in (runs.check_theorem_radius, runs.check_theorem_failures)]
    projected = [partial(runs.check_projected_radius, k) for k in (2, 3)]
    projected_failures = [partial(runs.check_theorem_failures, k, True) for k in (2, 3)]
    return {
        "eq:Model": (identities.check_model,),
        "gradient": (identities.check_gradient,),
        "voestimate": (identities.check_oracle_mean,),
        "maintheorem": (theorems.check_oracle_union, theorems.check_gaussian_union, *watched,
                        tight.check_tight_union, tight.check_tight_counts),
        "sunthm": (theorems.check_mirror_level, runs.check_mirror_rate, runs.check_mirror_slope),
        "dimredtheorem": (theorems.check_mirror, theorems.check_projected_union, *projected, *projected_failures,
                          runs.check_projected_rows, tight.check_signed_subspace),
        "population": (identities.check_population,),
        "assympboundsvoestimate": (tails.check_oracle_lemma,),
        "voebound": (tails.check_voebound, tails.check_explicit_oracle, tight.check_query_rate),
        "assympboundscor": (tails.check_kernel_lemma,),
        "candidatebound": (tails.check_candidatebound, tails.check_homogeneity),
        "lemma:coeffboundssimple": (slabs.check_coefficient_lemma,),
        "lowerupperbound": (slabs.check_coefficient_floor, slabs.check_coefficient_ceiling),
        "anglelemma": (slabs.check_slab, slabs.check_two_slabs),
        "Delta": (constants.check_delta,),
        "w0": (constants.check_w0,),
        "xi0": (constants.check_xi0,),
        "gamma": (constants.check_gamma,),
        "rhoeq": (constants.check_rhoeq,),
        "Rsets": (clusters.check_regions, projection.check_projected_regions),
        "eq:InR0": (clusters.check_far_field,),
        "allbutone": (clusters.check_all_but_one,),
        "albounds": (clusters.check_own_floor, clusters.check_own_ceiling),
        "clusterlemma": (clusters.check_cluster_radius, clusters.check_triangle_step, tight.check_split_radius),
        "spuriouslemma": (clusters.check_spurious,),
        "goodclusterlemma": (clusters.check_good_cluster,),
        "stein": (identities.check_stein,),
        "dropmean": (identities.check_dropmean,),
        "expectationsandbounds": (tails.check_moment_lemma,),
        "expectations": (identities.check_expectations,),
        "zexpuexp": (partial(identities.check_expectations, "zexpuexp"),),
        "sexpvexp": (partial(identities.check_expectations, "sexpvexp"),),
        "bounds": (tails.check_moment_tails,),
        "zboundubound": (partial(tails.check_moment_tails, "zboundubound"),),
        "sboundvbound": (partial(tails.check_moment_tails, "sboundvbound"),),
        "expectation": (identities.check_expectation,),
        "covariance": (identities.check_covariance,),
        "fractionlemma": (tails.check_fraction,),
        "deltaprime": (partial(tails.check_tolerances, "deltaprime"),),
        "deltaprimeprime": (partial(tails.check_tolerances, "deltaprimeprime"),),
        "splitproducts": (tails.check_split,),
        "final": (tails.check_final,),
        "eq:BoundsFprime": (slabs.check_derivative_floor, slabs.check_derivative_ceiling),
        "parallelogramlemma": (slabs.check_parallelogram,),
        "eq:CoInclusion": (clusters.check_far_excluded, clusters.check_far_at_one_half, clusters.check_co_inclusion),
        "GCboundvo": (clusters.check_off_oracle,),
        "GCbound": (clusters.check_chi_square, clusters.check_off_gaussian),
        "basisangles": (slabs.check_basis_angles,),
        "basisnorms": (slabs.check_basis_norms,),
        "projectionlemma": (slabs.check_projection, slabs.check_cosine_gap),
        "anglecor": (slabs.check_projection_distance,),
        "subspace": (tails.check_projected_mean,),
        "candidatebounddim": (tails.check_projected_tail,),
        "populationdim": (identities.check_population_projected,),
        "anglelemma2": (slabs.check_projected_slabs, slabs.check_projected_slabs_tight, projection.check_cross_term),
        "kappaprime": (constants.check_kappa_prime,),
        "clusterlemma2": (projection.check_projected_cluster,),
        "spuriouslemma2": (projection.check_spurious_projected,),
        "goodclusterlemma2": (projection.check_good_cluster_projected, projection.check_projected_length),
    }  # fmt: skip


def printed_checks() -> tuple[Check, ...]:
    """Return the checks fed with the forms as printed; each must fail."""
    return (
        partial(constants.check_gamma, printed.gamma), partial(constants.check_delta, printed.Delta),
        partial(identities.check_population, printed.kernel_mean_shrinkage),
        partial(tails.check_final, printed.gaussian_tail_explicit),
        partial(tails.check_candidatebound, printed.gaussian_tail_collapsed, M=(1e-3,)),
        partial(tails.check_homogeneity, printed.gaussian_tail_collapsed),
        partial(slabs.check_derivative_floor, strict=True), partial(slabs.check_basis_angles, reverse=True),
        partial(clusters.check_all_but_one, printed.unit_sign),
        partial(clusters.check_cluster_radius, printed.unit_sign), partial(clusters.check_triangle_step, -1.0),
        partial(clusters.check_far_excluded, printed.excluded_far_norm),
        partial(clusters.check_off_gaussian, printed.chi_square_tail),
        partial(clusters.check_spurious, printed.spurious_off),
        partial(theorems.check_gaussian_union, inside=False),
        partial(theorems.check_mirror, printed.mirror_samples),
        partial(runs.check_mirror_slope, printed.mirror_slope_factor),
        partial(projection.check_projected_regions, printed.projected_region_units),
        partial(projection.check_projected_length, printed.projected_length),
        partial(projection.check_projected_cluster, printed.projected_angle),
        partial(projection.check_cross_term, printed.inner_product_gap),
        partial(projection.check_spurious_projected, printed.spurious_off),
    )  # fmt: skip
