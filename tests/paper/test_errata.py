"""Each erratum: the printed form fails a check that the repaired form passes."""

import math

import numpy as np
import pytest

from gradsift.paper.theory import bounds, printed
from gradsift.paper.theory.constants import Problem, log_c1, log_c2, parameters
from gradsift.paper.theory.gaussian_fields import mean_gradient
from gradsift.paper.theory.partition import split_candidates
from gradsift.paper.theory.verify import verify_gaussian as gaussian
from gradsift.paper.theory.verify import verify_partition as partition
from gradsift.paper.theory.verify import verify_projection as projection
from gradsift.paper.theory.verify import verify_theorems as theorems


@pytest.mark.paper("gamma", erratum="k for kappa")
def test_printed_gamma_is_not_its_definition():
    assert theorems.check_gamma().holds
    wrong = theorems.check_gamma(printed.gamma)
    assert not wrong.holds
    assert wrong.log_slack < -math.log(1e5)


@pytest.mark.paper("GCbound", erratum="sign of the tail")
def test_a_growing_chi_square_tail_bounds_nothing():
    assert partition.check_off_gaussian().holds
    assert not partition.check_off_gaussian(printed.chi_square_tail).holds
    assert printed.chi_square_tail(40.0, 10).value > 1  # no probability exceeds it
    assert bounds.chi_square_tail(40.0, 10).value < 0.01


@pytest.mark.paper("spuriouslemma2", erratum="exponent")
def test_exponent_four_promises_too_much_after_projection_too():
    assert projection.check_spurious_projected().holds
    assert not projection.check_spurious_projected(printed.spurious_off).holds


@pytest.mark.paper("spuriouslemma", erratum="exponent")
def test_exponent_four_promises_more_than_the_proof_delivers():
    assert partition.check_spurious().holds
    wrong = partition.check_spurious(printed.spurious_off)
    assert not wrong.holds
    assert wrong.log_slack < -5  # and the gap grows with n, so no constant helps


@pytest.mark.paper("dimredtheorem", erratum="power of the angle")
def test_the_printed_n1_leaves_the_subspace_to_chance():
    assert theorems.check_mirror().holds
    assert not theorems.check_mirror(printed.mirror_samples).holds
    # Any constant in front fails at a small enough angle: the exponent n theta^2/d goes to zero with theta.
    for constant in (1, 1e3, 1e6):
        theta = 1e-3 / constant
        n1 = constant * printed.mirror_samples(10, theta, 0.1).value
        assert bounds.mirror_failure(n1, 10, theta).value > 0.99


@pytest.mark.paper("dimredtheorem", erratum="order of n1")
def test_n1_grows_with_the_square_of_k():
    def theta(k):
        return bounds.needed_theta(Problem(10**6, k, 1.0, 0.01, 1.0, M=k), 0.5)

    def slope(samples):
        return math.log(samples(10, theta(2000), 0.1).value / samples(10, theta(200), 0.1).value) / math.log(10)

    assert slope(bounds.mirror_samples) == pytest.approx(2, abs=0.01)
    assert slope(printed.mirror_samples) == pytest.approx(1, abs=0.01)


@pytest.mark.paper("basisangles", erratum="direction")
def test_paired_cosines_are_not_at_most_cos_theta():
    assert partition.check_bases_angles().holds
    assert not partition.check_bases_angles(reverse=True).holds


@pytest.mark.paper("allbutone", erratum="sign of u")
def test_the_own_part_of_a_negative_weight_points_the_other_way():
    assert partition.check_all_but_one().holds
    assert not partition.check_all_but_one(printed.unit_sign).holds


@pytest.mark.paper("clusterlemma", erratum="sign of u")
def test_candidates_of_a_negative_weight_are_far_from_the_unit_itself():
    assert partition.check_cluster_radius().holds
    assert not partition.check_cluster_radius(printed.unit_sign).holds


