"""Are offsets and an intercept needed? A score test at the fit without them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from ..fit import Family, NormalEquations, Refined
from ..sources import ArraySource
from .problem import TableProblem

__all__ = ["offsets_needed", "offsets_p_value", "wider_positions"]

_OFFSETS_LEVEL = 1e-3


def offsets_needed(problem: TableProblem, wider: Family, refined: Refined) -> bool:
    """Tell whether the score test asks for the wider family."""
    return offsets_p_value(problem, wider, refined) < _OFFSETS_LEVEL


def offsets_p_value(problem: TableProblem, wider: Family, refined: Refined) -> float:
    """Return the p-value of the score test of the parameters that `wider` has beyond the problem's family.

    The scores of the extra parameters, projected off those of the fitted ones, are chi-square with one degree of
    freedom each when the extras are zero. One pass with curvature.
    """
    k, d = refined.theta.A.shape
    equations = ArraySource(*problem.first(10_000)).reduce(NormalEquations(wider, refined.theta))
    assert equations.curvature is not None  # asked for by default
    fitted = wider_positions(problem.family, wider, k, d)
    extra = np.setdiff1d(np.arange(wider.size(k, d)), fitted)
    H = equations.curvature
    known = H[np.ix_(fitted, fitted)]
    known[np.diag_indices_from(known)] *= 1 + 1e-6  # sums of float32 blocks may be singular to that digit
    mixed = np.linalg.solve(known + 1e-300 * np.eye(len(known)), H[np.ix_(fitted, extra)])
    score = equations.gradient[extra] - mixed.T @ equations.gradient[fitted]
    information = H[np.ix_(extra, extra)] - H[np.ix_(extra, fitted)] @ mixed
    variance = 1.0 if wider.labels else 2 * equations.loss / equations.mass
    statistic = float(score @ np.linalg.lstsq(information, score, rcond=1e-10)[0]) / max(variance, 1e-300)
    return float(chdtrc(len(extra), statistic))


def wider_positions(family: Family, wider: Family, n_units: int, n_features: int) -> NDArray[np.intp]:
    """Return where the flat parameters of `family` sit in those of `wider`: [A, u, b?, c?]."""
    layout = wider.layout(n_units, n_features)
    where = np.arange(layout.size)
    positions = [where[layout.units], where[layout.weights]]
    if family.offsets:
        positions.append(where[layout.b])
    if family.intercept:
        positions.append(where[layout.c])
    return np.concatenate(positions)
