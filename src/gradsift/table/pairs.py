"""Might a unit be two? A test of all rows for curvature that a pair of close units would leave."""

from __future__ import annotations

import numpy as np

from ..checking import Floats
from ..fit import Chart, NormalEquations, Parameters
from .problem import TableProblem

__all__ = ["pair_p_value"]

_DRAWS = 199  # of residuals with other signs and sizes
_BLOCK = 1024


def pair_p_value(problem: TableProblem, theta: Parameters, rng: np.random.Generator) -> float:
    """Return the p-value of the test that every unit is a single one.

    Two units of one sign a small angle apart look like one in between, and leave ``f''(a x) (v x)^2`` in the residuals,
    v being the direction in which they lie apart. The statistic is the largest eigenvalue, over all units, of the sum
    over rows of residual times f'' times x x'. What noise makes of it is drawn: residuals times independent standard
    Gaussian numbers, one for each row (or cluster), less what a refit of all parameters would take up. So noise of any
    size and columns of any law are allowed for; other than in tests on halves, all rows speak.

    O(n k d^2) flops for each of 199 draws, n at most 20,000; float32 blocks of 1024 rows.
    """
    residuals, tangent, rows, bends = _parts(problem, theta)
    drawn = np.vstack((residuals, residuals * _signs(problem, rng)))  # (1 + draws, n)
    drawn = drawn - (drawn @ tangent) @ tangent.T
    largest = _largest_eigenvalues(rows, bends, drawn)  # (k, 1 + draws)
    noise = largest[:, 1:]
    scaled = (largest - noise.mean(axis=1, keepdims=True)) / np.maximum(noise.std(axis=1, keepdims=True), 1e-300)
    own, *others = scaled.max(axis=0)
    return float((1 + np.sum(np.array(others) >= own)) / (1 + _DRAWS))


def _signs(problem: TableProblem, rng: np.random.Generator) -> Floats:
    """Draw what residuals are multiplied by, (draws, n): one number for a cluster, the mean of several for a row that
    was seen several times."""
    rows, groups = problem.observed
    if problem.choices.covariance == "cluster" and groups is not None:
        return np.asarray(rng.standard_normal((_DRAWS, int(groups.max()) + 1))[:, groups])
    signs = rng.standard_normal((_DRAWS, len(rows.y)))
    if problem.choices.weights == "frequency" and rows.weight is not None:
        return np.asarray(signs / np.sqrt(np.maximum(rows.weight, 1e-300)))
    return signs


def _parts(problem: TableProblem, theta: Parameters) -> tuple[Floats, Floats, Floats, Floats]:
    """Return residuals of unit weight (n,), an orthonormal basis of what a refit takes up (n, free), the rows (n, d),
    and the second derivatives of the units, towards a pair of their sign, (n, k)."""
    family, (X, y, weight) = problem.family, problem.observed.rows
    z = X @ theta.A.T + theta.b
    r = family.activation.value(z) @ theta.u + theta.c
    precision = family.rough.precision(r)
    root = np.sqrt(precision if weight is None else weight * precision)
    free = Chart(family, problem.frame.metric).tangent(theta)
    tangent = NormalEquations(family, theta, single=False).jacobian(X) @ free
    bends = family.activation.second_derivative(z) * np.sign(theta.u) * root[:, None]
    return root * (family.rough.working(r, y) - r), np.linalg.qr(tangent * root[:, None])[0], X, bends


def _largest_eigenvalues(X: Floats, bends: Floats, drawn: Floats) -> Floats:
    """Return, by unit and draw, the largest eigenvalue of ``sum_i bends_il drawn_si x_i x_i'``."""
    d = X.shape[1]
    upper = np.triu_indices(d)
    sums = np.zeros((bends.shape[1], len(drawn), len(upper[0])))
    for start in range(0, len(X), _BLOCK):
        part = slice(start, start + _BLOCK)
        products = (X[part][:, upper[0]] * X[part][:, upper[1]]).astype(np.float32)
        block = drawn[:, part].astype(np.float32)
        for unit, bend in enumerate(bends[part].T.astype(np.float32)):
            sums[unit] += (block * bend) @ products
    matrices = np.zeros((*sums.shape[:2], d, d))
    matrices[..., upper[0], upper[1]] = sums
    matrices[..., upper[1], upper[0]] = sums
    return np.asarray(np.linalg.eigvalsh(matrices)[..., -1])
