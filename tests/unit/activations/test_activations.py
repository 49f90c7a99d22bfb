"""Each sigmoid against a second way of getting its numbers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from gradsift.activations import ACTIVATIONS, get_activation, register

NAMES = sorted(ACTIVATIONS)
SIGMOIDS = sorted(name for name, f in ACTIVATIONS.items() if f.saturates)
KINKED = sorted(set(NAMES) - set(SIGMOIDS))


@pytest.mark.parametrize("name", KINKED)
def test_kinked_activations_agree_with_differences_and_with_their_lines_far_out(name):
    f = get_activation(name)
    z = np.array([-2.3, -0.4, 0.7, 1.9])
    h = 1e-5
    np.testing.assert_allclose(f.derivative(z), (f.value(z + h) - f.value(z - h)) / (2 * h), atol=1e-9)
    np.testing.assert_allclose(f.second_derivative(z), (f.derivative(z + h) - f.derivative(z - h)) / (2 * h), atol=1e-9)
    far = np.array([-1e6, 1e6])
    lines = [f.left.value + f.left.slope * far[0], f.right.value + f.right.slope * far[1]]
    np.testing.assert_allclose(f.value(far), lines, atol=1e-9)
    assert f.odd_form is None
    assert np.isfinite([f.value(1e3 * far), f.derivative(1e3 * far), f.second_derivative(1e3 * far)]).all()
    replaced = register(replace(f))  # compares the record with itself
    assert get_activation(name) is replaced
    register(f)


@pytest.mark.parametrize("name", SIGMOIDS)
def test_derivatives_agree_with_differences_and_the_inverse_inverts(name):
    f = get_activation(name)
    z = np.array([-2.3, -0.4, 0.7, 1.9])
    h = 1e-5
    np.testing.assert_allclose(f.derivative(z), (f.value(z + h) - f.value(z - h)) / (2 * h), atol=1e-9)
    np.testing.assert_allclose(f.second_derivative(z), (f.derivative(z + h) - f.derivative(z - h)) / (2 * h), atol=1e-9)
    np.testing.assert_allclose(f.inverse(f.value(z)), z, atol=1e-12)
    np.testing.assert_allclose(f.value(-z), 2 * f.middle - f.value(z), atol=1e-15)
    far = f.value(np.array([-1e9, 1e9]))
    np.testing.assert_allclose(far, [f.low, f.high], atol=1e-8)
    assert (np.abs(f.value(np.array([-50.0, 50.0])) - [f.low, f.high]) > 1e-3).all() == (f.tails == "algebraic")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("std", [0.3, 1.0, 5.0, 1000.0])
@pytest.mark.parametrize("mean", [0.0, 0.9, 6.0])
def test_smoothed_derivative_agrees_with_adaptive_quadrature(name, std, mean):
    f = get_activation(name)
    bend = np.clip(-mean / std, -9.5, 9.5)
    expected, _ = quad(
        lambda z: float(f.derivative(np.array(mean + std * z))) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi),
        -10, 10, points=sorted({bend, *np.clip(bend + np.array([-20, 20]) / std, -9.9, 9.9)}), limit=900, epsabs=1e-14,
    )  # fmt: skip
    assert f.smoothed_derivative(np.array([mean]), std)[0] == pytest.approx(expected, rel=1e-5 if std > 5 else 1e-10)


def test_smoothed_derivative_agrees_with_gauss_hermite_where_that_converges():
    nodes, weights = np.polynomial.hermite_e.hermegauss(150)
    f = get_activation("tanh")
    mean = np.array([0.0, 1.0, -3.0])
    hermite = f.derivative(mean[:, None] + 0.5 * nodes) @ weights / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(f.smoothed_derivative(mean, 0.5), hermite, atol=1e-13)


def test_the_smoothed_erf_has_a_closed_form():
    f, mean, std = get_activation("erf"), np.array([0.0, 1.3]), 2.0
    width = 1 + 2 * std**2
    expected = 2 / np.sqrt(np.pi * width) * np.exp(-(mean**2) / width)
    np.testing.assert_allclose(f.smoothed_derivative(mean, std), expected, atol=1e-13)


@pytest.mark.parametrize("name", ["tanh", "erf"])
def test_the_derived_odd_form_agrees_with_the_given_one(name):
    f = get_activation(name)
    derived = replace(f, odd=None).odd_form
    assert derived.g.value is f.value
    assert derived.flat == pytest.approx(f.odd_form.flat, rel=0.02)
    assert derived.usable == pytest.approx(f.odd_form.usable, rel=0.02)
    assert f.value(np.array([derived.flat])) == 1.0
    assert f.value(np.array([derived.flat - 1e-6])) < 1.0


def test_a_sigmoid_between_other_limits_is_normalised():
    f = replace(get_activation("logistic"), odd=None)
    g, z = f.odd_form.g, np.linspace(-3, 3, 7)
    assert (f.odd_form.center, f.odd_form.gain, f.odd_form.stretch) == (0.5, 0.5, 1.0)
    np.testing.assert_allclose(g.value(z), np.tanh(z / 2), atol=1e-15)
    np.testing.assert_allclose(g.invert(g.value(z)), z, atol=1e-13)
    np.testing.assert_allclose(g.derivative(z), 2 * f.derivative(z), atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_package_brings_keeps_to_what_it_asks_of_others(name):
    assert register(get_activation(name)) is get_activation(name)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"tanh, logistic, erf, arctan, softsign, relu, .*, got 'sine'"):
        get_activation("sine")