@pytest.mark.paper("maintheorem", erratum="sign of u")
def test_theorem_one_with_exact_gradients_fails_for_a_negative_weight_as_printed():
    # m0 = 20,000 points, seed 6; exact mean gradients stand in for estimates.
    units, weights, delta = np.eye(2), np.array([0.8, -0.8]), 0.1
    params = parameters(Problem(2, 2, 1.0, 1.0, 0.8, M=2), delta, 0.5)
    points = params.xi0 * np.random.default_rng(6).standard_normal((20_000, 2))
    means = mean_gradient(units, weights, 1.0, points)
    split = split_candidates(units, points, means, means, Delta=params.Delta, w0=params.w0, delta=delta)
    mine = means[split.cluster == 2]
    directions = mine / np.linalg.norm(mine, axis=1, keepdims=True)
    assert len(mine) >= params.gamma * 20_000 / 2
    assert np.linalg.norm(directions + units[1], axis=1).max() <= 6 * delta
    assert np.linalg.norm(directions - printed.unit_sign(-0.8) * units[1], axis=1).min() > 6 * delta


@pytest.mark.paper("Delta", erratum="slack")
@pytest.mark.paper("goodclusterlemma", erratum="slack")
@pytest.mark.paper("goodclusterlemma2", erratum="slack")
def test_the_printed_delta_lets_good_estimates_fall_short():
    assert theorems.check_delta().holds
    wrong = theorems.check_delta(printed.Delta)
    assert not wrong.holds
    assert wrong.log_slack == pytest.approx(math.log(0.5), abs=1e-6)  # (1 - delta) w0, at delta = 0.5


@pytest.mark.paper("maintheorem", erratum="orders after it")
def test_numbers_of_points_and_queries_grow_like_powers_of_k_not_log_k():
    def sizes(k):
        p = Problem(10**6, k, 1.0, 0.5, 1e-5)
        params = parameters(p, 0.2, 0.5)
        m0 = bounds.candidate_points(p, 0.2, 0.5, params.gamma).log_value
        return m0, m0 + bounds.oracle_queries(p, 0.2, 0.5, params).log_value

    (m_low, n_low), (m_high, n_high) = sizes(10**3), sizes(10**5)
    decades = math.log(100)
    assert (m_high - m_low) / decades == pytest.approx(2, abs=0.15)
    assert (n_high - n_low) / decades == pytest.approx(4, abs=0.25)
    assert m_high - m_low > 10 * math.log(math.log(1e5) / math.log(1e3))  # what "log k" would allow


@pytest.mark.paper("maintheorem", erratum="Theta hides beta")
def test_the_constants_grow_exponentially_with_beta_squared():
    ratios = {beta: log_c2(beta) - log_c1(beta) for beta in (1.0, 3.0, 10.0)}
    assert math.exp(ratios[1.0]) == pytest.approx(352, rel=2e-3)
    assert math.exp(ratios[3.0]) == pytest.approx(8e9, rel=0.02)
    assert ratios[10.0] / (2 * 10.0**2) == pytest.approx(1, abs=0.03)
    # w0 would be delta u0^2/k up to a constant: but the factor moves by eight orders between beta = 0.5 and 3.
    factor = {b: parameters(Problem(5, 2, b, 0.5, 0.5), 0.2, 0.5).log_w0 for b in (0.5, 3.0)}
    assert (factor[0.5] - factor[3.0]) / math.log(10) > 8


@pytest.mark.paper("maintheorem", erratum="constant outside the power")
def test_a_constant_outside_the_power_does_not_close_the_union_bound():
    assert theorems.check_gaussian_failure().holds
    assert not theorems.check_gaussian_failure(inside=False).holds
    assert printed.kernel_samples_power(2.0, 1e5, 10.0) < 1e5 * (2.0 + math.log(10.0))


@pytest.mark.paper("final", erratum="sum of the parts")
def test_two_m_squared_is_less_than_the_parts():
    assert gaussian.check_final().holds
    assert not gaussian.check_final(printed.gaussian_tail_final).holds


