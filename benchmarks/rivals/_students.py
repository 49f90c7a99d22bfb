"""A student network fitted to answers by L-BFGS, then by Levenberg-Marquardt: what several peers need."""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares, minimize

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
    """Return the parameters after Levenberg-Marquardt, and the loss."""
    done = least_squares(residuals, p, jacobian, args=(X, y, box), method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15,
                         max_nfev=most)  # fmt: skip
    return done.x, float(done.cost) / len(y)
