"""Every formula pinned: numbers worked out by hand from the paper's own source (errata applied), with their inputs.

The inputs are odd on purpose: no two letters share a value, so that no letter can stand in for another.
"""

import math

import numpy as np
import pytest

import gradsift as gs
from gradsift.paper.method.literal import ROW_POLICY, row_options
from gradsift.paper.theory import bounds, constants, printed, tight
from gradsift.paper.theory.constants import Problem, RunParameters, parameters
from gradsift.paper.theory.partition import CandidateRun, check_theorem, region_of, split_candidates

# d = 7, k = 3, beta = 1.3, kappa = 0.6, u0 = 0.25, M = 2; delta = 0.2, rho = 0.4
P = Problem(7, 3, 1.3, 0.6, 0.25, M=2.0)
RUN = parameters(P, 0.2, 0.4)
OFF = bounds.chance_of(math.log(0.01), "GCbound")
VOE = {"c1": 2.0, "c2": 0.3, "c3": 0.7, "c4": 0.1}
MOMENTS = bounds.kernel_moments(50.0, 0.8, 0.3, 0.9)
TAILS = bounds.moment_tails(1e5, 0.5, 7, 2.0, 0.8)

PINS = {
    "eq:BoundsFprime, low": (bounds.derivative_bounds(0.7, 1.3)[0].value, 0.21063347621404505),
    "eq:BoundsFprime, high": (bounds.derivative_bounds(-0.7, 1.3)[1].value, 0.8425339048561802),
    "lowerupperbound, low": (bounds.mean_derivative_bounds(-0.7, 1.3)[0].value, 0.028836288773311295),
    "lowerupperbound, high": (bounds.mean_derivative_bounds(0.7, 1.3)[1].value, 49.49174094943371),
    "anglelemma, one": (bounds.slab(0.3, 2.0).value, 0.072591217355743),
    "anglelemma, two": (bounds.slab_pair(0.3, 0.5, 2.0, 0.6).value, 0.039788735772973836),
    "parallelogramlemma": (bounds.parallelogram(0.3, 0.5, 2.0, 0.4).value, 0.026047841926607126),
    "anglelemma2": (bounds.projected_slab_pair(0.3, 0.5, 2.0, 2, 0.6, 0.05).value, 0.042201777866915036),
    "kappaprime": (constants.kappa_prime(2, 0.6, 0.05), 0.5656927899831496),
    "kappaprime, not real": (constants.kappa_prime(2, 0.6, 0.5), 0.0),
    "Delta": (RUN.Delta, 9.137494817805706),
    "Delta, printed": (printed.Delta(P, 0.2), 9.01891737178474),
    "Delta, shorter units": (parameters(P, 0.2, 0.4, length=0.5).Delta, 9.137494817805706 + math.log(2) / 1.3),
    "w0": (RUN.w0, 2.204421534637652e-07),
    "w0, closed": (math.exp(constants.log_w0_closed(P, 0.2)), 2.2044215346376503e-07),
    "xi0": (RUN.xi0, 1021.7234750421276),
    "gamma": (RUN.gamma, 0.0019094088642116385),
    "gamma, definition": (constants.gamma_at(3, 0.6, RUN.Delta / RUN.xi0), 0.0019094088642116385),
    "gamma, printed": (printed.gamma(3, 0.6, 0.4), 0.24 / (4 * math.e)),
    "voebound, first": (bounds.value_oracle_tail(500, 0.3, 4, 2.0, **VOE).value, 0.8601892812801245),
    "voebound, second": (
        bounds.value_oracle_tail(500, 0.3, 4, 2.0, c1=2.0, c2=9.0, c3=1.2, c4=0.8).value,
        2 * math.exp(-((1.2 * math.sqrt(500) * 0.15 - 1.6) ** 2)),
    ),
    "voebound, no promise": (bounds.value_oracle_tail(5, 0.3, 4, 2.0, c1=0.9, c2=9.0, c3=0.1, c4=5.0).value, 0.9),
    "zexpuexp, z": (math.exp(MOMENTS.z), 68.85638821679785),
    "zexpuexp, u": (math.exp(MOMENTS.u), 55.085110573438286),
    "sexpvexp, s": (math.exp(MOMENTS.s), 20.656916465039355),
    "sexpvexp, v": (math.exp(MOMENTS.v), 61.97074939511807),
    "zboundubound, z": (TAILS["z"].value, 0.0001438655890227713),
    "zboundubound, u": (TAILS["u"].value, 0.0013753550310576937),
    "sboundvbound, s": (TAILS["s"].value, 0.0005754623560910852),
    "sboundvbound, v": (TAILS["v"].value, 0.005501420124230775),
    "fractionlemma": (bounds.ratio_tolerance(0.4, 1.7, 0.5), 0.4898305084745762),
    "deltaprime": (math.exp(bounds.log_ratio_tolerance(1e5, 0.8, 0.9, 0.5)), 16013.113538790201),
    "deltaprimeprime": (math.exp(bounds.log_product_tolerance(1e5, 0.8, 0.3, 0.5)), 3182014898.162671),
    "splitproducts": (bounds.product_tail(1e7, 0.5, 7, 2.0, 0.8).value, 0.00913820525440854),
    "final": (bounds.gaussian_tail_final(1e7, 0.5, 7, 2.0, 0.8).value, 0.05898351493242433),
    "candidatebound": (bounds.gaussian_tail(1e7, 0.5, 7, 2.0, 0.8, C=5.0).value, 0.003542298570645706),
    "candidatebounddim": (bounds.projected_tail(1e7, 0.5, 3, 2.0, 0.8, C=5.0).value, 0.0008040836178700444),
    "eq:InR0": (bounds.far_field(P, 1.1).value, 52.47926267060525),
    "allbutone": (bounds.one_unit_left(P, 1.1).value, 52.47926267060525),
    "albounds, low": (bounds.own_part(P, 1.1)[0].value, 0.00254808031931057),
    "albounds, high": (bounds.own_part(P, 1.1)[1].value, 305.45601957821026),
    "clusterlemma": (bounds.cluster_radius(0.11).value, 0.66),
    "clusterlemma2": (bounds.projected_cluster_radius(0.11).value, 0.66),
    "GCbound, tail": (bounds.chi_square_tail(28.0, 7).value, math.exp(-4.0)),
    "GCbound, tail too near": (bounds.chi_square_tail(27.9, 7).value, 1.0),
    "GCboundvo": (
        bounds.estimates_off_oracle(0.6, 5000, 0.3, math.log(0.5), 4, 2.0, **VOE).value,
        2 * math.exp(-0.3 * 5000 * 0.0225 / 16) / 0.6,
    ),
    "signal": (math.exp(bounds.log_information(1e9, 0.2, RUN.log_w0, 7, 2.0)), 2.479323623660317e-09),
    "GCbound": (bounds.estimates_off_gaussian(0.01, 2000.0, 7, 3.0, C=5.0).value, 1.2776787307144969e-08),
    "spuriouslemma": (bounds.spurious(OFF, 3000, 0.02, 0.4, c5=0.07).value, 0.19637397603940987),
    "goodclusterlemma": (bounds.good_cluster(OFF, 3000, 0.02, c5=0.07).value, 0.02499557682047769),
    "maintheorem, m0": (bounds.candidate_points(P, 0.2, 0.4, RUN.gamma, C=5.0).value, 17728.32846240816),
    "maintheorem, n0": (bounds.oracle_queries(P, 0.2, 0.4, RUN, C1=5.0).value, 7.119815157480758e17),
    "maintheorem, log n": (bounds.kernel_samples(P, 0.2, 0.4, RUN, C2=5.0).log_value, 107996238.86466467),
    "dimredtheorem, log n2": (bounds.kernel_samples(P, 0.2, 0.4, RUN, d=3, C2=5.0).log_value, 139995107.3423292),
    "maintheorem, log n, few": (bounds.kernel_samples(P, 0.2, 0.4, RUN, C2=1e-4).log_value, 37581123.478823684),
    "sunthm": (bounds.mirror_failure(4000, 7, 0.2, C1=5.0, C2=0.3).value, 5 * math.exp(-0.3 * 4000 * 0.04 / 7)),
    "dimredtheorem, n1": (bounds.mirror_samples(7, 0.2, 0.2, C1=5.0, C2=0.3).value, 1877.6775645064504),
    "theta*, kappa": (bounds.needed_theta(Problem(7, 3, 1.3, 0.01, 0.25), 0.2), 0.001443375798267121),
    "theta*, delta": (bounds.needed_theta(P, 0.2), 0.0066666790124074084),
    "theta*, u0": (bounds.needed_theta(Problem(7, 3, 1.3, 0.6, 1e-4), 0.2), 6e-05),
    "basisnorms": (bounds.bases_distance(0.3), 0.29887626494719843),
    "anglecor": (bounds.projected_error(0.3), 0.29552020666133955),
    "projectionlemma": (bounds.inner_gap(0.3), 0.08733219254516084),
    "ours: oracle tail": (bounds.value_oracle_tail_tight(500, 0.3, 4, 2.0).value, 0.6845193097112248),
    "ours: oracle tail, few": (bounds.value_oracle_tail_tight(10, 0.3, 4, 2.0).value, 1.0),
    "ours: homogeneous": (bounds.gaussian_tail_homogeneous(1e9, 0.5, 7, 2.0, 0.8).value, 0.0030729440100351504),
    "ours: homogeneous, too far": (bounds.gaussian_tail_homogeneous(1e9, 2.1, 7, 2.0, 0.8).value, 1.0),
    "ours: theta*": (bounds.needed_theta_tight(0.9, 0.5, 0.2), 0.2013579207903308),
    "ours: theta*, wide": (bounds.needed_theta_tight(1.0, 1.0, 0.9), math.pi / 4),
    "ours: theta*, u0": (bounds.needed_theta_tight(0.5, 0.3, 0.2), 0.15),
    "ours: two slabs": (bounds.projected_slab_pair_tight(0.3, 0.5, 2.0, 0.6, 0.3).value, 0.043596076741145136),
    "tight: failure": (math.exp(tight.log_failure(3, 0.02, 0.4, 4000)), 0.0019538115333509495),
    "tight: n0": (
        tight.tight_oracle_queries(
            P, 0.4, RunParameters(1.0, math.log(0.05), 9.0, 0.02, "x"), tight.Split(0.1, 0.3, 0.0)
        ).value,
        1397361.5434872443,
    ),
    "tight: radius": (tight.Split(0.1, 0.2, 0.1).radius, 0.40193667700819236),
    "rows: scale": (row_options(10_000, 7, 3).point_scale, 3.244395672888634),
    "rows: share": (row_options(10_000, 7, 3).share, 0.9552093682291041),
    "rows: points": (row_options(10_000, 7, 3).n_points, 1500),
}


