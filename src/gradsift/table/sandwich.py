"""How far fitted parameters scatter: by the noise model, robustly, by cluster; and what that costs BIC."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import Floats
from ..fit import Coordinates, NormalEquations, Parameters, Refined, covariance_factor
from ..sources import ArraySource
from .problem import TableProblem

_ILL_KNOWN = 1e6  # of a direction's squared length: rounding of single numbers would pass for what rows tell about it
_MOST_LEVERAGE = 0.9  # of a row on its own fit, beyond which leaving it out says more about rounding than about noise


class Spread(NamedTuple):
    """How far the parameters of a fit scatter.

    covariance : (size, size), of the flat parameters in the frame, for the rows of the whole source
    inflation : by how much more than its noise model says a parameter gains from noise alone, on average; at least one
    """

    covariance: Floats
    inflation: float


class _ModelCovariance(NamedTuple):
    """What a sandwich is made around.

    root : (size, free) times its transpose is the covariance by the noise model, a ridge counted
    known : (size, known) those of its directions that are known beyond rounding, in single precision as rows are
    curvature : (size, size) sum over the rows of what they tell
    variance : of the noise, with its degrees of freedom; one for labels
    left : degrees of freedom
    """

    root: Floats
    known: Any
    curvature: Floats
    variance: float
    left: float


class _Scatter(NamedTuple):
    """Sum over rows (or clusters) of the squared scores, and what it is along the known directions, all in all."""

    matrix: Floats
    along: float


def price_factor(problem: TableProblem, best: Refined) -> float:
    """Return by how much more than its noise model says a parameter gains from noise alone; at least one.

    Noise whose size depends on the row, and rows of unequal weight, make units that are not there look better; BIC
    stays right where a parameter costs as many times more (the trace that replaces the count in information criteria
    for wrong models). O(n size^2) flops, one block of rows after another.
    """
    if _by_the_model(problem):
        return 1.0  # without a pass
    bread = _model_covariance(problem, best)
    return _factor_from(problem, bread, _scatter_along(problem, best.theta, bread))


def spread_of(problem: TableProblem, best: Refined) -> Spread:
    """Return the covariance of the parameters, and what noise alone gains by one of them.

    "model" trusts the noise model; "sandwich" only that rows are independent; "cluster" only that groups are. The last
    two are those of the jackknife: every row's (or group's) score is what it would be, to first order, had the fit not
    seen it (HC3, CR3), as rows of much leverage have small residuals. Whatever the kind, a ridge counts as information.
    O(n size^2) flops; one block of rows, or one group, after another.
    """
    bread = _model_covariance(problem, best)
    middle = bread.root @ bread.root.T
    if problem.choices.covariance == "model":
        matrix = middle @ (bread.curvature / bread.variance) @ middle
        along = 0.0 if _by_the_model(problem) else _scatter_along(problem, best.theta, bread)
    else:
        scatter, along = _scatter_left_out(problem, best.theta, bread)
        matrix = middle @ (scatter / bread.variance**2) @ middle
    return Spread(np.asarray(matrix * (problem.mass / best.mass)), _factor_from(problem, bread, along))


def _model_covariance(problem: TableProblem, best: Refined) -> _ModelCovariance:
    family, theta = problem.family, best.theta
    # Bread = G (G' I G)^-1 G' on the constraint surface, as a root that gives lengths of scores along it.
    G = Coordinates(family, problem.frame.metric).tangent(theta)
    left = max(problem.mass - G.shape[1], 1.0)
    # The loss may stem from more rows than those of the search.
    variance = 1.0 if family.labels else max(2 * best.loss * problem.mass / best.mass / left, 1e-300)
    equations = ArraySource(*problem.observed.rows).reduce(NormalEquations(family, theta))
    assert equations.curvature is not None  # asked for by default
    prior = problem.last_prior.within(family).curvature(theta, family.layout(*theta.A.shape))
    information = equations.curvature / variance + prior
    root = G @ covariance_factor(G.T @ information @ G)
    # Squared lengths over those that single parameters would have alone.
    known = np.diag(information) @ root**2 < _ILL_KNOWN
    return _ModelCovariance(root, root[:, known].astype(np.float32), equations.curvature, variance, left)


def _by_the_model(problem: TableProblem) -> bool:
    """Tell whether rows cannot scatter otherwise than their noise model says: labels, one by one."""
    return problem.family.labels and problem.observed.rows.weight is None and problem.choices.covariance != "cluster"


def _factor_from(problem: TableProblem, bread: _ModelCovariance, along: float) -> float:
    if _by_the_model(problem):
        return 1.0
    free, known = bread.root.shape[1], bread.known.shape[1]
    # tr(Bread Scatter) is what noise gains in all; over the number of parameters it is one if the noise model holds.
    counted = along / bread.variance**2 * problem.mass / bread.left + free - known
    return float(max(1.0, counted / max(free, 1)))


def _scatter_along(problem: TableProblem, theta: Parameters, bread: _ModelCovariance) -> float:
    """Return the squared scores along the known directions, all in all."""
    groups = _groups(problem)
    if groups is None:
        return sum(float(part.scores**2 @ _squares(part.J, bread.known)) for part in _parts(problem, theta))
    totals = np.zeros((int(groups.max()) + 1, len(bread.root)))
    for part in _parts(problem, theta):
        np.add.at(totals, groups[part.which], part.J * part.scores[:, None])
    return float(((totals @ bread.known) ** 2).sum())


def _scatter_left_out(problem: TableProblem, theta: Parameters, bread: _ModelCovariance) -> _Scatter:
    """Return the scatter of the scores that rows, or clusters of them, have in a fit that did not see them.

    What it is along the known directions is that of the scores as they are.
    """
    groups = _groups(problem)
    scatter, along = np.zeros_like(bread.curvature), 0.0
    if groups is None:
        for part in _parts(problem, theta):
            squares = _squares(part.J, bread.known)
            along += float(part.scores**2 @ squares)
            # HC3: a row's residual in a fit without it is e / (1 - h), so that its score is scaled by the same.
            leverage = np.minimum(part.once / bread.variance * squares, _MOST_LEVERAGE)
            scaled = part.J * (part.scores / (1 - leverage))[:, None].astype(part.J.dtype)
            scatter += scaled.T @ scaled
        return _Scatter(scatter, along)
    for part in _parts(problem, theta, _rows_by_group(groups)):
        along += float(((part.scores @ part.J @ bread.known) ** 2).sum())
        total = _score_without(part, bread)
        scatter += np.outer(total, total)
    return _Scatter(scatter, along)


def _score_without(part: _Part, bread: _ModelCovariance) -> Floats:
    """Return the score (size,) of a group of rows in a fit that did not see them, to first order."""
    scale = np.sqrt(part.once)
    J = part.J * scale[:, None]
    # CR3 for a group: (I - H)^-1 e with H = J C J' of rank at most its rows, inverted in its own singular directions.
    directions, sizes, _ = np.linalg.svd(J @ (bread.known / np.sqrt(bread.variance)), full_matrices=False)
    leverage = np.minimum(sizes**2, _MOST_LEVERAGE)  # of the group on itself
    residual = part.scores / np.maximum(scale, 1e-300)
    residual = residual + directions @ (leverage / (1 - leverage) * (directions.T @ residual))
    return np.asarray(J.T @ residual)


class _Part(NamedTuple):
    """Some rows: which, the derivatives of r (n, size) in single precision, their weighted scores, and what each tells
    about r if it was seen once, (n,) both."""

    which: slice | NDArray[np.intp]
    J: Floats
    scores: Floats
    once: Floats


def _parts(problem: TableProblem, theta: Parameters, members: list[NDArray[np.intp]] | None = None) -> Iterator[_Part]:
    """Go through the rows in blocks that stay in cache, or group by group."""
    (X, y, weight), family = problem.observed.rows, problem.family
    equations = NormalEquations(family, theta)
    size = equations.block_rows(X.shape[1])
    seen_often = problem.choices.weights == "frequency" and _groups(problem) is None
    blocks = [slice(start, start + size) for start in range(0, len(y), size)]
    for which in blocks if members is None else members:
        r, J = equations.with_jacobian(X[which])
        # A row seen w times counts as w rows: its squared score counts w times, not w^2 times.
        scores, once = family.likelihood.score(r, y[which]), family.likelihood.precision(r)
        if weight is not None:
            scores = scores * (np.sqrt(weight[which]) if seen_often else weight[which])
            once = once if seen_often else once * weight[which]
        yield _Part(which, J, scores, once)


def _squares(J: Any, root: Any) -> Floats:
    """Return the squared lengths (n,) of the rows of J times root."""
    along = J @ root
    return np.asarray(np.einsum("np,np->n", along, along), dtype=np.float64)


def _groups(problem: TableProblem) -> NDArray[np.intp] | None:
    return problem.observed.groups if problem.choices.covariance == "cluster" else None


def _rows_by_group(groups: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the rows of each group."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
