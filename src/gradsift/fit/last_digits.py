"""A nearly right network fitted to rounding: Gauss-Newton on all residuals at once, and standard errors from its R.

Residuals are in units of their expected errors. Every solver of a reader ends here: what differs is which parameters
there are, how far each is known beforehand, and how a step changes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, qr_multiply, solve_triangular

from ..arguments import Floats
from ..tuned import LEAST_GAIN, MOST_STEPS, TRIES
from .gauss_newton import NUMBER_SPACING, Problem

_LEAST_STEP = 0.2  # of the parameters' standard errors, in the root mean square: shorter ones that fail end the fit
_SOLVES = 3  # with a Cholesky factor: each gains a factor of `_LEAST_PIVOT`, all of them machine precision
_LEAST_PIVOT = NUMBER_SPACING ** (1 / _SOLVES)


class Factor(NamedTuple):
    """The triangular factor R (p, p) of a Jacobian whose columns were divided by their lengths `scale` (p,)."""

    R: Floats
    scale: Floats

    @property
    def root(self) -> Floats:
        """Root (p, p) of the covariance, ``root @ root.T``; infinite where not all parameters are determined."""
        if not np.isfinite(self.R).all():
            return np.full(self.R.shape, np.inf)
        return np.asarray(solve_triangular(self.R, np.eye(len(self.R)), check_finite=False) / self.scale[:, None])


class Solved(NamedTuple):
    """A step (p,), the factor that it was solved by, and the sum of squares that the tangent promises after it."""

    step: Floats
    factor: Factor
    promised: float

    @property
    def root(self) -> Floats:
        """Root (p, p) of the covariance of what was solved for."""
        return self.factor.root


class RoundedFit(NamedTuple):
    """Parameters (p,) at the end, the residuals there (n,), and the root (p, p) of the parameters' covariance."""

    theta: Floats
    residuals: Floats
    root: Floats


def solve(J: Floats, residuals: Floats, damping: float = 0.0) -> Solved:
    """Return the step that minimises ``|residuals + J step|``; O(n p^2) flops. J (n, p) is overwritten.

    Combinations of parameters that the rows do not determine stay where they are.
    """
    p = J.shape[1]
    scale = np.linalg.norm(J, axis=0)
    scale[scale == 0] = 1.0
    if not (np.isfinite(scale).all() and np.isfinite(residuals).all()):
        return Solved(np.zeros(p), Factor(np.full((p, p), np.inf), scale), np.inf)
    J /= scale
    # Columns of norm one make pivots of R comparable: a pivot tells what a column adds to those before it.
    # Cholesky of J'J takes a third of the time of QR, but squares the condition number. The semi-normal equations
    # R'R s = -J'r, solved for what is left again and again, make up for that as long as no pivot is small.
    A = J.T @ J
    A[np.diag_indices(p)] += damping
    try:
        R = np.asarray(cholesky(A, overwrite_a=True, check_finite=False))
        well_conditioned = bool(np.diag(R).min(initial=1.0) > _LEAST_PIVOT)
    except LinAlgError:
        well_conditioned = False
    step: Floats = np.zeros(p)
    if well_conditioned:
        for _ in range(_SOLVES):
            gradient = J.T @ (residuals + J @ step) + damping * step
            half = solve_triangular(R, gradient, trans="T", check_finite=False)
            step -= solve_triangular(R, half, check_finite=False)
    else:
        # Damping enters as rows sqrt(damping) I with residuals zero, so that nothing is squared.
        rows, right = J, residuals
        if damping > 0 or len(J) < p:
            rows, right = np.concatenate([J, np.sqrt(damping) * np.eye(p)]), np.append(residuals, np.zeros(p))
        projected, R = (np.asarray(part, dtype=np.float64) for part in qr_multiply(rows, right, mode="right"))
        weak = np.abs(np.diag(R)) < p * NUMBER_SPACING
        R[weak, weak] = np.inf
        step = -np.asarray(solve_triangular(R, projected, check_finite=False))
    left = residuals + J @ step
    return Solved(step / scale, Factor(R, scale), float(left @ left))


def with_prior(problem: Problem, start: Floats, prior: Floats) -> Problem:
    """Return the problem with a row more for each parameter that is known beforehand: to be at `start` (p,), with
    standard errors `prior` (p,), infinite where nothing is known."""
    known = np.isfinite(prior)
    rows = np.diag(1 / prior)[known]

    def tied(theta: Floats) -> tuple[Floats, Callable[[], Floats]]:
        residuals, jacobian = problem(theta)
        return np.concatenate([residuals, rows @ (theta - start)]), lambda: np.concatenate([jacobian(), rows])

    return tied


@np.errstate(over="ignore", invalid="ignore")  # steps that lead astray are not taken
def fit_to_rounding(problem: Problem, theta: Floats, move: Callable[[Floats, Floats], Floats] = np.add) -> RoundedFit:
    """Fit all parameters from a start that is nearly right, to where only rounding is left.

    Parameters
    ----------
    problem : Problem
        Its Jacobian must be a new array each time.
    move : callable
        Parameters (p,) and a step (p,) -> parameters; what it changes must agree with the step to first order.

    Notes
    -----
    O(n p^2) flops a step. Steps are undamped until four in a row lead no lower than the best place before: a right
    start needs one to three.
    """
    best = here = _at(problem, theta)
    damping, n_worse, settled = 0.0, 0, False
    for _ in range(MOST_STEPS):
        step, factor, promised = solve(here.jacobian(), here.residuals, damping)
        there = _at(problem, move(here.theta, step))
        if there.loss < best.loss:
            # Where the sum of squares is what the tangent promised, the next step could gain no more than the rest.
            as_promised = abs(there.loss - promised) < LEAST_GAIN * there.loss
            settled = damping == 0 and (as_promised or there.loss > (1 - LEAST_GAIN) * best.loss)
            best = here = there
            damping, n_worse = damping / 10 if damping > LEAST_GAIN else 0.0, 0
        else:
            # The promised gain is the squared length of the step in standard errors: a short step that fails is one
            # whose gain is drowned by rounding.
            least = max(_LEAST_STEP**2 * len(step), LEAST_GAIN * here.loss)
            settled = here.loss - promised < least or there.loss < (1 + LEAST_GAIN) * best.loss
            # Where a step changes which kinked units are active, the way to the right ones often leads uphill first.
            n_worse += 1
            uphill = damping == 0 and n_worse <= TRIES and np.isfinite(there.loss)
            here = there if uphill else best
            damping = 0.0 if uphill else max(10 * damping, LEAST_GAIN)
        if settled:
            break
    if damping > 0 or here is not best or not settled:
        factor = solve(best.jacobian(), best.residuals).factor
    return RoundedFit(best.theta, best.residuals, factor.root)


class _ResidualsAt(NamedTuple):
    """Parameters (p,), residuals (n,), a function that returns their Jacobian, and the sum of squares."""

    theta: Floats
    residuals: Floats
    jacobian: Callable[[], Floats]
    loss: float


def _at(problem: Problem, theta: Floats) -> _ResidualsAt:
    residuals, jacobian = problem(theta)
    loss = float(residuals @ residuals)
    return _ResidualsAt(theta, residuals, jacobian, loss if np.isfinite(loss) else np.inf)
