"""Would something simpler do? A constant, a line, one convex component, one unit fewer, no offsets."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from ..fit import Family, NormalEquations, Parameters, Prior, Refined
from ..fit.moves import prune
from ..sources import ArraySource
from .lbfgs import minimize_batch, start_batch
from .problem import TableProblem

_CONVEX = ("tanh", "erf")  # activations for which the likelihood of one component has no second optimum
_ITERATIONS = 60


def convex(problem: TableProblem, n_units: int) -> bool:
    """Tell whether the fit has one optimum only."""
    family = problem.family
    return family.simplex and n_units == 1 and family.slopes == "each" and family.activation.name in _CONVEX


def one_component(problem: TableProblem, prior: Prior | None = None, tolerance: float = 1e-4) -> Refined:
    """Return the fit of one component, from a start at which no row looks certain yet.

    From there Newton's method cannot stall: the rows that look certain of the wrong label, whose score is rounded to
    zero, only come up beyond arguments of about 19.
    """
    X, y, weight = problem.rows
    mean = float(np.clip(np.average(y, weights=weight), -0.98, 0.98))
    slope = X.T @ (y - mean if weight is None else weight * (y - mean)) / problem.mass / (1 - mean**2)
    slope = slope / max(1.0, float(np.linalg.norm(slope)))
    if not slope.any():
        slope[0] = 1e-3
    b = np.arctanh(mean) if problem.family.offsets else 0.0
    theta = Parameters(slope[None], np.ones(1), np.array([b]), 0.0)
    return problem.polish(theta, tolerance=tolerance, max_iterations=_ITERATIONS, prior=prior)


def logistic_regression(problem: TableProblem) -> Refined:
    """Return the fit in which the log-odds of labels are linear: a mixture of one component, half as steep."""
    return one_component(replace(problem, family=Family.of("tanh", labels=True, offsets=True)))


def copies(theta: Parameters, n_units: int, rng: np.random.Generator, spread: float = 0.3) -> Parameters:
    """Return the same function with its heaviest unit written several times, each copy moved a little to part ways."""
    extra = n_units - len(theta.u)
    heavy = int(np.argmax(np.abs(theta.u)))
    which = np.append(np.arange(len(theta.u)), np.full(extra, heavy))
    u = theta.u[which].copy()
    u[which == heavy] = theta.u[heavy] / (extra + 1)
    A = theta.A[which]
    scale = spread * float(np.linalg.norm(theta.A[heavy])) / np.sqrt(A.shape[1])
    A = A + scale * (which == heavy)[:, None] * rng.standard_normal(A.shape)
    return theta._replace(A=A, u=u, b=theta.b[which])


class Gains(NamedTuple):
    """BIC of a simpler model minus BIC of the fit: positive where the fit is worth its parameters.

    Infinite where the question does not arise: `over_linear` for a mixture (a linear mean may leave [-1, 1]),
    `over_one` for anything else (the linear function stands in), and `over_one`, `over_fewer` for a single unit. For
    log-odds the linear function is logistic regression.
    """

    over_constant: float
    over_linear: float
    over_one: float
    over_fewer: float


def schwarz(family: Family, loss: float, mass: float, n_parameters: float, *, aic: bool = False) -> float:
    """Return Schwarz's criterion (or Akaike's), up to a constant; smaller is better."""
    deviance = 2 * loss if family.labels else mass * float(np.log(max(2 * loss / mass, 1e-300)))
    return deviance + n_parameters * (2.0 if aic else float(np.log(mass)))


def gains(problem: TableProblem, best: Refined, price: float = 1.0, one: Refined | None = None) -> Gains:
    """Compare on the rows of the search. The smaller sums of sigmoids get one descent each, not a search.

    Parameters
    ----------
    price : float
        Of a parameter, over that of BIC.
    one : Refined, optional
        The fit of one component, where it is known.
    """
    family, mass, d = problem.family, problem.mass, problem.n_features

    def bic(loss: float, n_parameters: int) -> float:
        return schwarz(family, loss, mass, price * n_parameters)

    k = len(best.theta.u)
    loss = best.loss * mass / best.mass
    own = bic(loss, family.n_parameters(k, d))
    over_one = over_fewer = np.inf
    if k > 1:
        fewer = _descended_loss(problem, prune(best.theta, family, problem.first(4000), k - 1))
        over_fewer = bic(fewer, family.n_parameters(k - 1, d)) - own
        if family.simplex:
            one = one or one_component(problem)
            over_one = bic(one.loss, family.n_parameters(1, d)) - own
    constant = bic(_constant_loss(problem), 1) - own
    linear = np.inf if family.simplex else bic(_linear_loss(problem), d + 1) - own
    return Gains(constant, linear, over_one, over_fewer)


def _descended_loss(problem: TableProblem, theta: Parameters) -> float:
    """Return the loss on all rows of the search after one short descent on some of them, to about a nat."""
    loss = problem.batch(len(theta.u), min(len(problem.rows.y), 5000))
    point = loss.unpack(minimize_batch(loss, start_batch(loss, loss.pack([theta])), 30, tolerance=1e-4).points[0])
    return ArraySource(*problem.rows).reduce(NormalEquations(problem.family, point, curvature=False)).loss


def _constant_loss(problem: TableProblem) -> float:
    y, weight = problem.rows.y, problem.rows.weight
    mean = float(np.average(y, weights=weight))
    if problem.family.labels:
        share = np.clip(np.array([0.5 * (1 + mean), 0.5 * (1 - mean)]), 1e-300, 1)
        return -problem.mass * float(share @ np.log(share))
    return 0.5 * problem.mass * float(np.average((y - mean) ** 2, weights=weight))


def _linear_loss(problem: TableProblem) -> float:
    if problem.family.labels:
        return logistic_regression(problem).loss
    X, y, weight = problem.rows
    root = np.ones(len(y)) if weight is None else np.sqrt(weight)
    design = np.column_stack((X, np.ones(len(y)))) * root[:, None]
    gram = design.T @ design
    coefficients = np.linalg.lstsq(gram, design.T @ (root * y), rcond=1e-12)[0]
    residual = root * y - design @ coefficients
    return 0.5 * float(residual @ residual)


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
