"""Would something simpler do, or is a unit missing? A constant, a line, one unit fewer, no offsets, a further unit."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from ..arguments import Floats
from ..fit import Family, NormalEquations, Parameters, Prior, Refined
from ..fit.covariance import p_value
from ..fit.moves import MOVES, bending_direction, prune, random_starts
from ..sources import ArraySource, Rows
from ..tuned import MOST_STEPS
from .lbfgs import BatchLoss, descend_batch, start_batch
from .problem import TableProblem

_CONVEX = ("tanh", "erf")  # activations for which the likelihood of one component has no second optimum


def has_single_optimum(problem: TableProblem, n_units: int) -> bool:
    """Tell whether the fit has one optimum only."""
    family = problem.family
    return family.simplex and n_units == 1 and family.slopes == "each" and family.activation.name in _CONVEX


def fit_single(problem: TableProblem, prior: Prior | None = None, tolerance: float = 1e-4) -> Refined:
    """Return the fit of one component, from a start at which no row looks certain yet.

    From there Newton's method cannot stall: the rows that look certain of the wrong label, whose score is rounded to
    zero, only come up beyond arguments of about 19.
    """
    X, y, weight = problem.rows
    mean = float(np.clip(np.average(y, weights=weight), -0.98, 0.98))
    slope = X.T @ (y - mean if weight is None else weight * (y - mean)) / problem.mass / (1 - mean**2)
    # One step of least squares for atanh of the mean, no longer than one: no row looks certain yet.
    slope = slope / max(1.0, float(np.linalg.norm(slope)))
    if not slope.any():
        slope[0] = 1e-3
    b = np.arctanh(mean) if problem.family.offsets else 0.0
    theta = Parameters(slope[None], np.ones(1), np.array([b]), 0.0)
    return problem.polish(theta, tolerance=tolerance, max_iterations=MOST_STEPS, prior=prior)


def fit_logistic(problem: TableProblem) -> Refined:
    """Return the fit in which the log-odds of labels are linear: a mixture of one component, half as steep."""
    return fit_single(replace(problem, family=Family.of("tanh", labels=True, offsets=True)))


def split_largest(theta: Parameters, n_units: int, rng: np.random.Generator, spread: float = 0.3) -> Parameters:
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


def criterion(family: Family, loss: float, mass: float, n_parameters: float, *, aic: bool = False) -> float:
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
        return criterion(family, loss, mass, price * n_parameters)

    k = len(best.theta.u)
    loss = best.loss * mass / best.mass
    own = bic(loss, family.n_parameters(k, d))
    over_one = over_fewer = np.inf
    if k > 1:
        fewer = _refit_loss(problem, prune(best.theta, family, problem.first(4000), k - 1))
        over_fewer = bic(fewer, family.n_parameters(k - 1, d)) - own
        if family.simplex:
            one = one or fit_single(problem)
            over_one = bic(one.loss, family.n_parameters(1, d)) - own
    constant = bic(_constant_loss(problem), 1) - own
    linear = np.inf if family.simplex else bic(_linear_loss(problem), d + 1) - own
    return Gains(constant, linear, over_one, over_fewer)


def _refit_loss(problem: TableProblem, theta: Parameters) -> float:
    """Return the loss on all rows of the search after one short descent on some of them, to about a nat."""
    loss = problem.batch(len(theta.u), min(len(problem.rows.y), 5000))
    point = loss.unpack(descend_batch(loss, start_batch(loss, loss.pack([theta])), 30, tolerance=1e-4).points[0])
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
        return fit_logistic(problem).loss
    X, y, weight = problem.rows
    root = np.ones(len(y)) if weight is None else np.sqrt(weight)
    design = np.column_stack((X, np.ones(len(y)))) * root[:, None]
    # Normal equations suffice: only the residual sum of squares is wanted, not the coefficients.
    gram = design.T @ design
    coefficients = np.linalg.lstsq(gram, design.T @ (root * y), rcond=1e-12)[0]
    residual = root * y - design @ coefficients
    return 0.5 * float(residual @ residual)


SCORE_LEVEL = 1e-3  # of score tests that ask for a wider family, or for weights


def offsets_needed(problem: TableProblem, wider: Family, refined: Refined) -> bool:
    """Tell whether the score test asks for the wider family."""
    return offsets_p_value(problem, wider, refined) < SCORE_LEVEL


def offsets_p_value(problem: TableProblem, wider: Family, refined: Refined) -> float:
    """Return the p-value of the score test of the parameters that `wider` has beyond the problem's family.

    The scores of the extra parameters, projected off those of the fitted ones, are chi-square with one degree of
    freedom each when the extras are zero. One pass with curvature.
    """
    k, d = refined.theta.A.shape
    equations = ArraySource(*problem.first(10_000)).reduce(NormalEquations(wider, refined.theta))
    assert equations.curvature is not None  # asked for by default
    fitted = wider_places(problem.family, wider, k, d)
    extra = np.setdiff1d(np.arange(wider.size(k, d)), fitted)
    H = equations.curvature
    known = H[np.ix_(fitted, fitted)]
    known[np.diag_indices_from(known)] *= 1 + 1e-6  # sums of float32 blocks may be singular to that digit
    # Efficient score of the extra parameters e: s_e - H_ef H_ff^-1 s_f, of variance H_ee - H_ef H_ff^-1 H_fe.
    mixed = np.linalg.solve(known + 1e-300 * np.eye(len(known)), H[np.ix_(fitted, extra)])
    score = equations.gradient[extra] - mixed.T @ equations.gradient[fitted]
    information = H[np.ix_(extra, extra)] - H[np.ix_(extra, fitted)] @ mixed
    variance = 1.0 if wider.labels else 2 * equations.loss / equations.mass
    statistic = float(score @ np.linalg.lstsq(information, score, rcond=1e-10)[0]) / max(variance, 1e-300)
    return float(chdtrc(len(extra), statistic))


def wider_places(family: Family, wider: Family, n_units: int, n_features: int) -> NDArray[np.intp]:
    """Return where the flat parameters of `family` sit in those of `wider`: [A, u, b?, c?]."""
    layout = wider.layout(n_units, n_features)
    where = np.arange(layout.size)
    positions = [where[layout.units], where[layout.weights]]
    if family.offsets:
        positions.append(where[layout.b])
    if family.intercept:
        positions.append(where[layout.c])
    return np.concatenate(positions)


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
    halves = [_fitted(problem.family, theta, rows.take(some)) for some in (slice(0, cut), slice(cut, None))]
    candidates = [_candidates(problem.family, half, rng) for half in halves]
    largest, n_tests = 0.0, 0
    for half, found in zip(halves, reversed(candidates)):
        statistics = _standardised(problem.family, theta, half, found)
        largest = max(largest, float(np.abs(statistics).max()))
        n_tests += len(statistics)
    units = np.vstack([found.units for found in candidates])
    offsets = np.concatenate([found.offsets for found in candidates])
    return Better(p_value(largest, n_tests), units, offsets, candidates[0].splits)


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
    return _Fitted(rows, family.rough.as_gaussian(r, rows.y) - r, information, family.activation.second_derivative(z))


def _candidates(family: Family, half: _Fitted, rng: np.random.Generator) -> Better:
    rows, residual, information, bend = half
    additive = Family(family.activation, offsets=family.offsets)
    # New units are fitted to residuals of unit size, so that starts and ridge need no scale of their own.
    scale = float(np.sqrt(np.average(residual**2, weights=information)))
    loss = BatchLoss(Rows(rows.X, residual / max(scale, 1e-300), information), additive, 1)
    d = rows.X.shape[1]
    starts = [s._replace(u=s.u * 0.3) for s in random_starts(additive, 1, d, MOVES.heat, 1.5, rng)]
    found = descend_batch(loss, start_batch(loss, loss.pack(starts)), 15, tolerance=1e-6)
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
    # Project the features off the scores of the fitted parameters, F - J (J'J)^-1 J'F: what a refit could explain says
    # nothing about a missing unit. A little ridge allows for parameters that the rows do not tell apart.
    gram = (J.T @ J).astype(np.float64)
    diagonal = np.diag(gram)
    gram[np.diag_indices_from(gram)] += 1e-6 * diagonal + 1e-12 * diagonal.max() + 1e-300
    features -= J @ np.linalg.solve(gram, J.T @ features).astype(J.dtype)
    # Sum of independent scores over the root of the sum of their squares: standard Gaussian for noise of any size.
    scores = features * (residual * root)[:, None]
    return np.asarray(scores.sum(axis=0) / np.maximum(np.sqrt((scores**2).sum(axis=0)), 1e-300))
