"""Alternating minimisation (Yi, Caramanis and Sanghavi 2014) for two linear regressions without noise.

Start on the plane of the two largest eigenvectors of mean y^2 x x', searched by a grid; then rows go to the nearer of
the two regressions, each is solved again, and so on.
"""

from __future__ import annotations

import numpy as np

from benchmarks.peers.methods import Peer
from gradsift.geometry import normalize_rows


def alternating_minimisation(X, y, rng, grid=72, iterations=100):
    """Return coefficients (2, d)."""
    n, d = X.shape
    _, vectors = np.linalg.eigh((X * (y**2)[:, None]).T @ X / n)
    plane = vectors[:, -2:].T  # (2, d)
    radius = np.sqrt(max(float(np.mean(y**2)), 1e-300))
    some = rng.permutation(n)[: min(n, 5000)]
    angles = 2 * np.pi * np.arange(grid) / grid
    places = radius * np.stack([np.cos(angles), np.sin(angles)], axis=1) @ plane  # (grid, d)
    residual = (y[some, None] - X[some] @ places.T) ** 2  # (rows, grid)
    loss = np.array([np.minimum(residual[:, [i]], residual).mean(axis=0) for i in range(grid)])
    i, j = np.unravel_index(np.argmin(loss), loss.shape)
    B = places[[i, j]]
    mine = np.full(n, -1)
    for _ in range(iterations):
        nearer = np.argmin((y[:, None] - X @ B.T) ** 2, axis=1)
        if np.array_equal(nearer, mine):
            break
        mine = nearer
        for h in (0, 1):
            if (mine == h).sum() >= d:
                B[h] = np.linalg.lstsq(X[mine == h], y[mine == h], rcond=None)[0]
    return B


def _run(X, y, k, rng):
    return normalize_rows(alternating_minimisation(X, y, rng))


PEER = Peer("alternating minimisation", _run)
