"""Each statement against a second way of getting its numbers (theory/verify), and a few known values."""

import math

import numpy as np
import pytest

from gradsift.paper.theory import bounds
from gradsift.paper.theory.constants import Problem, log_c1, log_c2, parameters
from gradsift.paper.theory.partition import split_candidates
from gradsift.paper.theory.verify import verify_gaussian as gaussian
from gradsift.paper.theory.verify import verify_partition as partition
from gradsift.paper.theory.verify import verify_projection as projection
from gradsift.paper.theory.verify import verify_theorems as theorems


def holds(check):
    assert check.holds, check
    return check


@pytest.mark.paper("Delta", "w0", "xi0", "gamma")
def test_the_worked_example_has_its_known_values():
    p = parameters(Problem(d=10, k=2, beta=1, kappa=0.9, u0=0.5, M=1), 0.25, 0.5, slack=1)
    assert p.xi0 == pytest.approx(259.0, abs=0.05)
    assert p.w0 == pytest.approx(9.56e-6, rel=5e-4)
    assert p.gamma == pytest.approx(6.62e-3, rel=5e-4)
    assert p.form == "printed"
    assert math.exp(log_c2(1.0) - log_c1(1.0)) == pytest.approx(351.6, abs=0.1)


@pytest.mark.paper("Delta")
def test_a_good_estimate_near_one_unit_reaches_the_threshold():
    holds(theorems.check_delta())


@pytest.mark.paper("w0")
def test_both_forms_of_w0_agree():
    holds(theorems.check_w0())


@pytest.mark.paper("xi0")
def test_both_forms_of_xi0_agree():
    holds(theorems.check_xi0())


@pytest.mark.paper("gamma")
def test_gamma_equals_its_definition():
    holds(theorems.check_gamma())


@pytest.mark.paper("rhoeq")
def test_xi0_solves_its_equation():
    holds(theorems.check_xi0_equation())


@pytest.mark.paper("kappaprime")
def test_kappa_prime_is_half_of_kappa_at_the_angle_of_the_theorem():
    holds(theorems.check_kappa_prime())


@pytest.mark.paper("stein")
def test_stein_identity_by_adaptive_quadrature():
    holds(gaussian.check_stein())


@pytest.mark.paper("dropmean")
def test_centring_one_factor_is_enough():
    holds(gaussian.check_centered_mean())


@pytest.mark.paper("expectation")
def test_tilted_means():
    holds(gaussian.check_kernel_mean())


@pytest.mark.paper("covariance")
def test_tilted_variances():
    holds(gaussian.check_kernel_covariance())


@pytest.mark.paper("expectations", "expectationsandbounds")
def test_means_of_all_kernel_sums():
    holds(gaussian.check_kernel_moments())


@pytest.mark.paper("zexpuexp")
def test_means_of_z_and_u():
    holds(gaussian.check_kernel_moments("zexpuexp"))


@pytest.mark.paper("sexpvexp")
def test_means_of_s_and_v():
    holds(gaussian.check_kernel_moments("sexpvexp"))


@pytest.mark.paper("populationdim")
def test_projected_mean_gradient_in_two_ways():
    holds(gaussian.check_projected_mean_gradient())


@pytest.mark.paper("bounds", "expectationsandbounds")
def test_deviations_of_all_kernel_sums():
    holds(gaussian.check_moment_tails())


@pytest.mark.paper("zboundubound")
def test_deviations_of_z_and_u():
    holds(gaussian.check_moment_tails("zboundubound"))


@pytest.mark.paper("sboundvbound")
def test_deviations_of_s_and_v():
    holds(gaussian.check_moment_tails("sboundvbound"))


@pytest.mark.paper("fractionlemma")
def test_ratio_lemma_is_attained():
    assert holds(gaussian.check_ratio_tolerance()).log_slack == pytest.approx(0, abs=1e-9)


@pytest.mark.paper("deltaprime")
def test_delta_prime_in_two_ways():
    holds(gaussian.check_tolerances("deltaprime"))


