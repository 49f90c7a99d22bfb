"""Every statement of the paper checked by a second way of getting its numbers.

A check takes the formula it checks as an argument where the paper prints another one, so that the printed form can
be seen to fail: `checks` are those that must hold, `printed_checks` the same with the printed forms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .. import printed
from . import clusters, constants, identities, runs, slabs, tails, theorems
from .record import Comparison

__all__ = ["COVERED_BY", "Comparison", "checks", "printed_checks"]

# Lemmas that are no more than the equations they contain.
COVERED_BY = {
    "assympboundsvoestimate": ("voebound",),
    "assympboundscor": ("candidatebound", "final"),
    "lemma:coeffboundssimple": ("lowerupperbound",),
    "expectationsandbounds": ("expectations", "bounds"),
    "subspace": ("candidatebounddim", "populationdim"),
}


def checks() -> tuple[Callable[[], Comparison], ...]:
    """Return all checks, in the order of the paper's argument; each runs when called."""
    return (
        constants.check_delta, constants.check_w0, constants.check_xi0, constants.check_gamma, constants.check_rhoeq,
        constants.check_kappa_prime,
        identities.check_stein, identities.check_dropmean, identities.check_expectation, identities.check_covariance,
        identities.check_expectations, partial(identities.check_expectations, "zexpuexp"),
        partial(identities.check_expectations, "sexpvexp"), identities.check_population_projected,
        tails.check_moment_tails, partial(tails.check_moment_tails, "zboundubound"),
        partial(tails.check_moment_tails, "sboundvbound"), tails.check_fraction,
        partial(tails.check_tolerances, "deltaprime"), partial(tails.check_tolerances, "deltaprimeprime"),
        tails.check_split, tails.check_final, tails.check_candidatebound, tails.check_voebound,
        tails.check_explicit_oracle, tails.check_projected_tail,
        slabs.check_derivative_floor, slabs.check_derivative_ceiling, slabs.check_coefficient_floor,
        slabs.check_coefficient_ceiling, slabs.check_slab, slabs.check_two_slabs, slabs.check_parallelogram,
        slabs.check_basis_angles, slabs.check_basis_norms, slabs.check_projection, slabs.check_cosine_gap,
        partial(slabs.check_projection, "anglecor"), slabs.check_projected_slabs, slabs.check_projected_slabs_tight,
        clusters.check_regions, clusters.check_far_field, clusters.check_all_but_one, clusters.check_own_floor,
        clusters.check_own_ceiling, clusters.check_cluster_radius, clusters.check_triangle_step,
        clusters.check_far_excluded, clusters.check_co_inclusion, clusters.check_chi_square,
        clusters.check_off_gaussian, clusters.check_off_oracle, clusters.check_spurious,
        partial(clusters.check_spurious, label="spuriouslemma2"), clusters.check_good_cluster,
        partial(clusters.check_good_cluster, "goodclusterlemma2"),
        theorems.check_oracle_union, theorems.check_gaussian_union, theorems.check_mirror,
        theorems.check_projected_union, runs.check_mirror_rate,
        *(partial(check, k) for k in (2, 3) for check in (runs.check_theorem_radius, runs.check_theorem_failures)),
        partial(runs.check_projected_radius, 2, "clusterlemma2"),
        *(partial(runs.check_projected_radius, k) for k in (2, 3)),
        *(partial(runs.check_theorem_failures, k, True) for k in (2, 3)),
    )  # fmt: skip


def printed_checks() -> tuple[Callable[[], Comparison], ...]:
    """Return the checks fed with the forms as printed; each must fail."""
    return (
        partial(constants.check_gamma, printed.gamma), partial(constants.check_delta, printed.Delta),
        partial(tails.check_final, printed.gaussian_tail_explicit),
        partial(tails.check_candidatebound, printed.gaussian_tail_collapsed, M=(1e-3,)),
        partial(slabs.check_derivative_floor, strict=True), partial(slabs.check_basis_angles, reverse=True),
        partial(clusters.check_all_but_one, printed.unit_sign),
        partial(clusters.check_cluster_radius, printed.unit_sign), partial(clusters.check_triangle_step, -1.0),
        partial(clusters.check_far_excluded, printed.excluded_far_norm),
        partial(clusters.check_off_gaussian, printed.chi_square_tail),
        partial(clusters.check_spurious, printed.spurious_off),
        partial(theorems.check_gaussian_union, inside=False),
        partial(theorems.check_mirror, printed.mirror_samples),
    )  # fmt: skip
