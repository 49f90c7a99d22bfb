"""Is there a better unit? Candidates found on one half of the rows are tested on the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arguments import Floats
from ..fit import Family, NormalEquations, Parameters
from ..fit.moves import bending_direction, glorot_starts
from ..inference import p_value
from ..sources import Rows
from .batch_loss import BatchLoss
from .lbfgs import minimize_batch, start_batch
from .problem import TableProblem

_NEW = 6  # directions sought per half


class Better(NamedTuple):
    """What the test found.

    p : p-value that nothing is missing (Bonferroni over candidates and halves); nan: too few rows to test
    units : (m, d) arguments, and offsets (m,), of new units fitted to the residuals
    splits : (k, d) directions along which each unit would split
    """

    p: float
    units: Floats
    offsets: Floats
    splits: Floats


def better_unit(problem: TableProblem, theta: Parameters, rng: np.random.Generator) -> Better:
    """Test whether a new or a split unit would explain the residuals.

    On half A: six new units are fitted to the residuals, and per unit the extreme eigenvector of the splitting matrix
    ``sum e f''(a_l x) x x'`` is taken. On half B each of these features is projected off the scores of the fitted
    parameters and standardised. Then the halves swap roles. Two passes with curvature in all.
    """
    rows = problem.first(10_000)
    cut = len(rows.y) // 2
    k, d = theta.A.shape
    if cut < 2 * problem.family.size(k, d):
        return Better(float("nan"), *_candidates(problem.family, _fitted(problem.family, theta, rows), rng)[1:])
    halves = [_fitted(problem.family, theta, _part(rows, some)) for some in (slice(0, cut), slice(cut, None))]
    candidates = [_candidates(problem.family, half, rng) for half in halves]
    largest, n_tests = 0.0, 0
    for half, found in zip(halves, reversed(candidates)):
        statistics = _standardised(problem.family, theta, half, found)
        largest = max(largest, float(np.abs(statistics).max()))
        n_tests += len(statistics)
    units = np.vstack([found.units for found in candidates])
    offsets = np.concatenate([found.offsets for found in candidates])
    return Better(p_value(largest, n_tests), units, offsets, candidates[0].splits)


def _part(rows: Rows, which: slice) -> Rows:
    return Rows(rows.X[which], rows.y[which], None if rows.weight is None else rows.weight[which])


class _Fitted(NamedTuple):
    """Some rows, what a fit leaves of them, how much each row tells, (n,) both, and f'' of the arguments, (n, k)."""

    rows: Rows
    residual: Floats
    information: Floats
    bend: Floats


def _fitted(family: Family, theta: Parameters, rows: Rows) -> _Fitted:
    z = rows.X @ theta.A.T + theta.b
    r = family.activation.value(z) @ theta.u + theta.c
    information = family.rough.precision(r)
    if rows.weight is not None:
        information = information * rows.weight
    return _Fitted(rows, family.rough.working(r, rows.y) - r, information, family.activation.second_derivative(z))


def _candidates(family: Family, half: _Fitted, rng: np.random.Generator) -> Better:
    rows, residual, information, bend = half
    additive = Family(family.activation, offsets=family.offsets)
    scale = float(np.sqrt(np.average(residual**2, weights=information)))
    loss = BatchLoss(Rows(rows.X, residual / max(scale, 1e-300), information), additive, 1)
    d = rows.X.shape[1]
    starts = [s._replace(u=s.u * 0.3) for s in glorot_starts(additive, 1, d, _NEW, 1.5, rng)]
    found = minimize_batch(loss, start_batch(loss, loss.pack(starts)), 15, tolerance=1e-6)
    students = [loss.unpack(point) for point in found.points]
    weighted = (bend * (residual * information)[:, None]).astype(np.float32)
    splits = np.array([bending_direction(loss.X[:, :d], column) for column in weighted.T], dtype=np.float64)
    return Better(1.0, np.array([s.A[0] for s in students]), np.array([s.b[0] for s in students]), splits)


def _standardised(family: Family, theta: Parameters, half: _Fitted, found: Better) -> Floats:
    """Return one statistic per candidate, standard Gaussian when the fit is right.

    In single precision but for the sums: a statistic needs three digits, not sixteen.
    """
    rows, residual, information, bend = half
    new = family.activation.value(rows.X @ found.units.T + found.offsets)
    split = bend * (rows.X @ found.splits.T) ** 2
    J = NormalEquations(family, theta).jacobian(rows.X)
    features = np.hstack((new, split), dtype=J.dtype, casting="same_kind")  # (rows, m)
    root = np.sqrt(information)
    if family.labels or rows.weight is not None:
        J *= root[:, None].astype(J.dtype)
        features *= root[:, None].astype(J.dtype)
    gram = (J.T @ J).astype(np.float64)
    diagonal = np.diag(gram)
    gram[np.diag_indices_from(gram)] += 1e-6 * diagonal + 1e-12 * diagonal.max() + 1e-300
    features -= J @ np.linalg.solve(gram, J.T @ features).astype(J.dtype)
    scores = features * (residual * root)[:, None]
    return np.asarray(scores.sum(axis=0) / np.maximum(np.sqrt((scores**2).sum(axis=0)), 1e-300))
