"""The gradient estimators against formulas written out a second way."""

import tracemalloc

import numpy as np
import pytest

import gradsift as gs
from gradsift.paper.method.kernel import KernelSummary
from gradsift.sources import ArraySource, Rows


def table(n=800, d=4, rng=0):
    m = gs.simulate.random_combination(d, 2, slope=1.5, rng=rng)
    return m, *m.sample(n, 0.1, rng=rng + 1)


def slope_by_loops(X, y, xi):
    """eq:Slope, one row at a time."""
    scores = np.array([x @ xi for x in X])
    K = np.exp(scores - scores.max())
    z = sum(K)
    center = sum(k * x for k, x in zip(K, X)) / z
    return sum(k * v * (x - center) for k, v, x in zip(K, y, X)) / z


@pytest.mark.paper("eq:Slope")
def test_kernel_gradients_are_the_double_loop():
    _, X, y = table(n=300)
    points = np.random.default_rng(9).standard_normal((5, 4)) * np.array([[0.1], [1], [2], [4], [40]])
    by_hand = np.stack([slope_by_loops(X, y, p) for p in points])
    np.testing.assert_allclose(gs.KernelGradients().estimate((X, y), points).values, by_hand, atol=1e-13)


@pytest.mark.paper("population")
def test_kernel_gradients_approach_the_smoothed_gradient_within_their_standard_errors():
    # n = 200,000 rows, 30 points with |xi| about 1: the errors, in standard errors, have rms 1 (+- 0.3).
    m, X, y = table(n=200_000, d=3, rng=5)
    points = np.random.default_rng(6).standard_normal((30, 3)) * 0.6
    g = gs.KernelGradients().estimate((X, y), points)
    scores = (g.values - m.smoothed_gradient(points)) / g.standard_errors
    assert 0.6 < np.sqrt(np.mean(scores**2)) < 1.4


def test_support_is_the_effective_sample_size():
    _, X, y = table(n=500)
    p = np.array([[1.0, 0.5, 0, 0], [0.0, 0, 0, 0]])
    w = np.exp(X @ p.T)
    expected = w.sum(axis=0) ** 2 / (w**2).sum(axis=0)
    np.testing.assert_allclose(gs.KernelGradients().estimate((X, y), p).support, expected, rtol=1e-12)
    assert expected[1] == pytest.approx(500)


def test_support_falls_like_exp_of_minus_the_squared_distance():
    # n = 1e6 rows; the law n exp(-|xi|^2) holds within 10% at |xi| = 1.5, seed 3.
    X = np.random.default_rng(3).standard_normal((1_000_000, 2))
    g = gs.KernelGradients().estimate((X, X[:, 0]), [[1.5, 0.0]])
    assert g.support[0] == pytest.approx(1e6 * np.exp(-2.25), rel=0.1)


@pytest.mark.parametrize("scale", [1.0, 40.0, 400.0])
def test_any_split_and_order_of_blocks_gives_the_same_gradients(scale):
    _, X, y = table(n=3000, d=6)
    rng = np.random.default_rng(11)
    points = scale * gs.simulate.random_units(6, 12, rng=rng)
    summary = KernelSummary(points)
    whole = summary.finalize(summary.chunk(Rows(X, y)))
    for _ in range(3):
        cuts = np.sort(rng.choice(np.arange(1, 3000), 7, replace=False))
        parts = [summary.chunk(Rows(a, b)) for a, b in zip(np.split(X, cuts), np.split(y, cuts))]
        rng.shuffle(parts)
        state = parts[0]
        for part in parts[1:]:
            state = summary.merge(state, part)
        split = summary.finalize(state)
        np.testing.assert_allclose(split.values, whole.values, atol=1e-13)
        np.testing.assert_allclose(split.support, whole.support, rtol=1e-11)
        np.testing.assert_allclose(split.standard_errors, whole.standard_errors, atol=1e-7)  # a root of rounding


def test_large_offsets_in_rows_and_answers_cost_no_accuracy():
    _, X, y = table(n=600)
    p = np.random.default_rng(1).standard_normal((4, 4))
    near = gs.KernelGradients().estimate((X, y), p).values
    far = gs.KernelGradients().estimate((X + 1e4, y + 1e4), p).values
    np.testing.assert_allclose(far, near, atol=1e-7)


