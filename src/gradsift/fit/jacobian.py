"""THE Jacobians: derivatives of values in all parameters, of one layer, in tensors, and of a stack of layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..activations import Activation
from ..arguments import Floats
from .parameters import Layout, Parameters

# (W (out, in), b (out,)) of every layer of a stack, the output with one row last.
Layers = list[tuple[Floats, Floats]]


def layer_jacobian(
    layout: Layout,
    inputs: Any,
    values: Any,
    active: Any,
    *,
    scale: Floats | None = None,
    mirrors: Floats | None = None,
    dtype: Any = np.float64,
) -> Any:
    """Return the derivatives of ``r = c + <linear, x> + sum u f(a x + b)``, shape (size, n): rows of X run fastest.

    Parameters
    ----------
    inputs : (d, n) array
        X transposed, contiguous and of type `dtype`.
    values, active : (k, n) arrays
        f of all arguments, and u times f' of them.
    scale : (n,) array, optional
        Multiplies the derivatives at each row.
    mirrors : (k, d) array, optional
        Reflections of the units' coordinates, ``x - 2 (x v) v``.
    dtype : dtype

    Notes
    -----
    O(n k d) flops, one array of the result's size.
    """
    J = np.empty((layout.size, inputs.shape[1]), dtype=dtype)
    # d r / d a_l = u_l f'(z_l) x, d r / d b_l = u_l f'(z_l), d r / d u_l = f(z_l).
    left = active if scale is None else (active * scale).astype(dtype)
    for unit in range(layout.n_units):
        part = J[layout.a(unit)]
        if mirrors is None:
            np.multiply(left[unit], inputs, out=part)
            continue
        v = mirrors[unit]
        # Coordinates of unit l are reflected, x - 2 (x v) v: a rank-one change, without a (d, d) product.
        np.multiply((-2 * v)[:, None], v @ inputs, out=part)
        part += inputs
        part *= left[unit]
    if layout.offsets:
        J[layout.b] = left
    if scale is None:
        J[layout.weights], J[layout.c] = values, 1.0
    else:
        np.multiply(values, scale, out=J[layout.weights], casting="same_kind")
        J[layout.c] = scale
    if layout.linear:
        J[layout.linear_term] = inputs if scale is None else inputs * scale.astype(dtype)
    return J


def value_jacobian(theta: Parameters, X: Floats, g: Activation, mirrors: Floats | None = None) -> Floats:
    """Return the derivatives of r at the rows of X in the parameters by unit, (n, size); mirrored if that is asked."""
    rows = np.ascontiguousarray(X.T)
    z = theta.A @ rows + theta.b[:, None]
    active = g.derivative(z) * theta.u[:, None]
    return np.asarray(layer_jacobian(theta.layout, rows, g.value(z), active, mirrors=mirrors).T)


def predict(theta: Parameters, X: Floats, g: Activation) -> Floats:
    """Return the values at the rows of X."""
    values = g.value(X @ theta.A.T + theta.b) @ theta.u + theta.c
    return np.asarray(values if theta.linear is None else values + X @ theta.linear)


def jacobian_on_device(layout: Layout, x: Any, values: Any, active: Any) -> Any:
    """The twin of :func:`layer_jacobian` for tensors: rows x (n, d), values and active (n, k), result (n, size)."""
    J = x.new_empty((len(x), layout.size))
    for unit in range(layout.n_units):
        J[:, layout.a(unit)] = active[:, unit, None] * x
    J[:, layout.weights] = values
    if layout.offsets:
        J[:, layout.b] = active
    J[:, layout.c] = 1.0
    if layout.linear:
        J[:, layout.linear_term] = x
    return J


@dataclass(frozen=True)
class LayerValues:
    """What happened at n rows on the way through.

    Attributes
    ----------
    inputs : list of (n, k) arrays
        Into each layer; the rows themselves first.
    values : (n,) array
    slopes : list of (n, k) arrays
        Derivative of the value by the argument of each hidden unit, layer by layer.
    """

    inputs: list[Floats]
    values: Floats
    slopes: list[Floats]


def layer_values(layers: Layers, X: Floats, g: Activation) -> LayerValues:
    """Return values and derivatives at the rows of X; O(n parameters) flops."""
    inputs, bends = [X], []
    for weights, offsets in layers[:-1]:
        arguments = inputs[-1] @ weights.T + offsets
        inputs.append(np.asarray(g.value(arguments)))
        bends.append(g.derivative(arguments))
    (last,), (constant,) = layers[-1]
    slopes: list[Floats] = []
    back = np.broadcast_to(last, inputs[-1].shape)
    for number in range(len(layers) - 2, -1, -1):
        slopes.append(np.asarray(back * bends[number]))
        back = slopes[-1] @ layers[number][0]
    return LayerValues(inputs, np.asarray(inputs[-1] @ last + constant), slopes[::-1])


def stack_jacobian(passed: LayerValues) -> Floats:
    """Return the derivatives by all parameters, shape (n, p), in the order of `to_vector`."""
    n = len(passed.values)
    blocks = []
    for inputs, slopes in zip(passed.inputs, passed.slopes):
        blocks += [(slopes[:, :, None] * inputs[:, None, :]).reshape(n, -1), slopes]
    return np.concatenate([*blocks, passed.inputs[-1], np.ones((n, 1), passed.values.dtype)], axis=1)


def to_vector(layers: Layers) -> Floats:
    """Return all parameters in one vector: W by rows, then b, layer after layer."""
    return np.concatenate([part.ravel() for layer in layers for part in layer])


def with_vector(layers: Layers, vector: Floats) -> Layers:
    """Return layers of the same shape with these parameters."""
    found, at = [], 0
    for weights, offsets in layers:
        W = vector[at : at + weights.size].reshape(weights.shape)
        at += weights.size
        found.append((W, vector[at : at + offsets.size]))
        at += offsets.size
    return found
