"""Doubts about a fit: two units in one, uneven noise, separable classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import linprog
from scipy.special import chdtrc, expit

from ..arguments import Floats
from ..fit import Coordinates, Family, NormalEquations, Parameters, Refined
from ..fit.gauss_newton import NUMBER_SPACING
from ..sources import Rows
from ..tuned import SHARE
from .nested_models import SCORE_LEVEL, better_unit
from .number_of_units import over_more, score_of
from .optimum import SearchLimits, Settled, one_more, settle
from .problem import AllRows, TableProblem
from .race import PolishedStarts, best_end

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
    # Wild bootstrap: residuals times independent standard Gaussian numbers keep every row's own noise size.
    drawn = np.vstack((residuals, residuals * _signs(problem, rng)))  # (1 + draws, n)
    drawn = drawn - (drawn @ tangent) @ tangent.T
    largest = _largest_values(rows, bends, drawn)  # (k, 1 + draws)
    noise = largest[:, 1:]
    # Units differ in how much noise they see: standardise each by its own draws before the maximum over units.
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
    free = Coordinates(family, problem.frame.metric).tangent(theta)
    tangent = NormalEquations(family, theta, single=False).jacobian(X) @ free
    bends = family.activation.second_derivative(z) * np.sign(theta.u) * root[:, None]
    return root * (family.rough.as_gaussian(r, y) - r), np.linalg.qr(tangent * root[:, None])[0], X, bends


def _largest_values(X: Floats, bends: Floats, drawn: Floats) -> Floats:
    """Return, by unit and draw, the largest eigenvalue of ``sum_i bends_il drawn_si x_i x_i'``."""
    d = X.shape[1]
    upper = np.triu_indices(d)
    sums = np.zeros((bends.shape[1], len(drawn), len(upper[0])))
    for start in range(0, len(X), _BLOCK):
        part = slice(start, start + _BLOCK)
        # x x' is symmetric: d (d + 1) / 2 products a row serve all units and draws as one matrix product.
        products = (X[part][:, upper[0]] * X[part][:, upper[1]]).astype(np.float32)
        block = drawn[:, part].astype(np.float32)
        for unit, bend in enumerate(bends[part].T.astype(np.float32)):
            sums[unit] += (block * bend) @ products
    matrices = np.zeros((*sums.shape[:2], d, d))
    matrices[..., upper[0], upper[1]] = sums
    matrices[..., upper[1], upper[0]] = sums
    return np.asarray(np.linalg.eigvalsh(matrices)[..., -1])


_LEAST_SQUARE = 1e-3  # share of the mean square that is added to every squared residual: its logarithm must not decide
_QUICK = SearchLimits(4, 2)
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
    even = replace(problem, rows=rows, observed=AllRows(observed, problem.observed.groups))
    fits = [settle(even, k, _QUICK, rng)]
    fits.append(settle(even, k + 1, _QUICK, rng, smaller=fits[0].optima.best.theta))
    own, more = (score_of(even, fit) for fit in fits)
    return over_more(even, own, [more])


def gain_over_next(problem: TableProblem, own: Settled, rng: np.random.Generator) -> float:
    """Return by how much a mild criterion prefers a fit to one of a further unit: what a given number has not been
    compared with. The unit is one that the residuals want, or half of one in the fit; one optimum is polished."""
    theta = own.optima.best.theta
    wider = PolishedStarts([best_end(problem, one_more(theta, better_unit(problem, theta, rng)))], hits=1)
    return over_more(problem, score_of(problem, own), [score_of(problem, own._replace(optima=wider))])


def _design(problem: TableProblem, theta: Parameters, rows: Rows) -> tuple[Floats, Floats]:
    """Return what the size of noise may depend on, (n, d + 2), and the residuals."""
    r = problem.family.activation.value(rows.X @ theta.A.T + theta.b) @ theta.u + theta.c
    return np.column_stack((np.ones(len(r)), rows.X, r)), rows.y - r


def _log_variance(problem: TableProblem, theta: Parameters) -> Floats | None:
    """Return the coefficients (d + 2,) of the logarithm of the squared residuals; None where they say nothing."""
    design, residual = _design(problem, theta, problem.rows)
    squares = residual**2
    # log e^2 = s' (1, x, r) + noise: a regression whose n R^2 is chi-square when the noise has one size.
    logs = np.log(squares + _LEAST_SQUARE * squares.mean() + 1e-300)
    slopes = np.linalg.lstsq(design.T @ design, design.T @ logs, rcond=1e-10)[0]
    left, all_of_it = ((logs - design @ slopes) ** 2).sum(), ((logs - logs.mean()) ** 2).sum()
    statistic = len(logs) * (1 - left / max(all_of_it, 1e-300))
    return slopes if chdtrc(design.shape[1] - 1, statistic) < SCORE_LEVEL else None


