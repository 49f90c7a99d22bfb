"""THE Jacobian of a layer: the derivatives of all values in all parameters, in NumPy and for tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..activations import Activation
from ..arguments import Floats
from .parameters import Layout, Parameters


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
    left = active if scale is None else (active * scale).astype(dtype)
    for unit in range(layout.n_units):
        part = J[layout.a(unit)]
        if mirrors is None:
            np.multiply(left[unit], inputs, out=part)
            continue
        v = mirrors[unit]
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


def tensor_jacobian(layout: Layout, x: Any, values: Any, active: Any) -> Any:
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