def test_sample_weights_act_like_repeated_rows():
    _, X, y = table(n=200)
    counts = np.random.default_rng(2).integers(0, 4, 200)
    p = np.random.default_rng(3).standard_normal((3, 4))
    weighted = gs.KernelGradients().estimate((X, y, counts), p)
    repeated = gs.KernelGradients().estimate((np.repeat(X, counts, axis=0), np.repeat(y, counts)), p)
    np.testing.assert_allclose(weighted.values, repeated.values, atol=1e-13)
    np.testing.assert_allclose(weighted.standard_errors, repeated.standard_errors * _effective(counts, X, p), rtol=1e-9)


def _effective(counts, X, p):
    """Repeated rows count as independent, weights do not: the supports differ by a known factor."""
    w = np.exp(X @ p.T)
    once = (counts @ w) ** 2 / (counts**2 @ w**2)
    each = (counts @ w) ** 2 / (counts @ w**2)
    return np.sqrt(each / once)[:, None]


@pytest.mark.parametrize("scale", [1e-160, 1.0, 1e160])
def test_rows_that_weigh_nothing_count_for_nothing_however_far_out_and_however_weights_are_scaled(scale):
    _, X, y = table(n=20_000)
    weight = np.where(np.arange(20_000) < 3000, scale, 0.0)  # whole blocks weigh nothing
    far = np.where(weight[:, None] > 0, X, 1000 * X)
    p = np.random.default_rng(3).standard_normal((3, 4))
    weighted = gs.KernelGradients(working_memory=1.0).estimate((far, y, weight), p)
    plain = gs.KernelGradients().estimate((X[:3000], y[:3000]), p)
    np.testing.assert_allclose(weighted.values, plain.values, atol=1e-12)
    np.testing.assert_allclose(weighted.support, plain.support, rtol=1e-9)
    np.testing.assert_allclose(weighted.standard_errors, plain.standard_errors, rtol=1e-9)


def test_working_memory_bounds_the_memory_whatever_the_number_of_points():
    # 8 MiB allowed; the result of 20,000 points in 10 dimensions alone takes 3.4.
    _, X, y = table(n=4000, d=10)
    for m in (500, 20_000):
        p = np.random.default_rng(4).standard_normal((m, 10))
        result = 8 * m * (2 * 10 + 1) / 2**20
        tracemalloc.start()
        gs.KernelGradients(working_memory=8).estimate((X, y), p)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        assert peak < 8 + 2 * result  # while groups of points are joined, the result is there twice


def test_working_memory_changes_the_blocks_and_not_the_result():
    _, X, y = table(n=2000)
    p = np.random.default_rng(4).standard_normal((700, 4))
    small = gs.KernelGradients(working_memory=0.2).estimate((X, y), p).values
    np.testing.assert_allclose(small, gs.KernelGradients().estimate((X, y), p).values, atol=1e-13)


@pytest.mark.paper("voestimate")
def test_the_gaussian_design_is_the_written_out_mean():
    m, *_ = table()
    asked = []

    def function(X):
        asked.append(X)
        return m.predict(X)

    xi = np.array([[0.3, -0.2, 0.5, 1.0]])
    g = gs.OracleGradients(50).estimate(gs.Oracle(function, 4), xi, rng=0)
    X = np.concatenate(asked)
    by_hand = sum((x - xi[0]) * m.predict(x[None])[0] for x in X) / 50
    np.testing.assert_allclose(g.values[0], by_hand, atol=1e-15)


@pytest.mark.parametrize("design", ["gaussian", "antithetic", "orthogonal", "least_squares"])
def test_every_design_estimates_the_smoothed_gradient(design):
    # 20 points x 4001 queries; errors in standard errors have rms near 1 (orthogonal steps are better than stated).
    m = gs.simulate.random_combination(5, 2, slope=1.2, rng=1)
    points = np.random.default_rng(2).standard_normal((20, 5))
    oracle = gs.Oracle(m.predict, 5)
    g = gs.OracleGradients(4001, design).estimate(oracle, points, rng=3)
    assert oracle.n_queries == 20 * 4001
    scores = (g.values - m.smoothed_gradient(points)) / g.standard_errors
    assert np.sqrt(np.mean(scores**2)) < 1.3
    assert np.abs(g.values - m.smoothed_gradient(points)).max() < 0.1