@pytest.mark.parametrize("name", PINS)
def test_a_formula_has_the_value_worked_out_by_hand(name):
    found, by_hand = PINS[name]
    assert found == pytest.approx(by_hand, rel=1e-11)


def test_the_row_policy_is_the_one_that_was_reported():
    assert (ROW_POLICY.reach, ROW_POLICY.active, ROW_POLICY.points_per_unit) == (2.0, 1.5, 500)


def test_the_conditions_of_the_large_sample_bounds():
    # Nothing is said up to log x = 4 d (1/7 + (1 + 2/d) xi0^2), here 328.
    assert bounds.estimates_off_gaussian(0.5, 327.9, 7, 3.0).value == 1.0
    assert bounds.estimates_off_gaussian(0.5, 328.1, 7, 3.0).log_value == pytest.approx(math.log(2) - 328.1 / 82)
    with pytest.raises(ValueError, match="strictly between 0 and xi0"):
        bounds.slab(2.0, 2.0)


def test_exact_parameters_solve_their_two_equations():
    # k h(Delta) = delta w0 and u0 h(Delta/2) = (1 + 2 delta) w0, h by Gauss-Hermite with 200 nodes.
    from scipy.special import roots_hermitenorm

    nodes, weights = roots_hermitenorm(200)

    def h(z):
        return float(weights @ (1.3 / np.cosh(1.3 * (z + nodes)) ** 2)) / math.sqrt(2 * math.pi)

    for length in (1.0, 0.8):
        run = constants.exact_parameters(P, 0.2, 0.4, length=length)
        assert 3 * h(run.Delta) == pytest.approx(0.2 * run.w0, rel=1e-6)
        assert length * 0.25 * h(run.Delta / 2) == pytest.approx(1.4 * run.w0, rel=1e-6)
        assert run.xi0 / run.Delta == pytest.approx(RUN.xi0 / RUN.Delta)
        assert run.gamma == RUN.gamma
    split = tight.Split(0.1, 0.3, 0.2)
    run = tight.tight_parameters(P, 0.4, split)
    assert 3 * h(run.Delta) == pytest.approx(0.1 * run.w0, rel=1e-6)
    assert math.cos(0.2) * 0.25 * h(run.Delta / 2) == pytest.approx(1.4 * run.w0, rel=1e-6)


