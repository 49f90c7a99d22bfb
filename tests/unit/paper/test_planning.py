"""Problems, plans, exact parameters, the Cramer-Rao yardstick."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

import gradsift as gs
from gradsift.activations import get_activation
from gradsift.paper.theory.constants import exact_Delta, exact_parameters, log_mean_derivative, parameters
from gradsift.paper.theory.gaussian_fields import coefficients, log_coefficients
from gradsift.paper.theory.planning import cramer_rao, units_at_equal_angles

EXAMPLE = gs.Problem(d=10, k=2, beta=1, kappa=0.9, u0=0.5, M=1)


def test_the_worked_example_as_printed_and_as_repaired():
    printed = gs.plan(EXAMPLE, scheme="oracle", delta=0.25, rho=0.5, form="printed")
    assert float(printed.xi0) == pytest.approx(259.0, abs=0.05)
    assert float(printed.w0) == pytest.approx(9.56e-6, rel=5e-4)
    assert float(printed.gamma) == pytest.approx(6.62e-3, rel=5e-4)
    assert "printed (1 + delta)" in printed.explain()
    repaired = gs.plan(EXAMPLE, scheme="oracle", delta=0.25, rho=0.5)
    assert "repaired (1 + 2 delta)" in repaired.explain()
    assert float(repaired.Delta) - float(printed.Delta) == pytest.approx(math.log(1.5 / 1.25))
    assert float(repaired.m0) == pytest.approx(math.log(8) / (0.5 * 0.9 * 0.5 / (4 * math.e * 2.5**2)))
    expected = 10 / (0.25 * float(repaired.w0)) ** 2 * math.log(2 / (float(repaired.gamma) * 0.5 * 0.25))
    assert float(repaired.n0) == pytest.approx(expected)
    assert repaired.n.log10 == pytest.approx(repaired.m0.log10 + repaired.n0.log10)


def test_gaussian_rows_are_ten_to_the_millions_without_overflow():
    p = gs.plan(EXAMPLE, scheme="gaussian", delta=0.25, rho=0.5, form="printed")
    assert p.n.log10 == pytest.approx(1.9e6, rel=0.01)
    assert float(p.n) == math.inf
    assert "10^1.9" in p.explain()
    assert p.n0 is None
    assert p.n1 is None


def test_the_projected_plan_names_both_samples_and_its_errata():
    p = gs.plan(EXAMPLE, scheme="projected", delta=0.25, rho=0.5)
    assert float(p.n1) == pytest.approx(10 * math.log(4) / p.theta**2)
    assert p.n.log_value == pytest.approx(p.n2.log_value)
    assert "not d/theta" in p.explain()
    assert p.radius == 1.75
    assert {q.label for q in p.quantities} >= {"dimredtheorem", "gamma", "w0"}
    with pytest.raises(ValueError, match=r"u0 must be at most 1/k"):
        gs.plan(gs.Problem(10, 2, 1, 0.9, 0.7, M=2), scheme="projected", delta=0.25, rho=0.5)


def test_unknown_constants_are_listed_and_can_be_set():
    p = gs.plan(EXAMPLE, delta=0.25, rho=0.5, constants={"C": 96, "C'": 8})
    plain = gs.plan(EXAMPLE, delta=0.25, rho=0.5)
    assert p.n.log_value - plain.n.log_value == pytest.approx(math.log(96 * 8))
    assert "C = 96, C' = 8" in p.explain()
    with pytest.raises(ValueError, match="constants must be positive"):
        gs.plan(EXAMPLE, delta=0.25, rho=0.5, constants={"K": 1})


@pytest.mark.parametrize("scheme", ["oracle", "gaussian", "projected"])
@pytest.mark.parametrize("name", ["delta", "rho"])
def test_solving_for_a_parameter_spends_exactly_the_budget(scheme, name):
    p = gs.plan(EXAMPLE, scheme=scheme, delta=0.25, rho=0.5)
    solved = p.solve_for(name, log10_n=1.5 * p.n.log10)
    assert solved.n.log10 == pytest.approx(1.5 * p.n.log10, rel=1e-9)
    assert getattr(solved, name) < getattr(p, name)
    assert solved.fits(1e300) == (solved.n.log10 <= 300)


def test_budgets_that_are_too_small_or_endless_are_answered():
    p = gs.plan(EXAMPLE, delta=0.25, rho=0.5)
    assert p.fits(1e17)
    assert not p.fits(1e16)
    with pytest.raises(ValueError, match=r"Even delta = 0.5 asks for 10\^"):
        p.solve_for("delta", n=1000)
    assert p.solve_for("delta", log10_n=1e6).delta == 1e-9
    with pytest.raises(ValueError, match="'delta' or 'rho'"):
        p.solve_for("kappa", n=1e20)
    with pytest.raises(ValueError, match="either n or log10_n"):
        p.solve_for("delta")
    with pytest.raises(ValueError, match="n must be above 0"):
        p.solve_for("delta", n=0)
    with pytest.raises(ValueError, match="budget must be above 0"):
        p.fits(0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(d=0), "d must be a whole number"),
        (dict(k=1.5), "k must be a whole number"),
        (dict(k=True), "k must be a whole number"),
        (dict(k=11), "k must be at most d"),
        (dict(beta=0), "beta must be above 0"),
        (dict(beta=math.inf), "beta must be finite"),
        (dict(kappa=1.2), "kappa must be at most 1"),
        (dict(kappa=math.nan), "kappa must be above 0"),
        (dict(u0=2.0), "u0 must be at most 1"),
        (dict(u0=-0.1), "u0 must be above 0"),
        (dict(M=0), "M must be above 0"),
        (dict(M=0.9), "M must be at least k u0 = 1"),
    ],
)
def test_impossible_problems_are_one_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        gs.Problem(**{**dict(d=10, k=2, beta=1, kappa=0.9, u0=0.5, M=1), **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(delta=0), "delta must be above 0"),
        (dict(delta=0.51), r"delta must lie in \(0, 0.5\]"),
        (dict(rho=1), r"rho must lie in \(0, 1\)"),
        (dict(rho=0), "rho must be above 0"),
        (dict(scheme="magic"), "scheme must be one of"),
        (dict(form="hopeful"), "form must be one of"),
    ],
)
def test_impossible_plans_are_one_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        gs.plan(EXAMPLE, **{**dict(delta=0.25, rho=0.5), **arguments})
    with pytest.raises(TypeError, match="problem must be a Problem"):
        gs.plan("easy", delta=0.25, rho=0.5)


# Exact parameters (ours)


@pytest.mark.parametrize("beta", [0.05, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("z", [0.0, 0.3, 4.0])
def test_exact_coefficient_agrees_with_adaptive_quadrature(beta, z):
    def density(x):
        return beta / math.cosh(min(beta * abs(z + x), 300)) ** 2 * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    value = sum(
        quad(density, a, b, epsabs=0, epsrel=1e-10, limit=200)[0]
        for a, b in ((-z - 12, -z - 0.5), (-z - 0.5, -z), (-z, -z + 0.5), (-z + 0.5, -z + 12))
    )
    assert math.exp(log_mean_derivative(z, beta)) == pytest.approx(value, rel=1e-8)
    assert log_mean_derivative(-z, beta) == log_mean_derivative(z, beta)


@pytest.mark.parametrize("beta", [0.1, 0.5, 1.0, 2.0])
def test_mean_derivatives_agree_with_the_activation_and_across_the_far_field(beta):
    edge = 3 * beta + 20 / beta
    z = np.array([0.0, -0.4, 1.0, 3.0, edge * (1 - 1e-12), edge * (1 + 1e-12)])
    near = get_activation("tanh").smoothed_derivative(beta * z[:4], beta) * beta
    np.testing.assert_allclose(coefficients(z[:4], beta), near, rtol=1e-6)
    inside, outside = log_coefficients(z[4:], beta)
    assert outside == pytest.approx(inside, abs=1e-9)


def test_far_out_the_exact_coefficient_has_its_known_limit():
    # 4 beta e^{-2 beta z + 2 beta^2} beyond all rounding of the tail.
    assert log_mean_derivative(400.0, 1.0) == pytest.approx(math.log(4) - 800 + 2, abs=1e-9)


def test_exact_parameters_satisfy_the_two_lines_of_the_proof():
    p, delta = gs.Problem(20, 4, 1.3, 0.5, 0.2), 0.2
    made = exact_parameters(p, delta, 0.4)
    far = 4 * math.exp(log_mean_derivative(made.Delta, 1.3))
    near = 0.2 * math.exp(log_mean_derivative(made.Delta / 2, 1.3))
    assert far == pytest.approx(delta * made.w0)
    assert near == pytest.approx((1 + 2 * delta) * made.w0)
    assert made.Delta == exact_Delta(p, delta)


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
def test_exact_parameters_save_many_orders_of_magnitude(beta):
    p = gs.Problem(10, 2, beta, 0.9, 0.5)
    saved = (exact_parameters(p, 0.25, 0.5).log_w0 - parameters(p, 0.25, 0.5).log_w0) * 2 / math.log(10)
    assert saved > 5
    assert "ours" in gs.plan(p, delta=0.25, rho=0.5, form="exact").explain()


# Cramer-Rao


def test_reference_units_have_the_requested_smallest_singular_value():
    for k, kappa in ((1, 0.3), (2, 0.3), (5, 0.9)):
        units = units_at_equal_angles(k, kappa)
        np.testing.assert_allclose(np.linalg.norm(units, axis=1), 1)
        assert np.linalg.svd(units)[1][-1] == pytest.approx(kappa if k > 1 else 1)


def test_the_bound_agrees_with_a_fisher_matrix_in_full_dimension():
    # n = 400,000 draws, seed 8: relative error of each entry about 1 %, tolerance 3 %.
    p = gs.Problem(d=5, k=2, beta=1.2, kappa=0.6, u0=0.4)
    units = np.hstack([units_at_equal_angles(2, 0.6), np.zeros((2, 3))])
    X = np.random.default_rng(8).standard_normal((400_000, 5))
    f = np.tanh(1.2 * X @ units.T)
    r = 0.4 * f.sum(axis=1)
    parts = []
    for i in range(2):
        tangent = np.linalg.svd(units[i][None])[2][1:]  # (4, 5)
        parts.append(0.4 * 1.2 * (1 - f[:, [i]] ** 2) * (X @ tangent.T))
    J = np.hstack([*parts, f]) / np.sqrt(1 - r**2)[:, None]
    covariance = np.linalg.inv(J.T @ J / len(X))
    brute = max(np.trace(covariance[:4, :4]), np.trace(covariance[4:8, 4:8]))
    assert cramer_rao(p).variance == pytest.approx(brute, rel=0.03)


def test_one_unit_has_a_one_dimensional_integral():
    # k = 1: (d - 1) / E[(u beta sech^2)^2 / (M^2 - u^2 tanh^2)].
    def inside(z):
        f = math.tanh(z)
        return (0.5 * (1 - f * f)) ** 2 / (1 - 0.25 * f * f) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    information = quad(inside, -10, 10)[0]
    assert cramer_rao(gs.Problem(7, 1, 1.0, 1.0, 0.5)).variance == pytest.approx(6 / information, rel=1e-3)
    assert cramer_rao(gs.Problem(1, 1, 1.0, 1.0, 0.5)).variance == 0


def test_the_plan_shows_the_limit_beside_the_theorem():
    p = gs.plan(EXAMPLE, delta=0.05, rho=0.5)
    assert float(p.practical) == pytest.approx(cramer_rao(EXAMPLE).rows(0.3))
    assert p.practical.log10 < p.n.log10 - 10
    assert "Cramer-Rao" in p.explain()
    big = gs.plan(gs.Problem(100, 50, 1, 0.5, 0.02), delta=0.25, rho=0.5)
    assert "Cramer-Rao" not in big.explain()
    with pytest.raises(ValueError, match="k <= 40"):
        _ = big.practical
