"""Which inputs inside the box tell most: a greedy choice from a random pool."""

from __future__ import annotations

import numpy as np

from ...activations import Activation
from ...checking import Floats
from ...fit import Fitted, predict, value_jacobian
from ...likelihood import Noise
from .box_policy import TELLING

__all__ = ["telling_points"]


def telling_points(
    fitted: Fitted, n: int, share: float, noise: Noise, g: Activation, rng: np.random.Generator
) -> Floats:
    """Return n rows of [-1, 1]^d that shrink the directions' errors most, by greedy exchange.

    Candidates are uniform in the box, and projected towards a random unit's plane, where its argument is small. Each
    is worth the drop of the summed variance of all directions if it were asked, given those chosen before.
    O(n^2 P) flops for P unknowns.
    """
    pool = _candidates(fitted, TELLING.pool * n, share, rng)
    theta = fitted.theta
    layout, d = theta.layout, theta.A.shape[1]
    J = value_jacobian(theta, pool, g, fitted.mirrors) * np.sqrt(noise.precision(predict(theta, pool, g)))[:, None]
    across = layout.rows(np.arange(layout.size))[:, 1:d].ravel()
    size = np.repeat(1 / np.linalg.norm(theta.A, axis=1), d - 1)
    C = fitted.covariance.copy()
    chosen = np.empty(n, dtype=np.intp)
    for i in range(n):
        CJ = C @ J.T  # (P, pool)
        variance = 1 + np.einsum("pc,cp->c", CJ, J)
        drop = ((size[:, None] * CJ[across]) ** 2).sum(axis=0) / variance
        drop[chosen[:i]] = -1.0
        best = int(np.argmax(drop))
        chosen[i] = best
        C -= np.outer(CJ[:, best], CJ[:, best]) / variance[best]
    return np.asarray(pool[chosen])


def _candidates(fitted: Fitted, n: int, share: float, rng: np.random.Generator) -> Floats:
    theta = fitted.theta
    k, d = theta.A.shape
    pool = rng.uniform(-1.0, 1.0, (n, d))
    pool[: n // 4] *= share
    unit = rng.integers(k, size=n)
    z = np.einsum("nd,nd->n", pool, theta.A[unit]) + theta.b[unit]
    wanted = rng.uniform(-1.5, 1.5, n)
    moved = pool - ((z - wanted) / (theta.A[unit] ** 2).sum(axis=1))[:, None] * theta.A[unit]
    inside = np.abs(moved).max(axis=1) <= 1
    pool[inside] = moved[inside]
    return np.asarray(pool)