def test_tight_points_are_the_fewest_that_reach_the_chance():
    m0 = tight.tight_points(3, 0.02, 0.4, 0.01).value
    assert tight.log_failure(3, 0.02, 0.4, m0) == pytest.approx(math.log(0.01), abs=1e-6)
    spent = tight.split_of(0.6, 0.25, 0.1)
    assert spent.radius == pytest.approx(0.6, rel=1e-9)
    assert spent.far == pytest.approx((spent.far + spent.error) / 4)


def test_rows_of_a_tight_plan_carry_the_square_of_m():
    sizes = {
        M: gs.plan(Problem(7, 3, 1.3, 0.6, 0.25, M=M), "gaussian", delta=0.1, rho=0.4, form="tight") for M in (1, 8)
    }
    assert sizes[8].n.log_value - sizes[1].n.log_value == pytest.approx(2 * math.log(8), abs=1e-6)
    printed_form = {M: gs.plan(Problem(7, 3, 1.3, 0.6, 0.25, M=M), "gaussian", delta=0.1, rho=0.4) for M in (1, 8)}
    assert printed_form[8].n.log_value - printed_form[1].n.log_value == pytest.approx(4 * math.log(8), abs=1e-6)


def test_a_tight_projected_plan_takes_signed_weights_and_the_sharp_angle():
    p = Problem(20, 2, 1.0, 0.9, 0.8, M=2.0)
    with pytest.raises(ValueError, match="mixture weights"):
        gs.plan(p, "projected", delta=0.1, rho=0.5, form="exact")
    made = gs.plan(p, "projected", delta=0.1, rho=0.5, form="tight")
    assert made.theta == pytest.approx(math.asin(0.1))
    assert made.n1.log_value == pytest.approx(math.log(20 / math.asin(0.1) ** 2 * math.log(3 / 0.1)))
    assert made.tight.split.radius == pytest.approx(0.7, rel=1e-9)


