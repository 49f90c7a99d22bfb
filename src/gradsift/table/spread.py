"""How far fitted parameters scatter: by the noise model, robustly, by cluster; and what that costs BIC."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..checking import Floats
from ..fit import Chart, Family, NormalEquations, Parameters, Refined, covariance_of
from ..sources import Rows
from .problem import TableProblem

__all__ = ["Spread", "spread_of"]

_ROWS_AT_ONCE = 4096


class Spread(NamedTuple):
    """How far the parameters of a fit scatter.

    covariance : (size, size), of the flat parameters in the frame, for the rows of the whole source
    inflation : by how much more than its noise model says a parameter gains from noise alone, on average; at least one
    """

    covariance: Floats
    inflation: float


class _ScoreSums(NamedTuple):
    """Sums over rows, in the flat parameters: Gauss-Newton matrix and scatter of the scores."""

    curvature: Floats
    scatter: Floats
    n_clusters: int


def spread_of(problem: TableProblem, best: Refined) -> Spread:
    """Return the covariance of the parameters, and what noise alone gains by one of them.

    "model" trusts the noise model; "sandwich" only that rows are independent (HC1); "cluster" only that groups are.
    Whatever the kind, a ridge counts as information. Noise whose size depends on the row, and rows of unequal weight,
    make units that are not there look better; BIC stays right where a parameter costs `inflation` times as much (the
    trace that replaces the count in information criteria for wrong models). O(n size^2) flops, blocks of 4096 rows.
    """
    family, theta, kind = problem.family, best.theta, problem.choices.covariance
    prior = problem.last_prior.within(family)
    G = Chart(family, problem.frame.metric).tangent(theta)
    left = max(problem.mass - G.shape[1], 1.0)
    # The noise's variance with its degrees of freedom; the loss may stem from more rows than those of the search.
    variance = 1.0 if family.labels else max(2 * best.loss * problem.mass / best.mass / left, 1e-300)
    sums = _sums(problem, theta)
    curvature, scatter = sums.curvature / variance, sums.scatter / variance**2
    inverse = covariance_of(G.T @ (curvature + prior.curvature(theta, family.layout(*theta.A.shape))) @ G)
    bread = G @ inverse
    if kind == "model":
        filling, correction = curvature, 1.0
    else:
        filling, correction = scatter, problem.mass / left
        if kind == "cluster":
            correction = sums.n_clusters / max(sums.n_clusters - 1, 1) * max(problem.mass - 1, 1.0) / left
    matrix = correction * bread @ (G.T @ filling @ G) @ bread.T * (problem.mass / best.mass)
    counted = float((inverse * (G.T @ scatter @ G)).sum()) * problem.mass / left
    even = family.labels and problem.observed.rows.weight is None and kind != "cluster"
    return Spread(np.asarray(matrix), 1.0 if even else max(1.0, counted / max(G.shape[1], 1)))


def _sums(problem: TableProblem, theta: Parameters) -> _ScoreSums:
    family, (rows, groups) = problem.family, problem.observed
    size = family.size(*theta.A.shape)
    groups = groups if problem.choices.covariance == "cluster" else None
    curvature, scatter = np.zeros((size, size)), np.zeros((size, size))
    totals = np.zeros((0 if groups is None else int(groups.max()) + 1, size))
    for start in range(0, len(rows.y), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        weight = np.ones(len(rows.y[part])) if rows.weight is None else rows.weight[part]
        J, slope, information = _scores(family, theta, Rows(rows.X[part], rows.y[part]))
        curvature += _product(J, np.sqrt(weight * information))
        if groups is not None:
            np.add.at(totals, groups[part], J * (slope * weight)[:, None])
        else:
            scatter += _product(J, slope * (np.sqrt(weight) if problem.choices.weights == "frequency" else weight))
    if groups is not None:
        totals = totals[totals.any(axis=1)]
        scatter = totals.T @ totals
    return _ScoreSums(curvature, scatter, len(totals))


def _product(J: Floats, scale: Floats) -> Floats:
    """Return J' diag(scale^2) J, from single precision as everywhere."""
    scaled = J * scale[:, None].astype(J.dtype)
    return np.asarray(scaled.T @ scaled, dtype=np.float64)


def _scores(family: Family, theta: Parameters, rows: Rows) -> tuple[Floats, Floats, Floats]:
    """Return derivatives of r (n, size), and of the log-likelihood in r and the information about r, (n,) each."""
    J = NormalEquations(family, theta).jacobian(rows.X)
    r = family.activation.value(rows.X @ theta.A.T + theta.b) @ theta.u + theta.c
    information = family.likelihood.precision(r)
    return J, (rows.y - r) * information, information
