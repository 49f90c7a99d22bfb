"""The tensor method (Sedghi and Anandkumar 2016): E y S_3(x) of Gaussian rows is a sum of cubes of the units.

S_3 is the third Hermite polynomial. The mean third derivative must differ from zero; for tanh and Gaussian rows it is
negative, so that units come out with the opposite sign, and are matched up to signs.
"""

from __future__ import annotations

import numpy as np

from benchmarks.peers.methods import Peer


def tensor_method(X, y, k, rng):
    """Return unit rows (k, d): the span of the cubes by HOSVD, then the eigenvectors of two random slices in it."""
    n, d = X.shape
    y = y - y.mean()
    third, first = np.zeros((d, d, d)), y @ X / n
    for rows in np.array_split(np.arange(n), max(1, n * d * d // 4_000_000)):
        Z = X[rows]
        pairs = (Z[:, :, None] * Z[:, None, :]).reshape(len(Z), d * d)
        third += ((Z * y[rows, None]).T @ pairs).reshape(d, d, d) / n
    each = np.arange(d)
    third[:, each, each] -= first[:, None]
    third[each, :, each] -= first
    third[each, each, :] -= first
    frame = np.linalg.svd(third.reshape(d, d * d), full_matrices=False)[0][:, :k]  # (d, k)
    core = np.einsum("abc,ai,bj,cl->ijl", third, frame, frame, frame, optimize=True)
    # Units need not be orthogonal: joint diagonalisation of two random slices takes the place of whitening.
    a, b = rng.standard_normal((2, k))
    left, right = np.einsum("ijl,l->ij", core, a), np.einsum("ijl,l->ij", core, b)
    _, vectors = np.linalg.eig(left @ np.linalg.pinv(right))
    units = (frame @ np.real(vectors)).T
    norms = np.maximum(np.linalg.norm(units, axis=1, keepdims=True), 1e-300)
    return units / norms


PEER = Peer("tensor method", tensor_method)