@pytest.mark.paper("deltaprimeprime")
def test_delta_double_prime_in_two_ways():
    holds(gaussian.check_tolerances("deltaprimeprime"))


@pytest.mark.paper("splitproducts")
def test_deviations_of_the_product():
    holds(gaussian.check_split())


@pytest.mark.paper("final")
def test_explicit_gaussian_bound_is_the_sum_of_its_parts():
    holds(gaussian.check_final())


@pytest.mark.paper("candidatebound", "assympboundscor")
def test_collapsed_gaussian_bound_has_constant_1735():
    check = holds(gaussian.check_gaussian_tail())
    assert check.log_slack < math.log(3)  # not a wasteful constant either


@pytest.mark.paper("voebound", "assympboundsvoestimate")
def test_oracle_concentration_with_proved_constants():
    holds(gaussian.check_oracle_tail())


@pytest.mark.paper("candidatebounddim", "subspace")
def test_projected_concentration():
    holds(gaussian.check_projected_tail())


@pytest.mark.paper("eq:BoundsFprime")
def test_derivative_between_its_bounds():
    holds(partition.check_derivative_least())
    holds(partition.check_derivative_most())


@pytest.mark.paper("lowerupperbound", "lemma:coeffboundssimple")
def test_smoothed_derivative_between_its_bounds():
    holds(partition.check_mean_derivative_least())
    holds(partition.check_mean_derivative_most())


@pytest.mark.paper("anglelemma")
def test_slab_probabilities_against_exact_normals():
    holds(partition.check_slab())
    holds(partition.check_slab_pair())
    with pytest.raises(ValueError, match="Delta must lie"):
        bounds.slab(2.0, 1.0)


@pytest.mark.paper("parallelogramlemma")
def test_parallelogram_against_the_exact_bivariate_normal():
    holds(partition.check_parallelogram())
    with pytest.raises(ValueError, match="c must lie"):
        bounds.parallelogram(0.1, 0.1, 1.0, 1.0)


@pytest.mark.paper("anglelemma2")
def test_slabs_after_projection():
    holds(partition.check_projected_slab_pair())
    holds(partition.check_projected_slab_pair_tight())


@pytest.mark.paper("basisangles")
def test_paired_basis_vectors_have_large_cosines():
    holds(partition.check_bases_angles())


@pytest.mark.paper("basisnorms")
def test_paired_basis_vectors_are_close():
    holds(partition.check_bases_distance())


@pytest.mark.paper("projectionlemma")
def test_projection_moves_a_vector_by_the_sine_and_a_cosine_by_its_square():
    holds(partition.check_projected_error())
    assert holds(partition.check_inner_gap()).log_slack == pytest.approx(0, abs=1e-6)


@pytest.mark.paper("anglecor")
def test_distance_to_the_projection():
    assert holds(partition.check_projected_distance()).log_slack == pytest.approx(0, abs=1e-6)


@pytest.mark.paper("Rsets")
def test_points_fall_in_their_regions():
    holds(partition.check_region_of())


@pytest.mark.paper("eq:InR0")
def test_mean_gradient_far_from_all_units():
    holds(partition.check_far_field())


@pytest.mark.paper("allbutone")
def test_mean_gradient_near_one_unit():
    holds(partition.check_all_but_one())


@pytest.mark.paper("albounds")
def test_own_part_between_its_bounds():
    holds(partition.check_own_part_least())
    holds(partition.check_own_part_most())


@pytest.mark.paper("clusterlemma")
def test_candidates_of_a_cluster_are_close_to_their_unit():
    holds(partition.check_cluster_radius())
    holds(partition.check_cluster_step())