@pytest.mark.paper("candidatebound", erratum="range of M and delta")
def test_the_collapse_fails_for_small_m_and_for_large_delta():
    assert gaussian.check_gaussian_tail().holds
    assert not gaussian.check_gaussian_tail(printed.gaussian_tail, M=(1e-3,)).holds
    assert not gaussian.check_gaussian_tail(printed.gaussian_tail, delta=(1e4,)).holds


@pytest.mark.paper("anglelemma2", erratum="length of projected units")
def test_projected_units_are_shorter_than_one():
    assert partition.check_projected_slab_pair().holds

    def unit_length(t, c, kappa, theta):
        return printed.projected_slab_pair_unit_length(t, t, 1.0, c * math.cos(theta) ** 2)

    assert not partition.check_projected_slab_pair(unit_length).holds
    assert 1 - np.eye(2)[0] @ np.eye(2)[0] == 0  # (w_l, w_l) in place of (w_l, w_l'): never at least kappa^2


def test_kappa_cos_theta_would_be_too_much_and_kappa_cos_squared_is_right():
    def one_cosine(t, c, kappa, theta):
        return bounds.slab_pair(t, t, 1.0, kappa * math.cos(theta))

    assert partition.check_projected_slab_pair_tight().holds
    assert not partition.check_projected_slab_pair(one_cosine).holds


@pytest.mark.paper("projectionlemma", erratum="loose")
def test_the_printed_projection_error_says_nothing_where_the_sine_is_exact():
    k, theta = 3, 0.2
    assert printed.projected_error(k, theta) > 1  # more than any unit vector can move
    assert partition.check_projected_error().holds
    assert partition.check_projected_distance().log_slack == pytest.approx(0, abs=1e-6)
    assert printed.projected_error(k, theta) > 2 * k * bounds.projected_error(theta)


@pytest.mark.paper("anglecor", erratum="loose")
def test_the_printed_angle_costs_the_fourth_power_of_the_accuracy():
    p = Problem(50, 3, 1.0, 1.0, 1.0, M=3)

    def exponent(angle):
        n = [bounds.mirror_samples(50, angle(delta), 0.1).log_value for delta in (1e-2, 1e-3)]
        return (n[1] - n[0]) / math.log(10)

    assert exponent(lambda delta: bounds.needed_theta(p, delta)) == pytest.approx(4, abs=0.01)
    assert exponent(lambda delta: bounds.needed_theta_tight(1.0, 1.0, delta)) == pytest.approx(2, abs=0.01)
    theta = bounds.needed_theta_tight(1.0, 1.0, 0.01)
    assert bounds.projected_error(theta) <= 0.01 < printed.projected_error_by_angle(3, theta)


@pytest.mark.paper("clusterlemma", erratum="minus signs")
def test_subtracting_the_second_term_breaks_the_step():
    assert partition.check_cluster_step().holds
    assert not partition.check_cluster_step(-1.0).holds


@pytest.mark.paper("clusterlemma", erratum="nothing above a third")
def test_six_delta_is_no_restriction_from_one_third_on():
    rng = np.random.default_rng(7)
    a, b = rng.standard_normal((2, 1000, 3))
    a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    assert (np.linalg.norm(a - b, axis=1) <= bounds.cluster_radius(1 / 3).value).all()
    assert not (np.linalg.norm(a - b, axis=1) <= bounds.cluster_radius(0.3).value).all()


@pytest.mark.paper("eq:CoInclusion", erratum="one half excluded")
def test_the_far_set_is_excluded_only_below_one_half():
    assert partition.check_far_is_empty().holds
    assert not partition.check_far_is_empty(printed.far_is_empty).holds
    # The statement survives at one half all the same: the far gradient is at most half of what the bound allows.
    half = partition.check_far_at_one_half()
    assert half.holds
    assert half.log_slack > 0


@pytest.mark.paper("eq:BoundsFprime", erratum="strict at zero")
def test_the_lower_bound_on_the_derivative_is_attained_at_zero():
    assert partition.check_derivative_least().holds
    assert not partition.check_derivative_least(strict=True).holds


