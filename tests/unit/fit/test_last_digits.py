"""The fit to rounding, against ordinary least squares, sampled errors and functions with kinks."""

import numpy as np
import pytest

from gradsift.fit.last_digits import fit_to_rounding, solve, with_prior


def linear(A, y):
    return lambda theta: (A @ theta - y, lambda: A.copy())


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e9])
def test_a_step_is_the_least_squares_solution_whatever_the_lengths_of_columns(condition):
    rng = np.random.default_rng(1)
    A, _ = np.linalg.qr(rng.standard_normal((40, 6)))
    A[:, 5] = A[:, 4] + A[:, 5] / condition
    right = rng.standard_normal(6)
    step = solve(A * np.logspace(-8, 8, 6), -A @ right).step
    np.testing.assert_allclose(step * np.logspace(-8, 8, 6), right, rtol=1e-13 * condition + 1e-13)


def test_a_combination_that_no_row_determines_stays_where_it_is():
    A = np.random.default_rng(2).standard_normal((20, 3))
    solved = solve(np.column_stack([A, A[:, 0]]), A @ np.ones(3))
    assert np.abs(solved.step).max() < 3
    assert solved.promised < 1e-20
    assert np.isinf(solved.factor.root).all()


def test_standard_errors_are_those_of_repeated_fits():
    rng = np.random.default_rng(3)
    t, off = np.linspace(0, 3, 60), []
    for _ in range(50):
        y = np.exp(-1.3 * t) + 0.01 * rng.standard_normal(60)
        fit = fit_to_rounding(
            lambda p, y=y: (
                (p[0] * np.exp(-p[1] * t) - y) / 0.01,
                lambda: np.stack([np.exp(-p[1] * t), -p[0] * t * np.exp(-p[1] * t)], axis=1) / 0.01,
            ),
            np.array([1.2, 1.0]),
        )
        off.append((fit.theta - [1.0, 1.3]) / np.linalg.norm(fit.root, axis=1))
    assert 0.8 < np.sqrt(np.mean(np.square(off))) < 1.2  # 100 numbers: 0.07 is one standard error


def test_a_prior_counts_as_much_as_an_answer_with_its_error():
    A, y = np.random.default_rng(4).standard_normal((5, 3)), np.arange(5.0)
    prior = np.array([0.5, np.inf, 2.0])
    fit = fit_to_rounding(with_prior(linear(A, y), np.ones(3), prior), np.zeros(3))
    rows = np.concatenate([A, np.diag(1 / prior)])
    expected = np.linalg.lstsq(rows, np.append(y, 1 / prior), rcond=None)[0]
    np.testing.assert_allclose(fit.theta, expected, rtol=1e-12)
    np.testing.assert_allclose(fit.root @ fit.root.T, np.linalg.inv(rows.T @ rows), rtol=1e-10)


def test_a_start_too_far_away_for_full_steps_is_damped():
    problem = lambda p: (
        np.array([np.arctan(p[0]), 0.1 * np.arctan(p[0])]),
        lambda: np.array([[1.0], [0.1]]) / (1 + p**2),
    )
    assert abs(fit_to_rounding(problem, np.array([5.0])).theta[0]) < 1e-6  # full steps run off beyond 1.4


def test_the_units_that_are_active_come_out_of_the_fit():
    rng = np.random.default_rng(5)
    x = np.sort(rng.uniform(-1, 1, 50))
    right = np.array([0.7, 0.3])

    def problem(p):
        active = (x + p[1] > 0).astype(float)
        rows = np.stack([np.maximum(x + p[1], 0), p[0] * active], axis=1)
        return (p[0] * np.maximum(x + p[1], 0) - right[0] * np.maximum(x + right[1], 0)) / 1e-9, lambda: rows / 1e-9

    np.testing.assert_allclose(fit_to_rounding(problem, np.array([0.5, -0.2])).theta, right, atol=1e-12)