def _weighted(problem: TableProblem, theta: Parameters, rows: Rows, slopes: Floats) -> Rows:
    """Return the rows with weights of one over the foretold variance, of the same total weight as before."""
    own = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    logs = _design(problem, theta, rows)[0] @ slopes
    # Precision weights exp(-log variance), relative to the typical row and capped, of the same total.
    weight = np.exp(np.median(logs) - logs)
    weight = own * np.minimum(weight, _HEAVIEST * weight.mean())
    return rows._replace(weight=weight * (own.sum() / weight.sum()))


_NEWTON_STEPS = 8  # beyond, classes overlap so little that a linear program has to look


def split_by_plane(problem: TableProblem, one: Refined | None = None) -> float:
    """Return the share of labelled rows whose class some plane decides without a single error; 0 where classes overlap.

    If it is one, a plane parts the classes. If it is less, the other rows lie on the plane (as with a level of a factor
    that only one class has). Either way no slope is the most likely one. Planes need not pass through the origin: a
    fit without offsets may be finite where one with them is not, and says no more about the slope. One or two linear
    programs, O(n d) numbers; solved only where a few steps of logistic regression do not prove that classes overlap.
    They begin at the fit of `one` component, where it is known.
    """
    rows = problem.rows
    design = np.column_stack((rows.X, np.ones(len(rows.y))))
    signed = design * rows.y[:, None]
    start = np.zeros(design.shape[1]) if one is None else 2 * np.append(one.theta.A[0], one.theta.b)
    if _overlap(signed, start):
        return 0.0
    # Maximise the mean margin under signed @ w >= 0 within a box: a positive optimum is a plane that errs on no row.
    found = linprog(-signed.mean(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1), method="highs")
    if found.x is None or not (signed @ found.x > 1e-7).any():
        return 0.0
    # Rows on that plane may lie off another one: ask for the widest gap.
    gap = np.column_stack((-signed, np.ones(len(signed))))
    widest = linprog(
        np.append(np.zeros(design.shape[1]), -1.0), gap, np.zeros(len(gap)), bounds=(-1, 1), method="highs"
    )
    parted = widest.x is not None and widest.x[-1] > 1e-9
    return 1.0 if parted else float(np.mean(signed @ found.x > 1e-7))


def _overlap(signed: Floats, w: Floats) -> bool:
    """Tell whether classes are proved to overlap, given the rows times their labels, and where to begin; False says
    nothing.

    No plane leaves all rows on their side, or on it, if and only if some positive shares of all rows sum to zero
    (Stiemke's lemma). At the maximum of logistic regression the chances p of the other label are such shares. On the
    way there they sum to some g, and ``p (1 - (1 - p) s)`` sum to zero, s being what Newton's step adds to the rows'
    arguments; where these are positive, they prove the same. O(n d^2) flops a step.
    """
    for _ in range(_NEWTON_STEPS):
        chance = expit(-(signed @ w))
        # Newton's step of logistic regression; its shares p (1 - (1 - p) s) sum to zero by the step's own equation.
        information = (signed * (chance * (1 - chance))[:, None]).T @ signed
        step = np.linalg.lstsq(information, chance @ signed, rcond=None)[0]
        taken = (1 - chance) * (signed @ step)
        if float(taken.max()) < SHARE:  # what is left of each row is clearly positive
            shares = chance * (1 - taken)
            return bool((np.abs(shares @ signed) <= np.sqrt(NUMBER_SPACING) * (shares @ np.abs(signed))).all())
        w = w + step
    return False


def price_of_steepness(problem: TableProblem, theta: Parameters, times: float) -> float | None:
    """Return the fewest nats by which the rows become less likely when one unit is made steeper by a factor.

    A unit that grows keeps the slope of its ends, and only its kink becomes sharper; None where units have no slope of
    their own.
    """
    rows, family = problem.rows, problem.family
    if family.activation.homogeneous:
        return None
    ends = 1.0 if family.activation.saturates else 1 / times
    values = family.activation.value(rows.X @ theta.A.T + theta.b)
    here = _log_loss(family, rows, values @ theta.u + theta.c)
    costs = np.empty(len(theta.u))
    for unit in range(len(theta.u)):
        # Only one unit changes: r is corrected by its difference instead of being summed anew.
        steeper = ends * family.activation.value(times * (rows.X @ theta.A[unit] + theta.b[unit]))
        r = (values @ theta.u + theta.c) + theta.u[unit] * (steeper - values[:, unit])
        costs[unit] = _log_loss(family, rows, r) - here
    return float(costs.min())


def _log_loss(family: Family, rows: Rows, r: Floats) -> float:
    loss = family.likelihood.loss(r, rows.y, rows.weight)
    if family.labels:
        return loss
    mass = float(len(r) if rows.weight is None else rows.weight.sum())
    return 0.5 * mass * float(np.log(max(2 * loss / mass, 1e-300)))