def test_projected_units_widen_the_slab_by_the_logarithm_of_their_cosine():
    # Delta = (log argument - log length)/beta, and a projected unit is cos(theta) long; theta* = 2 asin(0.5^2/4) here.
    p = Problem(7, 1, 1.3, 1.0, 1.0)
    projected, gaussian = (gs.plan(p, scheme, delta=0.5, rho=0.4) for scheme in ("projected", "gaussian"))
    wider = projected.parameters.Delta - gaussian.parameters.Delta
    assert wider == pytest.approx(-math.log(math.cos(2 * math.asin(0.0625))) / 1.3, rel=1e-9)


# The partition, at its edges


def test_the_edges_of_the_sets_belong_where_the_proof_puts_them():
    # Unit e1; Delta = 1, w0 = 1, delta = 0.25; lengths and errors are exact in binary.
    units = np.array([[1.0, 0.0]])
    points = np.array([[1.0, 0], [0.5, 0], [0.5, 0], [0.5, 0], [0.5, 0], [2.0, 0], [2.0, 0]])
    means = np.array([[0.75, 0], [1.0, 0], [1.25, 0], [1.25, 0], [0.5, 0], [0.75, 0], [0.5, 0]])
    estimates = np.array([[1.0, 0], [1.0, 0], [1.0, 0], [0.75, 0], [1.0, 0], [1.0, 0], [0.5, 0]])
    split = split_candidates(units, points, estimates, means, Delta=1.0, w0=1.0, delta=0.25)
    np.testing.assert_array_equal(split.region, [0, 1, 1, 1, 1, 0, 0])  # Delta itself is far
    np.testing.assert_array_equal(split.good, [True, True, True, False, False, True, True])  # delta w0 itself is good
    np.testing.assert_array_equal(split.cluster, [0, 1, 1, -1, 0, 0, -1])  # w0 itself is kept
    np.testing.assert_array_equal(split.far, [True, False, False, False, False, True, False])  # (1 - delta) w0 counts
    np.testing.assert_array_equal(region_of(np.eye(2), np.array([[0.5, 0.5], [0.5, 3], [3, 3]]), 1.0), [-1, 1, 0])


