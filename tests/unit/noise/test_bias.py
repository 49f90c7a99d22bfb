"""The second-order bias of a joint fit, against simulated biases and finite differences."""

import numpy as np
import pytest

from gradsift.activations import get_activation
from gradsift.fit import NO_PRIOR, Parameters, fit_jointly, mirror_of, moved_by, predict, value_jacobian
from gradsift.likelihood import Noise
from gradsift.reading.noise.bias import Replies, _changes, curvature_bias, design_bias, without_bias
from gradsift.reading.noise.leverage import clear_of, leverage_points

TANH = get_activation("tanh")
SD = 0.1


def network(k, d, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((k, d))
    A *= (np.linspace(1.2, 2, k) / np.linalg.norm(A, axis=1))[:, None]
    return Parameters(A, np.linspace(0.6, -0.8, k), np.linspace(-0.5, 0.5, k), 0.3)


def fit(theta, X, y):
    return fit_jointly(theta, X, y, Noise(SD), TANH, prior=NO_PRIOR, enough=1e-8)


def slopes(theta):
    return np.linalg.norm(theta.A, axis=1)


def mean_and_error(draws):
    draws = np.asarray(draws)
    return draws.mean(axis=0), draws.std(axis=0, ddof=1) / np.sqrt(len(draws))


def test_the_bias_of_bent_values_is_that_of_simulated_fits():
    """n = 70 answers, 11 unknowns; 250 pairs of opposite noises (seed 1), tolerance 4 standard errors and a fifth."""
    theta = network(2, 3)
    rng = np.random.default_rng(1)
    X = 2 * rng.standard_normal((70, 3))
    r = predict(theta, X, TANH)
    at_truth = fit(theta, X, r)
    foretold = curvature_bias(at_truth, X, np.full(70, SD**-2), TANH)
    along = np.where(theta.A[:, 0] < 0, 1.0, -1.0)  # sign of a unit's first local coordinate
    across = np.array([np.trace(at_truth.block(unit)[1:3, 1:3]) for unit in range(2)]) / (2 * slopes(theta))
    expected = np.concatenate([along * foretold[[0, 4]] + across, foretold[[3, 7]], foretold[8:10]])
    draws = []
    for _ in range(250):
        noise = SD * rng.standard_normal(70)
        pair = [fit(theta, X, r + sign * noise).theta for sign in (1, -1)]
        draws.append(
            np.mean([[*(slopes(p) - slopes(theta)), *(p.b - theta.b), *(p.u - theta.u)] for p in pair], axis=0)
        )
    mean, error = mean_and_error(draws)
    assert np.all(np.abs(mean - expected) < 4 * error + 0.2 * np.abs(expected))
    assert np.all(mean[:2] > 8 * error[:2])  # there is something to foretell: slopes are too steep


def test_the_derivative_of_the_jacobian_agrees_with_central_differences():
    theta = network(3, 4)
    rng = np.random.default_rng(2)
    X, direction, h = rng.standard_normal((5, 4)), rng.standard_normal(4), 1e-5
    fitted = fit_jointly(theta, X, predict(theta, X, TANH), Noise(SD), TANH, most=0)
    mirrors = mirror_of(theta.A)
    ahead, behind = (value_jacobian(theta, X + sign * h * direction, TANH, mirrors) for sign in (1, -1))
    np.testing.assert_allclose(_changes(fitted, X, direction, TANH), (ahead - behind) / (2 * h), atol=1e-8)


@pytest.fixture(scope="module")
def levers():
    """Return slopes over the truth of 250 fits (seed 3) to 90 random inputs and one round of levers; d = 12."""
    theta, d = network(1, 12), 12
    rng = np.random.default_rng(3)
    found = {"fit": [], "bent": [], "settled": [], "fixed": []}
    for _ in range(250):
        X = 2 * rng.standard_normal((90, d))
        first = fit(theta, X, y := predict(theta, X, TANH) + SD * rng.standard_normal(90))
        points = leverage_points(first, 0, 0.5, rng)
        X = np.concatenate([X, points])
        y = np.concatenate([y, predict(theta, points, TANH) + SD * rng.standard_normal(len(points))])
        placed = np.arange(len(X)) >= 90
        again = fit(first.theta, X, y)
        fresh = fit(theta, X, predict(theta, X, TANH) + SD * rng.standard_normal(len(X)))
        ways = {
            "fit": again,
            "bent": without_bias(again, Replies(X, y, np.zeros_like(placed)), Noise(SD), TANH),
            "settled": without_bias(again, Replies(X, y, placed), Noise(SD), TANH),
            "fixed": fresh,
        }
        for name, one in ways.items():
            found[name].append(float(slopes(one.theta)[0] / slopes(theta)[0] - 1))
    return found


def test_levers_make_slopes_too_steep_and_the_correction_takes_most_of_it_off(levers):
    mean, error = {}, {}
    for name, draws in levers.items():
        mean[name], error[name] = mean_and_error(draws)
    assert mean["fit"] > 6 * error["fit"]
    assert abs(mean["settled"]) < 0.35 * mean["fit"] + 3 * error["settled"]
    assert mean["bent"] > mean["settled"] + 4 * error["fit"]  # what levers do is not what bending does
    assert mean["fixed"] < 0.5 * mean["fit"]  # the same inputs, asked anew, have no say in it


def test_corrected_slopes_have_the_smaller_error(levers):
    rms = {name: np.sqrt(np.mean(np.square(draws))) for name, draws in levers.items()}
    assert rms["settled"] < 0.95 * rms["fit"]


def test_corrections_are_limited_and_without_levers_there_is_no_bias_from_them():
    theta = network(2, 4)
    rng = np.random.default_rng(4)
    X = 2 * rng.standard_normal((22, 4))  # few answers and much noise
    y = predict(theta, X, TANH) + 2.0 * rng.standard_normal(22)
    noise = Noise(2.0)
    fitted = fit_jointly(theta, X, y, noise, TANH, most=0)
    none = np.zeros(22, dtype=bool)
    np.testing.assert_array_equal(design_bias(fitted, X[none], np.empty(0), TANH), 0.0)
    bias = curvature_bias(fitted, X, noise.precision(y), TANH)
    errors = np.sqrt(np.diag(fitted.covariance))
    assert np.abs(bias / errors).max() > 1.5  # the expansion fails here
    settled = without_bias(fitted, Replies(X, y, none), noise, TANH)
    limited = moved_by(fitted.theta, fitted.mirrors, -1.5 * bias / np.abs(bias / errors).max())
    np.testing.assert_allclose(settled.theta.b, limited.b)
    np.testing.assert_allclose(settled.theta.u, limited.u)


def test_far_answers_are_clear_unless_they_hang_on_a_sign():
    theta = network(1, 6)
    rng = np.random.default_rng(5)
    X = 2 * rng.standard_normal((80, 6))
    fitted = fit(theta, X, predict(theta, X, TANH) + SD * rng.standard_normal(80))
    a = fitted.theta.A[0] / slopes(fitted.theta)[0]
    across = np.linalg.svd(a[None])[2][1]
    far = 2.0**30 * np.array([a, -a, across])
    np.testing.assert_array_equal(clear_of([0], fitted, far), [True, True, False])
