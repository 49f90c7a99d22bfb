"""Places of parameters against a list of names, the Jacobian against differences and against its twin."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gradsift.activations import get_activation
from gradsift.fit import Layout, Parameters, layer_jacobian, predict, value_jacobian
from gradsift.fit.jacobian import jacobian_on_device
from gradsift.fit.joint import mirror_of, mirror_rows, moved_by

LAYOUTS = [Layout(2, 3, *flags) for flags in product((False, True), repeat=4)]


def names(layout: Layout) -> list[str]:
    """The flat vector, spelled out."""
    k, d = layout.n_units, layout.n_features
    own = [[f"a{unit}{i}" for i in range(d)] for unit in range(k)]
    offsets = [f"b{unit}" for unit in range(k)] if layout.offsets else []
    if layout.by_unit:
        spelled = [name for unit in range(k) for name in own[unit] + offsets[unit : unit + 1]]
        spelled += [f"u{unit}" for unit in range(k)]
    else:
        spelled = [name for unit in own for name in unit] + [f"u{unit}" for unit in range(k)] + offsets
    return spelled + ["c"] * layout.intercept + [f"g{i}" for i in range(d)] * layout.linear


def theta_of(layout: Layout, seed: int = 0) -> Parameters:
    rng = np.random.default_rng(seed)
    k, d = layout.n_units, layout.n_features
    return Parameters(
        rng.standard_normal((k, d)),
        rng.standard_normal(k),
        rng.standard_normal(k) if layout.offsets else np.zeros(k),
        float(rng.standard_normal()) if layout.intercept else 0.0,
        rng.standard_normal(d) if layout.linear else None,
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_slice_holds_what_its_name_says(layout):
    spelled = names(layout)
    assert layout.size == len(spelled)
    assert spelled[layout.weights] == ["u0", "u1"]
    assert spelled[layout.first] == ["a00", "a10"]
    assert spelled[layout.b] == (["b0", "b1"] if layout.offsets else [])
    assert spelled[layout.c] == ["c"] * layout.intercept
    assert spelled[layout.linear_term] == ["g0", "g1", "g2"] * layout.linear
    for unit in range(2):
        assert spelled[layout.a(unit)] == [f"a{unit}{i}" for i in range(3)]
        if layout.by_unit:
            assert spelled[layout.own(unit)] == [f"a{unit}{i}" for i in range(3)] + [f"b{unit}"] * layout.offsets
        else:
            with pytest.raises(ValueError, match="no block for a unit"):
                layout.own(unit)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_packed_unpacks_to_the_same(layout):
    theta = theta_of(layout)
    again = layout.unpack(layout.pack(theta))
    for left, right in zip(theta, again):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_jacobian_is_that_of_the_values_in_either_order_and_in_its_twin(layout):
    g, theta = get_activation("tanh"), theta_of(layout)
    rng = np.random.default_rng(1)
    X, scale = rng.standard_normal((7, 3)), rng.uniform(0.5, 2, 7)
    z = theta.A @ X.T + theta.b[:, None]
    values, active = g.value(z), g.derivative(z) * theta.u[:, None]
    J = layer_jacobian(layout, X.T, values, active)
    flat, h = layout.pack(theta), 1e-6
    for column in range(layout.size):
        step = h * np.eye(layout.size)[column]
        up, down = (predict(layout.unpack(flat + s * step), X, g) for s in (1, -1))
        np.testing.assert_allclose(J[column], (up - down) / (2 * h), atol=1e-8)
    np.testing.assert_allclose(layer_jacobian(layout, X.T, values, active, scale=scale), J * scale, rtol=1e-14)
    single = layer_jacobian(layout, X.T.astype(np.float32), values, active, scale=scale, dtype=np.float32)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, J * scale, rtol=1e-5, atol=1e-6)
    torch = pytest.importorskip("torch")
    twin = jacobian_on_device(layout, *(torch.tensor(part) for part in (X, values.T, active.T)))
    np.testing.assert_allclose(twin.numpy(), J.T, rtol=1e-14)


@pytest.mark.parametrize("linear", [False, True])
def test_mirrored_coordinates_have_the_unit_first_and_a_jacobian_of_their_own(linear):
    g, theta = get_activation("erf"), theta_of(Layout(2, 3, linear=linear))
    X = np.random.default_rng(2).standard_normal((6, 3))
    mirrors = mirror_of(theta.A)
    for row, v in zip(theta.A, mirrors):
        np.testing.assert_allclose(np.abs(mirror_rows(row[None], v)[0]), [np.linalg.norm(row), 0, 0], atol=1e-14)
    J, h = value_jacobian(theta, X, g, mirrors), 1e-6
    for column in range(J.shape[1]):
        step = h * np.eye(J.shape[1])[column]
        up, down = (predict(moved_by(theta, mirrors, s * step), X, g) for s in (1, -1))
        np.testing.assert_allclose(J[:, column], (up - down) / (2 * h), atol=1e-8)
