"""Links: the odd form of each activation."""

from __future__ import annotations

import numpy as np
import pytest

from gradsift.activations import ACTIVATIONS
from gradsift.reading.odd_form import link_of


@pytest.mark.parametrize("name", [name for name, f in ACTIVATIONS.items() if f.saturates])
def test_the_public_model_computes_the_same_function_as_the_odd_form(name):
    rng = np.random.default_rng(0)
    link = link_of(name)
    a, b, u, c = rng.standard_normal((4, 3)), rng.standard_normal(4), rng.standard_normal(4), 0.7
    X = rng.standard_normal((20, 3))
    odd = link.odd.value(X @ a.T + b) @ u + c
    model = link.to_model(a, b, u, c)
    np.testing.assert_allclose(model.predict(X), odd, atol=1e-13)
    assert model.activation == name
    assert (model.weights > 0).all()


@pytest.mark.parametrize("name", ["tanh", "erf"])
def test_the_inverse_has_digits_up_to_the_usable_argument_and_none_beyond_flat(name):
    link = link_of(name)
    z = np.linspace(-link.usable, link.usable, 41)
    np.testing.assert_allclose(link.invert(link.odd.value(z)), z, rtol=0.02)
    assert link.odd.value(np.array([link.flat]))[0] == 1.0
    assert np.isinf(link.invert(np.array([1.0, -1.0, 1.5]))).all()
