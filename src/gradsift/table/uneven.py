"""Does the size of the noise hide a unit? A second look at rows that are weighted by it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import chdtrc

from ..checking import Floats
from ..fit import Parameters
from ..sources import Rows
from .number import over_more, score_of
from .problem import Observed, TableProblem
from .settle import Effort, settle

__all__ = ["gain_over_more"]

_UNEVEN = 1e-3  # of the test that the noise has one size
_LEAST_SQUARE = 1e-3  # share of the mean square that is added to every squared residual: its logarithm must not decide
_HEAVIEST = 20.0  # times its mean: no row weighs more


def gain_over_more(problem: TableProblem, theta: Parameters, rng: np.random.Generator) -> float:
    """Return by how much a mild criterion prefers the fit to one unit more, once rows count by the size of their noise.

    Least squares trusts all rows alike, so that those with much noise drown a unit that those with little show. Where
    the squared residuals depend on the columns or on the fit, their logarithm is regressed on these, rows are weighted
    by one over the variance that it foretells, and both numbers of units are fitted anew. Infinite where noise has one
    size, for labels, and where rows are too few. Two searches at most.
    """
    k = len(theta.u)
    if problem.family.labels or problem.choices.alpha != 0 or problem.room() <= k:
        return np.inf
    slopes = _log_variance(problem, theta)
    if slopes is None:
        return np.inf
    rows, observed = (_weighted(problem, theta, some, slopes) for some in (problem.rows, problem.observed.rows))
    even = replace(problem, rows=rows, observed=Observed(observed, problem.observed.groups))
    fits = [settle(even, k, Effort(4, 2), rng)]
    fits.append(settle(even, k + 1, Effort(4, 2), rng, smaller=fits[0].optima.best.theta))
    own, more = (score_of(even, fit) for fit in fits)
    return over_more(even, own, [more])


def _design(problem: TableProblem, theta: Parameters, rows: Rows) -> tuple[Floats, Floats]:
    """Return what the size of noise may depend on, (n, d + 2), and the residuals."""
    r = problem.family.activation.value(rows.X @ theta.A.T + theta.b) @ theta.u + theta.c
    return np.column_stack((np.ones(len(r)), rows.X, r)), rows.y - r


def _log_variance(problem: TableProblem, theta: Parameters) -> Floats | None:
    """Return the coefficients (d + 2,) of the logarithm of the squared residuals; None where they say nothing."""
    design, residual = _design(problem, theta, problem.rows)
    squares = residual**2
    logs = np.log(squares + _LEAST_SQUARE * squares.mean() + 1e-300)
    slopes = np.linalg.lstsq(design.T @ design, design.T @ logs, rcond=1e-10)[0]
    left, all_of_it = ((logs - design @ slopes) ** 2).sum(), ((logs - logs.mean()) ** 2).sum()
    statistic = len(logs) * (1 - left / max(all_of_it, 1e-300))
    return slopes if chdtrc(design.shape[1] - 1, statistic) < _UNEVEN else None


def _weighted(problem: TableProblem, theta: Parameters, rows: Rows, slopes: Floats) -> Rows:
    """Return the rows with weights of one over the foretold variance, of the same total weight as before."""
    own = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    logs = _design(problem, theta, rows)[0] @ slopes
    weight = np.exp(np.median(logs) - logs)
    weight = own * np.minimum(weight, _HEAVIEST * weight.mean())
    return rows._replace(weight=weight * (own.sum() / weight.sum()))
