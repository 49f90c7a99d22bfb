"""How far fitted parameters scatter: by the noise model, robustly, by cluster; and what that costs BIC."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..checking import Floats
from ..fit import Chart, Family, NormalEquations, Parameters, Refined, covariance_of
from ..sources import Rows
from .problem import TableProblem

__all__ = ["Spread", "inflation_of", "spread_of"]

_ROWS_AT_ONCE = 4096
_MOST_LEVERAGE = 0.9  # of a row on its own fit, beyond which leaving it out says more about rounding than about noise


class Spread(NamedTuple):
    """How far the parameters of a fit scatter.

    covariance : (size, size), of the flat parameters in the frame, for the rows of the whole source
    inflation : by how much more than its noise model says a parameter gains from noise alone, on average; at least one
    """

    covariance: Floats
    inflation: float


class _NoiseSums(NamedTuple):
    """Sums over rows, in the flat parameters: information and scatter of the scores."""

    curvature: Floats
    scatter: Floats


class _Bread(NamedTuple):
    """What a sandwich is made around.

    tangent : (size, free) directions in which the parameters may move
    inverse : (free, free) inverse of the information there, a ridge counted
    variance : of the noise, with its degrees of freedom; one for labels
    left : degrees of freedom
    sums : over the rows
    """

    tangent: Floats
    inverse: Floats
    variance: float
    left: float
    sums: _NoiseSums


def inflation_of(problem: TableProblem, best: Refined) -> float:
    """Return by how much more than its noise model says a parameter gains from noise alone; at least one.

    Noise whose size depends on the row, and rows of unequal weight, make units that are not there look better; BIC
    stays right where a parameter costs as many times more (the trace that replaces the count in information criteria
    for wrong models). O(n size^2) flops, blocks of 4096 rows.
    """
    return _inflation(problem, _bread(problem, best))


def spread_of(problem: TableProblem, best: Refined) -> Spread:
    """Return the covariance of the parameters, and what noise alone gains by one of them.

    "model" trusts the noise model; "sandwich" only that rows are independent; "cluster" only that groups are. The last
    two are those of the jackknife: every row's (or group's) score is what it would be, to first order, had the fit not
    seen it (HC3, CR3), as rows of much leverage have small residuals. Whatever the kind, a ridge counts as information.
    O(n size^2) flops; blocks of 4096 rows, or one group after another.
    """
    bread = _bread(problem, best)
    middle = bread.tangent @ bread.inverse @ bread.tangent.T
    kind = problem.choices.covariance
    if kind == "model":
        matrix = middle @ (bread.sums.curvature / bread.variance) @ middle
    else:
        values, vectors = np.linalg.eigh(middle / bread.variance)
        scatter = _jackknifed(problem, best.theta, vectors * np.sqrt(np.maximum(values, 0)))
        matrix = middle @ (scatter / bread.variance**2) @ middle
    return Spread(np.asarray(matrix * (problem.mass / best.mass)), _inflation(problem, bread))


def _bread(problem: TableProblem, best: Refined) -> _Bread:
    family, theta = problem.family, best.theta
    G = Chart(family, problem.frame.metric).tangent(theta)
    left = max(problem.mass - G.shape[1], 1.0)
    # The loss may stem from more rows than those of the search.
    variance = 1.0 if family.labels else max(2 * best.loss * problem.mass / best.mass / left, 1e-300)
    sums = _sums(problem, theta)
    prior = problem.last_prior.within(family).curvature(theta, family.layout(*theta.A.shape))
    return _Bread(G, covariance_of(G.T @ (sums.curvature / variance + prior) @ G), variance, left, sums)


def _inflation(problem: TableProblem, bread: _Bread) -> float:
    if problem.family.labels and problem.observed.rows.weight is None and problem.choices.covariance != "cluster":
        return 1.0
    G = bread.tangent
    scatter = G.T @ (bread.sums.scatter / bread.variance**2) @ G
    counted = float((bread.inverse * scatter).sum()) * problem.mass / bread.left
    return max(1.0, counted / float(max(G.shape[1], 1)))


def _sums(problem: TableProblem, theta: Parameters) -> _NoiseSums:
    rows, groups = problem.observed.rows, _clusters(problem)
    size = problem.family.size(*theta.A.shape)
    curvature, scatter = np.zeros((size, size)), np.zeros((size, size))
    totals = np.zeros((0 if groups is None else int(groups.max()) + 1, size))
    for start in range(0, len(rows.y), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        weight = np.ones(len(rows.y[part])) if rows.weight is None else rows.weight[part]
        J, slope, information = _scores(problem.family, theta, Rows(rows.X[part], rows.y[part]))
        curvature += _product(J, np.sqrt(weight * information))
        if groups is not None:
            np.add.at(totals, groups[part], J * (slope * weight)[:, None])
        else:
            scatter += _product(J, slope * (np.sqrt(weight) if problem.choices.weights == "frequency" else weight))
    return _NoiseSums(curvature, scatter if groups is None else totals.T @ totals)


def _jackknifed(problem: TableProblem, theta: Parameters, root: Floats) -> Floats:
    """Return the scatter of the scores that rows, or clusters of them, have in a fit that did not see them.

    `root` times its transpose is the inverse of the information.
    """
    rows, groups = problem.observed.rows, _clusters(problem)
    size = problem.family.size(*theta.A.shape)
    scatter = np.zeros((size, size))
    counted = problem.choices.weights == "frequency"
    for part in _blocks(len(rows.y)) if groups is None else _members(groups):
        weight = np.ones(len(rows.y[part])) if rows.weight is None else rows.weight[part]
        J, slope, information = _scores(problem.family, theta, Rows(rows.X[part], rows.y[part]))
        if groups is None:
            once = information if counted else information * weight
            leverage = np.minimum(once * ((J @ root) ** 2).sum(axis=1), _MOST_LEVERAGE)
            scatter += _product(J, slope * (np.sqrt(weight) if counted else weight) / (1 - leverage))
        else:
            total = _without_itself(J, slope * weight, information * weight, root)
            scatter += np.outer(total, total)
    return scatter


def _without_itself(J: Floats, scores: Floats, information: Floats, root: Floats) -> Floats:
    """Return the score (size,) of a group of rows in a fit that did not see them, to first order."""
    scale = np.sqrt(information)
    directions, sizes, _ = np.linalg.svd((J * scale[:, None]) @ root, full_matrices=False)
    leverage = np.minimum(sizes**2, _MOST_LEVERAGE)  # of the group on itself
    residual = scores / np.maximum(scale, 1e-300)
    residual = residual + directions @ (leverage / (1 - leverage) * (directions.T @ residual))
    return np.asarray((J * scale[:, None]).T @ residual)


def _clusters(problem: TableProblem) -> NDArray[np.intp] | None:
    return problem.observed.groups if problem.choices.covariance == "cluster" else None


def _blocks(n: int) -> list[slice]:
    return [slice(start, start + _ROWS_AT_ONCE) for start in range(0, n, _ROWS_AT_ONCE)]


def _members(groups: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the rows of each group."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


def _product(J: Floats, scale: Floats) -> Floats:
    """Return J' diag(scale^2) J, from single precision as everywhere."""
    scaled = J * scale[:, None].astype(J.dtype)
    return np.asarray(scaled.T @ scaled, dtype=np.float64)


def _scores(family: Family, theta: Parameters, rows: Rows) -> tuple[Floats, Floats, Floats]:
    """Return derivatives of r (n, size), and of the log-likelihood in r and the information about r, (n,) each."""
    J = NormalEquations(family, theta).jacobian(rows.X)
    r = family.activation.value(rows.X @ theta.A.T + theta.b) @ theta.u + theta.c
    information = family.likelihood.precision(r)
    return J, (family.likelihood.working(r, rows.y) - r) * information, information