@pytest.mark.parametrize(
    ("basis", "label", "radius"), [(None, "maintheorem", 0.6), (np.eye(2)[:1], "dimredtheorem", 0.7)]
)
def test_the_thresholds_of_the_report(basis, label, radius):
    params = RunParameters(Delta=1.0, log_w0=math.log(0.1), xi0=50.0, gamma=0.02, form="by hand")
    points = np.array([[0.2, 0.0], [0.3, 0.0], [-0.1, 0.0]])
    units, weights = np.array([[1.0, 0.0]]), np.array([-0.5])
    from gradsift.paper.theory.gaussian_fields import mean_gradient

    estimates = mean_gradient(units, weights, 1.0, points)
    run = CandidateRun(units, weights, 1.0, points, estimates, params, 0.1, 0.4, m0=250, basis=basis)
    report = check_theorem(run)
    assert report.label == label
    claims = {claim.what: claim for claim in report.claims}
    assert claims["unit 1: distance at most"].claimed == pytest.approx(radius)
    assert claims["unit 1: distance at most"].measured == pytest.approx(
        0.0, abs=1e-12
    )  # to minus e1: the weight is negative
    assert claims["unit 1: candidates at least"].claimed == pytest.approx(2.5)
    assert claims["unit 1: candidates at least"].measured == 3
    assert claims["spurious candidates at most"].claimed == pytest.approx(4.0)
    assert report.holds


def test_a_report_of_projected_points_sees_them_through_the_basis():
    # e1 seen through a subspace turned by 60 degrees: <P e1, xi> = cos 60 (cos 60 x + sin 60 y).
    c, s = 0.5, math.sqrt(0.75)
    basis = np.array([[c, s]])
    from gradsift.paper.theory.gaussian_fields import projected_mean_gradient

    points = np.array([[0.0, 3.0]])  # on the plane of e1, far from that of P e1 (1.299)
    units = np.array([[1.0, 0.0]])
    found = projected_mean_gradient(units, np.ones(1), 1.0, points, basis)
    params = RunParameters(1.0, math.log(1e-3), 50.0, 0.02, "by hand")
    run = CandidateRun(units, np.ones(1), 1.0, points, found, params, 0.1, 0.4, basis=basis)
    assert check_theorem(run).partition.region[0] == 0


# The paper's method


def test_directions_are_clustered_and_not_axes():
    rng = np.random.default_rng(3)
    rows = np.vstack((rng.standard_normal((40, 2)) * 0.05 + [1, 0], rng.standard_normal((40, 2)) * 0.05 - [1, 0]))
    found = gs.DirectionalKMeans(2, random_state=0).fit(rows)
    assert found.cluster_centers_[:, 0].min() < -0.99 < 0.99 < found.cluster_centers_[:, 0].max()
    assert len(set(found.labels_[:40])) == len(set(found.labels_[40:])) == 1
    assert found.labels_[0] != found.labels_[40]
    np.testing.assert_array_equal(found.predict([[3.0, 0.1], [-0.2, 0.0]]), found.labels_[[0, 40]])


def test_seeds_are_drawn_by_squared_distance():
    # Rows at 0, 60 and 180 degrees of the first: squared distances 0, 1 and 4. Frequencies over 4000 draws, 4 s.e.
    from gradsift.paper.method.clustering import _seed

    rows = np.array([[1.0, 0.0], [0.5, math.sqrt(0.75)], [-1.0, 0.0]])
    rng, counts = np.random.default_rng(8), np.zeros(3)
    draws = 0
    while draws < 4000:
        first, second = _seed(rows, 2, rng)
        if first[0] == 1.0:
            draws += 1
            counts += (rows == second).all(axis=1)
    np.testing.assert_allclose(counts / draws, [0.0, 0.2, 0.8], atol=4 * math.sqrt(0.16 / draws))
    assert counts[0] == 0


def test_trimming_leaves_out_the_worst_and_says_which():
    rows = np.vstack((np.tile([1.0, 0.02], (9, 1)), [[0.0, -1.0]]))
    found = gs.DirectionalKMeans(1, trim=0.1, random_state=0).fit(rows)
    np.testing.assert_array_equal(found.labels_, [0] * 9 + [-1])
    assert found.score_ == pytest.approx(1.0)


