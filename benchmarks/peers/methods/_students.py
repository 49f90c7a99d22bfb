"""A student network fitted to answers by L-BFGS, then by Levenberg-Marquardt: what several peers need."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from gradsift.activations import get_activation


def unpack(p, box):
    """Return the layers (W, b) of one vector; the last one is the output."""
    layers, at, before = [], 0, box.d
    for width in (*box.widths, 1):
        end = at + width * before
        layers.append((p[at:end].reshape(width, before), p[end : end + width]))
        at, before = end + width, width
    return layers


def first_layer(p, box):
    """Return the rows of the first layer, (k, d)."""
    return unpack(p, box)[0][0]


def _pass(p, X, box):
    """Return what enters each layer, the values (n,), and their derivatives by the arguments of each layer."""
    f, layers = get_activation(box.activation), unpack(p, box)
    entering, slopes = [X], []
    for W, b in layers[:-1]:
        z = entering[-1] @ W.T + b
        entering.append(f.value(z))
        slopes.append(f.derivative(z))
    (u, c) = layers[-1]
    back = [np.ones((len(X), 1))]
    for (W, _), slope in zip(layers[:0:-1], slopes[::-1]):
        back.append((back[-1] @ W) * slope)
    return entering, (entering[-1] @ u.T + c)[:, 0], back[::-1]


def residuals(p, X, y, box):
    """Return value minus answer, (n,)."""
    return _pass(p, X, box)[1] - y


def jacobian(p, X, y, box):
    """Return the derivatives of the residuals, (n, parameters)."""
    entering, _, back = _pass(p, X, box)
    blocks = [((b[:, :, None] * a[:, None, :]).reshape(len(X), -1), b) for a, b in zip(entering, back)]
    return np.column_stack([part for pair in blocks for part in pair])


def _loss(p, X, y, box):
    """Return half the mean squared error and its gradient, without the whole Jacobian."""
    entering, values, back = _pass(p, X, box)
    r = values - y
    parts = [part for a, b in zip(entering, back) for part in (((b * r[:, None]).T @ a).ravel(), r @ b)]
    return 0.5 * float(r @ r) / len(y), np.concatenate(parts) / len(y)


def begin(box, scale, rng):
    """Return a random start: rows of length about `scale` in hidden layers, small outputs."""
    parts, before = [], box.d
    for width in box.widths:
        parts += [scale * rng.standard_normal(width * before) / np.sqrt(before), rng.standard_normal(width)]
        before = width
    return np.concatenate([*parts, rng.standard_normal(before) / np.sqrt(before), [0.0]])


def learn(p, X, y, box, iterations=500):
    """Return the parameters after L-BFGS, and the loss."""
    done = minimize(_loss, p, (X, y, box), jac=True, method="L-BFGS-B",
                    options={"maxiter": iterations, "maxfun": 10**6})  # fmt: skip
    return done.x, float(done.fun)


def polish(p, X, y, box, most=100):
    """Return the parameters after Levenberg-Marquardt (Marquardt's scaling, normal equations), and the loss."""
    r = residuals(p, X, y, box)
    damping = 1e-3
    for _ in range(most):
        J = jacobian(p, X, y, box)
        normal, slope = J.T @ J, J.T @ r
        scale = np.diag(normal) + 1e-12 * np.trace(normal)
        for _ in range(12):  # longer steps are tried first
            step = np.linalg.solve(normal + np.diag(damping * scale), slope)
            tried = residuals(p - step, X, y, box)
            if tried @ tried < r @ r:
                break
            damping *= 10
        else:
            break
        p, r, damping = p - step, tried, max(damping / 10, 1e-14)
        if np.abs(step).max() < 1e-15 * np.abs(p).max():
            break
    return p, 0.5 * float(r @ r) / len(y)