@pytest.mark.paper("clusterlemma2")
def test_projected_candidates_are_close_to_the_projected_unit():
    assert bounds.projected_cluster_radius(0.1).value == pytest.approx(0.6)
    holds(projection.check_projected_cluster())
    units = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    c, s = math.cos(0.02), math.sin(0.02)
    basis = np.array([[c, 0.0, s], [0.0, 1.0, 0.0]])
    flat = units @ basis.T @ basis
    p = Problem(3, 2, 1.0, 1.0, 0.5)
    params, delta = parameters(p, 0.1, 0.5), 0.1
    from gradsift.paper.theory.gaussian_fields import projected_mean_gradient

    rng = np.random.default_rng(5)
    points = params.xi0 / 10 * rng.standard_normal((20_000, 3))
    means = projected_mean_gradient(units, np.array([0.5, 0.5]), 1.0, points, basis)
    split = split_candidates(flat, points, means, means, Delta=params.Delta, w0=params.w0, delta=delta)
    for unit in (1, 2):
        mine = means[split.cluster == unit]
        assert len(mine) > 100
        off = np.linalg.norm(mine / np.linalg.norm(mine, axis=1, keepdims=True) - flat[unit - 1], axis=1)
        assert off.max() <= 6 * delta


@pytest.mark.paper("eq:CoInclusion")
def test_spurious_candidates_are_off_far_or_shared():
    holds(partition.check_spurious_parts())
    holds(partition.check_far_is_empty())


@pytest.mark.paper("GCboundvo")
def test_share_of_oracle_estimates_that_are_off():
    holds(partition.check_off_oracle())


@pytest.mark.paper("GCbound")
def test_share_of_kernel_estimates_that_are_off():
    holds(partition.check_chi_square())
    holds(partition.check_off_gaussian())
    assert bounds.estimates_off_gaussian(0.1, 1.0, 5, 10.0).value == 1.0  # too few rows: nothing is said
    assert bounds.chi_square_tail(3.0, 1).value == 1.0


@pytest.mark.paper("spuriouslemma")
def test_spurious_candidates_are_few():
    holds(partition.check_spurious())


@pytest.mark.paper("spuriouslemma2")
def test_spurious_candidates_are_few_after_projection():
    holds(projection.check_spurious_projected())
    params = parameters(Problem(40, 3, 1.0, 0.5, 0.3), 0.3, 0.5)
    off = bounds.estimates_off_gaussian(params.gamma / 4, 1e9, 3, params.xi0)
    same = bounds.spurious(off, 1e5, params.gamma, 0.5)
    assert bounds.spurious_projected(off, 1e5, params, 0.5).log_value == same.log_value


@pytest.mark.paper("goodclusterlemma")
def test_clusters_are_large():
    holds(partition.check_good_cluster())


@pytest.mark.paper("goodclusterlemma2")
def test_clusters_are_large_after_projection():
    holds(projection.check_good_cluster_projected())
    holds(projection.check_projected_length())
    params = parameters(Problem(40, 3, 1.0, 0.5, 0.3), 0.3, 0.5)
    off = bounds.estimates_off_gaussian(params.gamma / 4, 1e9, 3, params.xi0)
    same = bounds.good_cluster(off, 1e5, params.gamma)
    assert bounds.good_cluster_projected(off, 1e5, params).log_value == same.log_value


@pytest.mark.paper("maintheorem")
def test_the_union_bound_closes_for_both_access_models():
    holds(theorems.check_oracle_failure())
    holds(theorems.check_gaussian_failure())


@pytest.mark.paper("dimredtheorem")
def test_the_union_bound_closes_after_projection():
    holds(theorems.check_projected_failure())


@pytest.mark.paper("sunthm")
def test_subspace_samples_reach_the_level_asked_for():
    holds(theorems.check_mirror_level())
    check = holds(theorems.check_mirror())
    assert check.log_slack == pytest.approx(0, abs=1e-9)
    assert bounds.mirror_failure(10, 10, 0.1).value == pytest.approx(math.exp(-0.01))


def test_a_check_without_cases_or_with_an_undefined_one_is_refused():
    from gradsift.paper.theory.inequality import at_most

    with pytest.raises(ValueError, match="no cases"):
        at_most("gamma", "nothing", [], "by hand")
    with pytest.raises(ValueError, match="undefined"):
        at_most("gamma", "nothing", [(math.nan, 0.0)], "by hand")
