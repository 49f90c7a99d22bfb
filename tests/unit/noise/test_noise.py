"""Parts of the method for imperfect answers, each against a second way of getting the number."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.activations import get_activation
from gradsift.fit import Parameters, fit_jointly, mirror_of, mirror_rows, predict, value_jacobian
from gradsift.fit.covariance import cones
from gradsift.fit.joint import calibration
from gradsift.fit.moves import drop_or_merge, split_or_add
from gradsift.fit.students import fit_students
from gradsift.likelihood import Noise
from gradsift.reading.noise.leverage import (
    argument_errors,
    informative_points,
    leverage_points,
    squared_standardised_residuals,
)
from gradsift.reading.noise.noise_tests import Variance, noise_checks, relative_spread
from gradsift.reading.noise.settings import SCALE
from gradsift.reading.precision import grid_of
from gradsift.reading.scouts import measure_precision

TANH = get_activation("tanh")


def network(k=2, d=5, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((k, d))
    A *= (np.linspace(1, 2, k) / np.linalg.norm(A, axis=1))[:, None]
    return Parameters(A, np.linspace(0.8, -0.6, k), np.linspace(-0.5, 0.5, k), 0.3)


def noisy_rows(theta, n, sd, seed=1, scale=2.0):
    rng = np.random.default_rng(seed)
    X = scale * rng.standard_normal((n, theta.A.shape[1]))
    return X, predict(theta, X, TANH) + sd * rng.standard_normal(n)


def oracle_of(function, d=4):
    return gs.Oracle(lambda X: function(np.tanh(X @ np.arange(1.0, d + 1) / d) * 0.7 + 0.123456789012), d)


@pytest.mark.parametrize(
    ("function", "kind", "grid"),
    [
        (lambda r: r, "exact", 0.0),
        (lambda r: np.round(r, 3), "rounded", 1e-3),
        (lambda r: np.round(r, 6), "rounded", 1e-6),
        (lambda r: r.astype(np.float32), "float32", 2.0**-24),
    ],
)
def test_the_floor_of_a_silent_oracle_is_read_from_its_answers(function, kind, grid):
    oracle = oracle_of(function)
    precision = measure_precision(oracle, np.random.default_rng(0))
    assert precision.kind == kind
    assert precision.n_queries == oracle.n_queries
    assert (precision.grid == 0) == (grid == 0)
    assert grid / 4 <= precision.grid <= 4 * grid
    assert oracle.n_queries <= {"exact": 2, "rounded": 10, "float32": 30}[kind]


@pytest.mark.parametrize("first_answer", [0.5123456789, 1e-5])
def test_last_bits_that_depend_on_neighbouring_rows_are_no_noise(first_answer):
    rng = np.random.default_rng(4)
    asked = []

    def jittery(r):
        asked.append(r[0])
        return r + 2.0**-53 * rng.choice([-2, -1, 1, 2], len(r)) + (first_answer - asked[0])

    precision = measure_precision(oracle := oracle_of(jittery), np.random.default_rng(1))
    assert precision.kind == "exact"
    assert precision.n_queries == oracle.n_queries
    assert (precision.n_queries == 2) == (first_answer > 0.5)  # where terms cancel, ask for the size of answers


@pytest.mark.parametrize("bounds", [None, (-5, 5)])
def test_a_network_is_certified_in_spite_of_uncertain_last_bits(bounds):
    theta, rng = network(3, 6), np.random.default_rng(5)
    oracle = gs.Oracle(lambda X: predict(theta, X, TANH) + 2.0**-53 * rng.integers(-2, 3, len(X)), 6, bounds=bounds)
    found = gs.recover(oracle, random_state=0, n_verify=0)
    assert found.certified
    assert gs.match_units(found.model.units, theta.A).max_error < 1e-8
    assert oracle.n_queries < 4 * (3 * 8 + 1)


def test_noise_and_labels_are_told_apart():
    rng = np.random.default_rng(3)
    noisy = measure_precision(oracle_of(lambda r: r + 0.2 * rng.standard_normal(len(r))), np.random.default_rng(0))
    assert noisy.kind == "noisy"
    assert 0.2 / 2.5 < noisy.sd < 0.2 * 2.5  # 8 repeats
    labels = measure_precision(
        oracle_of(lambda r: np.where(rng.random(len(r)) < 0.5 + r / 4, 1, -1)), np.random.default_rng(0)
    )
    assert labels.kind == "labels"


def test_what_the_caller_says_about_noise_is_believed_without_asking():
    oracle = gs.Oracle(lambda X: X[:, 0], 1, noise=0.25)
    assert measure_precision(oracle, np.random.default_rng(0)).sd == 0.25
    assert oracle.n_queries == 0


def test_double_precision_lies_on_no_grid():
    assert grid_of(np.random.default_rng(0).standard_normal(5)) == 0.0
    assert grid_of(np.array([0.25, -1.5])) == 0.01


def test_a_reflection_turns_the_unit_into_the_first_axis():
    theta = network()
    mirrors = mirror_of(theta.A)
    for a, v in zip(theta.A, mirrors):
        turned = mirror_rows(a[None], v)[0]
        assert abs(turned[0]) == pytest.approx(np.linalg.norm(a), rel=1e-14)
        assert np.abs(turned[1:]).max() < 1e-15
        np.testing.assert_allclose(mirror_rows(turned[None], v)[0], a, rtol=1e-14)


def test_the_jacobian_agrees_with_central_differences():
    theta = network()
    k, d = theta.A.shape
    mirrors = mirror_of(theta.A)
    X = np.random.default_rng(2).standard_normal((7, d))
    J = value_jacobian(theta, X, TANH, mirrors)
    h = 1e-6
    for unit in range(k):
        for i in range(d):
            step = h * mirror_rows(np.eye(d)[i : i + 1], mirrors[unit])[0]
            up, down = theta.A.copy(), theta.A.copy()
            up[unit] += step
            down[unit] -= step
            slope = (predict(theta._replace(A=up), X, TANH) - predict(theta._replace(A=down), X, TANH)) / (2 * h)
            np.testing.assert_allclose(J[:, unit * (d + 1) + i], slope, atol=1e-9)


@pytest.mark.parametrize("noise", [Noise(0.3), Noise(1.0, labels=True)])
def test_the_score_is_the_slope_of_the_loss(noise):
    r = np.array([-0.9, -0.2, 0.4, 0.97, -1.02, 1.02, 0.999, -1.02])  # also beyond the wall, and hardly possible
    y = np.array([-1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    h = 1e-6
    for i in range(len(r)):
        e = h * np.eye(len(r))[i]
        slope = (noise.loss(r + e, y) - noise.loss(r - e, y)) / (2 * h)
        assert -noise.score(r, y)[i] == pytest.approx(slope, rel=1e-5)


def test_a_joint_fit_of_exact_rows_returns_the_network():
    theta = network()
    X, y = noisy_rows(theta, 60, 0.0)
    rng = np.random.default_rng(4)
    start = theta._replace(A=theta.A + 0.1 * rng.standard_normal(theta.A.shape), u=theta.u * 1.1)
    fitted = fit_jointly(start, X, y, Noise(1e-6), TANH)
    np.testing.assert_allclose(fitted.theta.A, theta.A, atol=1e-10)
    np.testing.assert_allclose(fitted.theta.u, theta.u, atol=1e-10)


def test_the_student_finds_the_number_of_units():
    theta = network(3, 6)
    X, y = noisy_rows(theta, 220, 0.05)
    lesson = fit_students(X, y, Noise(0.05), TANH, 6, 2.0, np.random.default_rng(0))
    assert len(lesson.fitted.theta.u) == 3
    assert lesson.gap > 10
    found = gs.match_units(lesson.fitted.theta.A, theta.A)
    assert found.max_error < 0.1


def test_a_duplicated_unit_is_merged_and_a_needed_one_kept():
    theta = network(2, 5)
    X, y = noisy_rows(theta, 200, 0.05)
    A = np.vstack([theta.A, theta.A[:1] * 1.05])
    split = Parameters(A, np.array([0.4, theta.u[1], 0.4]), np.append(theta.b, theta.b[0]), theta.c)
    fitted = fit_jointly(split, X, y, Noise(0.05), TANH)
    smaller = drop_or_merge(fitted, X, y, Noise(0.05), TANH)
    assert smaller is not None
    assert len(smaller.theta.u) == 2
    assert drop_or_merge(smaller, X, y, Noise(0.05), TANH) is None


def test_lever_points_lie_in_the_plane_and_are_as_uncertain_as_asked():
    theta = network(1, 6)
    X, y = noisy_rows(theta, 150, 0.1)
    fitted = fit_jointly(theta, X, y, Noise(0.1), TANH)
    points = leverage_points(fitted, 0, 0.7, np.random.default_rng(0))
    assert points.shape == (5, 6)
    assert np.abs(points @ fitted.theta.A[0] + fitted.theta.b[0]).max() < 1e-9
    doubt = argument_errors(fitted, 0, points)
    assert np.all((doubt > 0.4) & (doubt < 1.0))  # 0.7 for the direction, and a little for slope and offset
    answers = predict(theta, points, TANH) + 0.1 * np.random.default_rng(5).standard_normal(5)
    assert np.mean(squared_standardised_residuals(fitted, points, answers, Noise(0.1), TANH)) < 4
    assert np.mean(squared_standardised_residuals(fitted, points, -5 * answers, Noise(0.1), TANH)) > 4


def test_cones_shrink_like_one_over_the_root_of_the_rows():
    theta = network(2, 5)
    widths = []
    for n in (400, 6400):
        X, y = noisy_rows(theta, n, 0.1)
        widths.append(cones(fit_jointly(theta, X, y, Noise(0.1), TANH)))
    np.testing.assert_allclose(widths[0] / widths[1], 4.0, rtol=0.35)


def test_cones_of_a_well_determined_fit_need_no_widening_and_hold_the_truth():
    theta = network(2, 5)
    inside = 0
    for seed in range(20):
        X, y = noisy_rows(theta, 300, 0.1, seed)
        fitted = fit_jointly(theta, X, y, Noise(0.1), TANH)
        error = gs.match_units(fitted.theta.A, theta.A).errors
        inside += bool((error <= cones(fitted)).all())
    assert inside >= 18  # 99% cones: fewer than 18 of 20 has a chance of 1e-3
    assert all(1.0 <= factor < 1.5 for factor in calibration(fitted, X, Noise(0.1), TANH, np.random.default_rng(0)))


def test_informative_points_put_every_unit_where_it_shows():
    theta = network(3, 6)
    points = informative_points(theta, 2.0, 200, TANH, np.random.default_rng(0))
    z = np.abs(points @ theta.A.T + theta.b)
    assert np.all(np.isclose(z, SCALE.steep) | np.isclose(z, SCALE.quiet))
    assert 0.5 < np.isclose(z, SCALE.steep).mean() < 0.66  # 0.58, 600 draws: 4 standard errors


def test_variances_pool_by_their_degrees_of_freedom():
    pooled = Variance(4.0, 10).pooled(60.0, 10)
    assert pooled.value == pytest.approx(5.0)
    assert pooled.freedom == 20
    assert Variance(1.0, np.inf).pooled(100.0, 10).value == 1.0
    assert Variance(1.0, np.inf).too_small(300.0, 100)
    assert not Variance(1.0, np.inf).too_small(120.0, 100)


def test_uneven_noise_gets_a_variance_function_and_even_noise_does_not():
    rng = np.random.default_rng(31)
    r = rng.standard_normal(2000)
    true = np.exp(0.5 * r)
    spread = relative_spread(true * rng.standard_normal(2000), r)
    true = true / np.sqrt(np.mean(true**2))
    assert np.abs(np.log(spread / true))[np.abs(r) < 1.5].max() < 0.2  # four standard errors of a log spread
    found = [relative_spread(rng.standard_normal(200), rng.standard_normal(200)) is not None for _ in range(300)]
    assert sum(found) <= 5  # level 1e-4 for many rows; fourth moments of few are not Gaussian


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("gauss", ""),
        ("t3", "heavy tails"),
        ("outliers", "outliers"),
        ("drift", "drift"),
        ("slow drift", "drift"),
        ("neighbours", "alike"),
        ("uneven", "larger"),
    ],
)
def test_noise_that_misbehaves_is_named(kind, word):
    rng = np.random.default_rng(8)
    n = 800
    z, level = rng.standard_normal(n), rng.standard_normal(n)
    residuals = {
        "gauss": z,
        "t3": rng.standard_t(3, n),
        "outliers": z + 15 * z * (rng.random(n) < 0.01),
        "drift": z + np.linspace(-1, 1, n),
        "slow drift": z + np.linspace(-0.25, 0.25, n),
        "neighbours": z + 0.25 * np.roll(z, 1),
        "uneven": z * np.exp(0.4 * level),
    }[kind]
    found = " ".join(check.says for check in noise_checks(residuals, level) if not check.holds)
    assert (word in found) if word else (found == "")


def test_a_unit_that_stands_for_two_is_split_and_a_single_one_is_not():
    theta = network(1, 6)
    tilt = np.linalg.svd(theta.A)[2][1]  # across the unit
    pair = Parameters(np.vstack([theta.A[0], theta.A[0] + 0.8 * tilt]), np.array([0.5, 0.5]), np.zeros(2), 0.0)
    X, y = noisy_rows(pair, 400, 0.05)
    merged = fit_jointly(theta, X, y, Noise(0.05), TANH)
    found = split_or_add(merged, X, y, Noise(0.05), TANH, np.random.default_rng(0))
    assert found is not None
    assert gs.match_units(found.theta.A, pair.A).max_error < 0.2
    X, y = noisy_rows(theta, 400, 0.05)
    single = fit_jointly(theta, X, y, Noise(0.05), TANH)
    assert split_or_add(single, X, y, Noise(0.05), TANH, np.random.default_rng(0)) is None


def test_large_doubles_and_single_precision_are_no_decimal_grid():
    rng = np.random.default_rng(12)
    y = rng.standard_normal(8)
    assert grid_of(1e7 * y) == 0.0
    assert grid_of(1e30 * y) == 0.0
    single = (1e6 * y).astype(np.float32).astype(np.float64)
    assert grid_of(single) == np.spacing(np.float32(np.abs(single).max()))
    assert grid_of(np.round(1e3 * y, 2)) == 0.01


@pytest.mark.parametrize("seed", range(6))
def test_an_exact_answer_of_one_is_no_label(seed):
    model = gs.SigmoidCombination([[0.6, 0.8]], [1.0], [20.0], [0.5])  # most answers are exactly one
    found = gs.recover(gs.Oracle(model.predict, 2), random_state=seed)
    assert found.certified
    assert found.model.slopes[0] == pytest.approx(20.0, rel=1e-8)


def test_single_precision_is_measured_where_answers_are_largest():
    rng = np.random.default_rng(1)
    units = np.linalg.qr(rng.standard_normal((3, 2)))[0].T
    model = gs.SigmoidCombination(units, [0.9, 0.8], [2.0, 1.5], [0.1, -0.2])
    precision = measure_precision(gs.Oracle(lambda X: model.predict(X).astype(np.float32), 3), np.random.default_rng(0))
    assert precision.kind == "float32"
    assert precision.grid == np.spacing(np.float32(1.7))
