"""Gradient descent on the squared error of k sigmoids of free weights, from random starts."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.methods import Peer


def gradient_descent(X, y, k, rng, starts=3, iterations=800, rate=1.0, rows=20_000):
    """Return unit rows (k, d) of the best of `starts` runs with momentum, on at most `rows` rows."""
    X, y = X[:rows], y[:rows]
    n, d = X.shape
    best, best_loss = None, np.inf
    for _ in range(starts):
        A, u = rng.standard_normal((k, d)) / np.sqrt(d), rng.choice([-1.0, 1.0], k) / k
        speed_A, speed_u = np.zeros_like(A), np.zeros_like(u)
        for _ in range(iterations):
            f = np.tanh(X @ A.T)  # (n, k)
            error = f @ u - y
            slope = (error[:, None] * (1 - f**2)) * u  # (n, k)
            speed_A = 0.9 * speed_A - rate * slope.T @ X / n
            speed_u = 0.9 * speed_u - 0.1 * rate * error @ f / n
            A, u = A + speed_A, u + speed_u
        loss = float(np.mean(error**2))
        if loss < best_loss:
            best, best_loss = A * np.sign(u)[:, None], loss
    return best / np.linalg.norm(best, axis=1, keepdims=True)


RATES = tuple({"rate": rate} for rate in (0.3, 1.0, 3.0))
PEER = Peer("gradient descent", gradient_descent, tries=RATES)