def test_better_designs_are_better():
    # d = 50, k = 5, n0 = 1000, exact oracle, 12 points: median angle to the smoothed gradient, seed 7. The intercept
    # is noise to the plain design only.
    units = gs.simulate.random_combination(50, 5, rng=7)
    m = gs.SigmoidCombination(units.units, units.weights, intercept=1.0)
    points = np.random.default_rng(8).standard_normal((12, 50))
    truth = gs.geometry.normalize_rows(m.smoothed_gradient(points))

    def angle(design):
        g = gs.OracleGradients(1000, design).estimate(gs.Oracle(m.predict, 50), points, rng=9)
        cosine = np.sum(gs.geometry.normalize_rows(g.values) * truth, axis=1)
        return np.degrees(np.median(np.arccos(cosine)))

    plain, antithetic, orthogonal, plane = map(angle, ["gaussian", "antithetic", "orthogonal", "least_squares"])
    assert orthogonal < 0.6 * antithetic < 0.6 * plain
    assert plane < 0.6 * antithetic


def test_each_point_has_its_own_random_stream():
    m, *_ = table()
    points = np.random.default_rng(5).standard_normal((6, 4))
    all_six = gs.OracleGradients(20).estimate(gs.Oracle(m.predict, 4), points, rng=1).values
    first_two = gs.OracleGradients(20).estimate(gs.Oracle(m.predict, 4), points[:2], rng=1).values
    np.testing.assert_array_equal(all_six[:2], first_two)


@pytest.mark.paper("projectedestimate")
def test_projected_gradients_are_the_formula_on_projected_rows():
    _, X, y = table(n=300)
    P = np.linalg.qr(np.random.default_rng(1).standard_normal((4, 2)))[0].T
    xi = np.random.default_rng(2).standard_normal((4, 4))
    projected = X @ P.T @ P
    by_hand = np.stack([slope_by_loops(projected, y, p) for p in xi])
    g = gs.ProjectedGradients(P).estimate((X, y), xi)
    np.testing.assert_allclose(g.values, by_hand, atol=1e-13)
    again = gs.ProjectedGradients(P).estimate((X, y), xi @ P.T @ P)
    np.testing.assert_allclose(g.values, again.values, atol=1e-13)


def test_projected_gradients_split_the_rows_between_subspace_and_gradients():
    m = gs.simulate.random_combination(6, 2, slope=2, min_singular_value=1.0, mixture=True, rng=0)
    X, y = m.sample(20_000, 0.1, rng=1)
    xi = np.random.default_rng(2).standard_normal((3, 6))
    g = gs.ProjectedGradients(gs.SpectralMirror(2), subspace_share=0.25).estimate((X, y), xi)
    P = gs.SpectralMirror(2).fit(X[:5000], y[:5000]).components_
    expected = gs.ProjectedGradients(P).estimate((X[5000:], y[5000:]), xi)
    np.testing.assert_allclose(g.values, expected.values, atol=1e-14)


def test_local_linear_gradients_are_weighted_least_squares():
    _, X, y = table(n=400)
    xi = np.array([[0.5, 0, -0.5, 0.2]])
    w = np.exp(-0.5 * np.sum((X - xi) ** 2, axis=1) / 0.8**2)
    A = np.column_stack((np.ones(400), X - xi)) * np.sqrt(w)[:, None]
    expected = np.linalg.lstsq(A, y * np.sqrt(w), rcond=None)[0][1:]
    g = gs.LocalLinearGradients(bandwidth=0.8, ridge=0.0).estimate((X, y), xi)
    np.testing.assert_allclose(g.values[0], expected, atol=1e-10)


def test_local_linear_standard_errors_survive_a_large_offset_of_y():
    _, X, y = table(n=400)
    xi = np.array([[0.5, 0, -0.5, 0.2]])
    near, far = (gs.LocalLinearGradients().estimate((X, y + c), xi).standard_errors for c in (0.0, 1e7))
    np.testing.assert_allclose(far, near, rtol=1e-4)


