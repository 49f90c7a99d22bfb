"""A student of sigmoids fitted to answers by L-BFGS, then by Levenberg-Marquardt: what several peers need."""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares, minimize


def unpack(p, d, k):
    """Return W (k, d), b (k,), u (k,) and the constant from one vector."""
    return p[: k * d].reshape(k, d), p[k * d : k * (d + 1)], p[k * (d + 1) : k * (d + 2)], p[-1]


def residuals(p, X, y, k):
    """Return u tanh(W x + b) + c - y, (n,)."""
    W, b, u, c = unpack(p, X.shape[1], k)
    return np.tanh(X @ W.T + b) @ u + c - y


def jacobian(p, X, y, k):
    """Return the derivatives of the residuals, (n, parameters)."""
    W, b, u, _ = unpack(p, X.shape[1], k)
    f = np.tanh(X @ W.T + b)
    slope = (1 - f**2) * u  # (n, k)
    inner = (slope[:, :, None] * X[:, None, :]).reshape(len(X), -1)
    return np.column_stack((inner, slope, f, np.ones(len(X))))


def _loss(p, X, y, k):
    """Return half the mean squared error and its gradient, without the whole Jacobian."""
    W, b, u, c = unpack(p, X.shape[1], k)
    f = np.tanh(X @ W.T + b)
    r = f @ u + c - y
    slope = (1 - f**2) * u * r[:, None]
    gradient = np.concatenate(((slope.T @ X).ravel(), slope.sum(axis=0), r @ f, [r.sum()])) / len(y)
    return 0.5 * float(r @ r) / len(y), gradient


def begin(d, k, scale, rng):
    """Return a random start: rows of length about `scale`."""
    W, b = scale * rng.standard_normal((k, d)) / np.sqrt(d), rng.standard_normal(k)
    return np.concatenate((W.ravel(), b, rng.standard_normal(k) / np.sqrt(k), [0.0]))


def learn(p, X, y, k, iterations=500):
    """Return the parameters after L-BFGS, and the loss."""
    done = minimize(_loss, p, (X, y, k), jac=True, method="L-BFGS-B", options={"maxiter": iterations, "maxfun": 10**6})
    return done.x, float(done.fun)


def polish(p, X, y, k, most=200):
    """Return the parameters after Levenberg-Marquardt, and the loss."""
    done = least_squares(residuals, p, jacobian, args=(X, y, k), method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15,
                         max_nfev=most)  # fmt: skip
    return done.x, float(done.cost) / len(y)