def test_oracle_defaults_are_150_points_a_unit_at_forty_thirds_k_and_the_longest_twentieth():
    model = gs.SigmoidCombination(np.eye(3)[:2], [0.5, 0.5], 2.0)
    with pytest.warns(gs.errors.UncertifiedWarning):
        found = gs.recover(gs.Oracle(model.predict, 3), 2, method="paper", n_queries_per_point=50, random_state=0)
    assert found.diagnostics["n_points"] == 300
    assert found.diagnostics["point_scale"] == pytest.approx(80 / 3)
    assert found.diagnostics["n_candidates"] == 15
    assert found.n_queries == 300 * 50 + 500


def test_row_defaults_reach_the_run_and_count_only_the_rows_of_the_gradients():
    X, y = gs.SigmoidCombination(np.eye(4)[:2], [0.5, 0.5], 2.0).sample(3000, 0.1, rng=1)
    for access, expected in (("gaussian", row_options(3000, 4, 2)), ("projected", row_options(1500, 2, 2))):
        with pytest.warns(gs.errors.UncertifiedWarning):
            found = gs.recover((X, y), 2, method="paper", access=access, random_state=0)
        assert found.diagnostics["n_points"] == expected.n_points == 1000
        assert found.diagnostics["point_scale"] == pytest.approx(expected.point_scale)
        assert found.diagnostics["n_candidates"] == round(1000 * expected.share)


def test_candidates_at_the_threshold_are_kept_and_zero_gradients_are_not():
    from gradsift.paper.method.kernel import GradientEstimates

    class Fixed:
        def estimate(self, source, points, rng=None):
            values = np.array([[0.5, 0.0], [0.0, 0.49], [0.0, -2.0], [0.0, 0.0]])
            return GradientEstimates(values, np.array([5.0, 500.0, 500.0, 500.0]), np.zeros((4, 2)))

    source = (np.zeros((3, 2)), np.zeros(3))
    how = dict(n_points=4, point_scale=1.0, rng=0)
    found = gs.generate_candidates(Fixed(), source, min_norm=0.5, **how)
    np.testing.assert_array_equal(found.kept, [0, 2])
    np.testing.assert_array_equal(found.directions, [[1.0, 0.0], [0.0, -1.0]])
    np.testing.assert_array_equal(gs.generate_candidates(Fixed(), source, top=1, **how).kept, [2])
    np.testing.assert_array_equal(gs.generate_candidates(Fixed(), source, min_norm=0.0, **how).kept, [0, 1, 2])
    filtered = gs.generate_candidates(Fixed(), source, min_norm=0.0, min_support=6.0, **how)
    np.testing.assert_array_equal(filtered.kept, [1, 2])
    scaled = gs.generate_candidates(Fixed(), source, min_norm=0.5, n_points=4, point_scale=3.0, rng=0)
    np.testing.assert_allclose(scaled.all_points, 3 * found.all_points)


def test_the_mirror_takes_the_eigenvalues_furthest_from_the_median_on_the_second_half():
    # Written out: first half mean, covariance, direction; second half the mirrored second moment.
    model = gs.SigmoidCombination(np.eye(4)[:2], [0.5, 0.5], 2.0)
    X, y = model.sample(4000, 0.1, rng=2)
    first, second, half = X[:2000], X[2000:], y[:2000]
    mean, cov = first.mean(axis=0), np.cov(first.T, bias=True)
    r = np.linalg.solve(cov, ((first - mean) * (half - half.mean())[:, None]).mean(axis=0))
    root = np.linalg.inv(np.linalg.cholesky(cov)).T
    white = (second - mean) @ root
    mirrored = y[2000:] * np.sign(second @ r)
    values, vectors = np.linalg.eigh((white * mirrored[:, None]).T @ white / 2000)
    order = np.argsort(-np.abs(values - np.median(values)))
    fitted = gs.SpectralMirror(2).fit(X, y)
    np.testing.assert_allclose(fitted.eigenvalues_[:2], values[order[:2]], rtol=1e-8)
    np.testing.assert_allclose(np.sort(fitted.eigenvalues_), values, rtol=1e-8)  # the other two are equally near
    span = np.linalg.qr(root @ vectors[:, order[:2]])[0]
    np.testing.assert_allclose(fitted.components_.T @ fitted.components_, span @ span.T, atol=1e-8)
    edge = 1.25 * np.sqrt(np.mean(mirrored**2)) * (2 * np.sqrt(4 / 2000) + 4 / 2000)
    assert fitted.noise_edge_ == pytest.approx(edge)
    np.testing.assert_allclose(fitted.reflector_, r, rtol=1e-8)