def test_a_subspace_estimator_that_is_handed_in_stays_as_it_was():
    _, X, y = table(n=400)
    mirror = gs.SpectralMirror(2)
    gs.ProjectedGradients(mirror).estimate((X, y), np.zeros((1, 4)))
    assert not hasattr(mirror, "components_")


def test_local_linear_gradients_recover_a_plane_under_any_rows_and_say_nothing_far_away():
    X = np.random.default_rng(0).uniform(-1, 1, (500, 3)) ** 3
    g = gs.LocalLinearGradients(ridge=0.0).estimate((X, X @ [1.0, -2, 3] + 5), [[0.1, 0, 0], [99.0, 0, 0]])
    np.testing.assert_allclose(g.values[0], [1, -2, 3], atol=1e-9)
    assert g.support[1] == 0
    assert np.isinf(g.standard_errors[1]).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s, p: gs.KernelGradients().estimate(s, p[:, :3]), ValueError, "points must have 4 columns"),
        (lambda s, p: gs.KernelGradients().estimate((s[0][:5], s[1]), p), ValueError, "same number of rows"),
        (lambda s, p: gs.KernelGradients().estimate((s[0] * np.nan, s[1]), p), ValueError, "X must be finite"),
        (lambda s, p: gs.KernelGradients().estimate((s[0], ["a"] * 800), p), TypeError, "y must hold real numbers"),
        (lambda s, p: gs.KernelGradients().estimate(s, p * np.inf), ValueError, "points must be finite"),
        (lambda s, p: gs.KernelGradients(0).estimate(s, p), ValueError, "working_memory must be"),
        (lambda s, p: gs.KernelGradients().estimate(3, p), TypeError, "source must be"),
        (lambda s, p: gs.KernelGradients().estimate(gs.Oracle(len, 4), p), TypeError, "of rows, got Oracle"),
        (lambda s, p: gs.KernelGradients().estimate((np.ma.masked_greater(s[0], 1), s[1]), p), ValueError, "masked"),
        (lambda s, p: gs.ProjectedGradients(gs.SpectralMirror(2), -0.2).estimate(s, p), ValueError, "subspace_share"),
        (lambda s, p: gs.OracleGradients(9).estimate(gs.Oracle(np.tanh, 4), p), ValueError, "must have one output"),
        (lambda s, p: gs.OracleGradients(9.5).estimate(gs.Oracle(np.tanh, 4), p), ValueError, "a whole number"),
        (lambda s, p: gs.OracleGradients().estimate(s, p), TypeError, "source must be an Oracle"),
        (lambda s, p: gs.ProjectedGradients(np.ones((2, 4))).estimate(s, p), ValueError, "orthonormal rows"),
        (lambda s, p: gs.LocalLinearGradients(bandwidth=0).estimate(s, p), ValueError, "bandwidth must be above 0"),
    ],
)
def test_bad_arguments_get_one_sentence(call, error, message):
    _, X, y = table()
    with pytest.raises(error, match=message) as caught:
        call((X, y), np.ones((2, 4)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(design="sobol"), "design must be one of"),
        (dict(n_queries_per_point=1), "n_queries_per_point must be at least 2"),
        (dict(design="least_squares", n_queries_per_point=4), "at least 6"),
    ],
)
def test_bad_designs_are_refused_before_any_query(settings, message):
    m, *_ = table()
    oracle = gs.Oracle(m.predict, 4)
    with pytest.raises(ValueError, match=message):
        gs.OracleGradients(**settings).estimate(oracle, np.ones((2, 4)))
    assert oracle.n_queries == 0


def test_float32_rows_are_read_block_by_block_without_a_float64_copy():
    _, X, y = table(n=500)
    source = ArraySource(X.astype(np.float32), y.astype(np.float32))
    assert source.X.dtype == np.float32
    g = gs.KernelGradients().estimate(source, np.ones((1, 4)) * 0.3)
    np.testing.assert_allclose(g.values[0], slope_by_loops(X, y, np.full(4, 0.3)), atol=1e-6)