@pytest.mark.paper("population", erratum="bias at finite n")
def test_the_kernel_estimate_from_few_rows_is_too_short():
    assert gaussian.check_mean_gradient().holds
    wrong = gaussian.check_mean_gradient(printed.kernel_mean_shrinkage)
    assert not wrong.holds
    assert wrong.log_slack == pytest.approx(math.log(0.5), abs=0.01)  # two rows: half of it
    # One row has no covariance at all, wherever the point is.
    from gradsift import KernelGradients

    assert (KernelGradients().estimate((np.array([[0.3, 1.0]]), np.array([1.0])), np.ones((1, 2))).values == 0).all()


@pytest.mark.paper("sunthm", erratum="absolute constants")
def test_no_constant_serves_every_slope():
    assert theorems.check_mirror_slope().holds
    assert not theorems.check_mirror_slope(printed.mirror_slope_factor).holds


def test_the_second_direction_of_the_mirror_fades_with_the_cube_of_the_slope():
    # E r(x) sgn<m, x> (<t, x>^2 - 1), m the mean unit and t across it, in polar coordinates over the half plane.
    from numpy.polynomial.legendre import leggauss

    def signal(beta):
        nodes, weights = leggauss(200)
        angle, radius = np.pi / 4 + np.pi / 2 * nodes, 5 * (1 + nodes)  # half plane about m = (1, 1)/sqrt 2
        A, R = np.meshgrid(angle, radius, indexing="ij")
        x = np.stack((R * np.cos(A), R * np.sin(A)))
        density = R * np.exp(-(R**2) / 2) / (2 * np.pi)
        r = 0.5 * np.tanh(beta * x).sum(axis=0)
        across = ((x[0] - x[1]) ** 2 / 2 - 1) * r * density
        return 2 * (np.pi / 2) * 5 * weights @ across @ weights

    # At first order the answers are linear in <m, x>, which is independent of <t, x>: nothing is left but beta^3.
    ratio = signal(0.04) / signal(0.02)
    assert ratio == pytest.approx(8, rel=0.02)


@pytest.mark.paper("clusterlemma2", erratum="needs the angle")
def test_no_unit_vector_is_near_a_short_projected_unit():
    assert projection.check_projected_cluster().holds
    assert not projection.check_projected_cluster(printed.projected_angle).holds


@pytest.mark.paper("clusterlemma2", erratum="projected points")
def test_regions_cut_by_the_units_themselves_do_not_keep_gradients_small():
    assert projection.check_projected_region_of().holds
    wrong = projection.check_projected_region_of(printed.projected_region_units)
    assert not wrong.holds
    assert wrong.log_slack < -math.log(1000)


@pytest.mark.paper("goodclusterlemma2", erratum="shorter units")
def test_projected_estimates_near_their_unit_fall_short_without_the_cosine():
    right, wrong = (
        projection.check_projected_length(),
        projection.check_projected_length(printed.projected_length),
    )
    assert right.holds
    assert right.log_slack == pytest.approx(0, abs=1e-9)
    assert not wrong.holds


@pytest.mark.paper("anglelemma2", erratum="cross term")
def test_the_dropped_cross_term_is_covered_only_by_the_sharper_lemma():
    assert projection.check_cross_term().holds
    assert not projection.check_cross_term(printed.inner_gap).holds


@pytest.mark.paper("candidatebound", erratum="power of M")
def test_labels_in_another_unit_of_measurement_break_the_fourth_power():
    assert gaussian.check_homogeneous_tail().holds
    assert not gaussian.check_homogeneous_tail(printed.gaussian_tail).holds
    for M in (1e-3, 50.0):  # the same chance in every unit of measurement
        same = bounds.gaussian_tail_homogeneous(1e9, 0.1 * M, 3, M, 0.5).log_value
        assert same == pytest.approx(bounds.gaussian_tail_homogeneous(1e9, 0.1, 3, 1.0, 0.5).log_value)
