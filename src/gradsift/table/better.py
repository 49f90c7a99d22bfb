"""Is there a better unit? Candidates found on one half of the rows are tested on the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..checking import Floats
from ..fit import Family, NormalEquations, Parameters
from ..fit.moves import bending_direction, glorot_starts
from ..inference import p_value
from ..sources import Rows
from .batch import BatchLoss
from .lbfgs import minimize_batch, start_batch
from .problem import TableProblem

__all__ = ["Better", "better_unit"]

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
        return Better(float("nan"), *_candidates(problem.family, theta, rows, rng)[1:])
    halves = [_part(rows, slice(0, cut)), _part(rows, slice(cut, None))]
    candidates = [_candidates(problem.family, theta, half, rng) for half in halves]
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


def _scores(family: Family, theta: Parameters, rows: Rows) -> tuple[Floats, Floats]:
    """Return the residuals and the weight of each row's information."""
    z = rows.X @ theta.A.T + theta.b
    r = family.activation.value(z) @ theta.u + theta.c
    weight = np.ones(len(r)) if rows.weight is None else rows.weight
    return family.rough.working(r, rows.y) - r, weight * family.rough.precision(r)


def _candidates(family: Family, theta: Parameters, rows: Rows, rng: np.random.Generator) -> Better:
    residual, information = _scores(family, theta, rows)
    additive = Family(family.activation, offsets=family.offsets)
    scale = float(np.sqrt(np.average(residual**2, weights=information)))
    loss = BatchLoss(Rows(rows.X, residual / max(scale, 1e-300), information), additive, 1)
    d = rows.X.shape[1]
    starts = [s._replace(u=s.u * 0.3) for s in glorot_starts(additive, 1, d, _NEW, 1.5, rng)]
    found = minimize_batch(loss, start_batch(loss, loss.pack(starts)), 15, tolerance=1e-6)
    students = [loss.unpack(point) for point in found.points]
    bend = family.activation.second_derivative(rows.X @ theta.A.T + theta.b) * (residual * information)[:, None]
    bend = bend.astype(np.float32)
    splits = np.empty_like(theta.A)
    for unit in range(len(theta.u)):
        splits[unit] = bending_direction(loss.X[:, :d], bend[:, unit])
    return Better(1.0, np.array([s.A[0] for s in students]), np.array([s.b[0] for s in students]), splits)


def _standardised(family: Family, theta: Parameters, rows: Rows, found: Better) -> Floats:
    """Return one statistic per candidate, standard Gaussian when the fit is right."""
    residual, information = _scores(family, theta, rows)
    z = rows.X @ theta.A.T + theta.b
    new = family.activation.value(rows.X @ found.units.T + found.offsets)
    split = family.activation.second_derivative(z) * (rows.X @ found.splits.T) ** 2
    features = np.hstack((new, split))  # (rows, m)
    J = NormalEquations(family, theta).jacobian(rows.X)
    J *= np.sqrt(information)[:, None].astype(J.dtype)  # float32: a statistic needs three digits, not sixteen
    features *= np.sqrt(information)[:, None]
    gram = (J.T @ J).astype(np.float64)
    diagonal = np.diag(gram)
    gram[np.diag_indices_from(gram)] += 1e-6 * diagonal + 1e-12 * diagonal.max() + 1e-300
    features = features - J @ np.linalg.solve(gram, J.T @ features)
    scores = features * (residual * np.sqrt(information))[:, None]
    return np.asarray(scores.sum(axis=0) / np.maximum(np.sqrt((scores**2).sum(axis=0)), 1e-300))
