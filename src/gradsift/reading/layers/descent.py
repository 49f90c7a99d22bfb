"""Damped Gauss-Newton for small students: normal equations, scaled columns, a budget of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ...arguments import Floats
from .settings import POLICY

# Parameters (p,) -> residuals (n,), and a function that returns their Jacobian (n, p).
Problem = Callable[[Floats], tuple[Floats, Callable[[], Floats]]]

_SEEN_AT = 0.1  # share of a step over which the second derivative is seen
_MOST_BENT = 1.5  # bend over step from which it is not believed


class Lowest(NamedTuple):
    """Parameters at the end, the root mean square of the residuals there, and about how many multiplications it was."""

    parameters: Floats
    rms: float
    work: float


def descend(
    problem: Problem,
    start: Floats,
    most_steps: int,
    target: float = 0.0,
    patience: float = POLICY.patience,
) -> Lowest:
    """Minimise a sum of squares (Levenberg and Marquardt, Nielsen's damping, steps bent along the valley).

    Parameters
    ----------
    problem : Problem
    target : float
        Root mean square at which to stop.
    patience : float
        Stop when 15 steps together gain less than this share.

    Notes
    -----
    O(n p^2 + p^3) flops per step. Columns are scaled by the longest that they have been: a unit that saturates on the
    way would be free to run off. Bent steps (geodesic acceleration) cost one more evaluation; both were chosen on the
    row "10; 8,6,4" with the seed 900, where most students stopped halfway down before.
    """
    theta = start
    residuals, make = problem(theta)
    loss, n = float(residuals @ residuals), len(residuals)
    if loss <= n * target**2:
        return Lowest(theta, float(np.sqrt(loss / n)), 0.0)
    damping, growth = 1e-2, 2.0
    history = [loss]
    J, A, gradient = _equations(make, residuals)
    longest = np.diag(A).copy()
    for _ in range(most_steps):
        longest = np.maximum(longest, np.diag(A))
        scale = longest + 1e-12 * longest.max() + 1e-300
        damped = A.copy()
        damped.flat[:: len(A) + 1] += damping * scale
        if not (np.isfinite(damped).all() and np.isfinite(gradient).all()):  # single precision overflows
            break
        try:
            factor = cho_factor(damped, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            damping, growth = damping * growth, 2 * growth
            continue
        step = cho_solve(factor, gradient)
        with np.errstate(over="ignore", invalid="ignore"):
            ahead = problem(theta - _SEEN_AT * step)[0]
            second = 2 / _SEEN_AT * ((ahead - residuals) / _SEEN_AT + J @ step)
            bend = cho_solve(factor, J.T @ second, check_finite=False)
            small = scale @ bend**2 <= _MOST_BENT**2 * (scale @ step**2)
            after = theta - step - 0.5 * bend if small else theta - step
            trial, make = problem(after)
            value = float(trial @ trial)
        expected = float(step @ (gradient + damping * scale * step))
        if np.isfinite(value) and value < loss:
            gain = (loss - value) / max(expected, 1e-300)
            theta, residuals, loss = after, trial, value
            damping, growth = max(damping * max(1 / 3, 1 - (2 * gain - 1) ** 3), 1e-15), 2.0
            J, A, gradient = _equations(make, residuals)
        else:
            damping, growth = damping * growth, 2 * growth
            if damping > 1e12:
                break
        history.append(loss)
        if loss <= n * target**2:
            break
        if len(history) > 15 and history[-16] - loss < patience * history[-16]:
            break
    return Lowest(theta, float(np.sqrt(loss / n)), len(history) * (n * len(theta) ** 2 + POLICY.step_work))


def _equations(make: Callable[[], Floats], residuals: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the Jacobian, the matrix of the normal equations (p, p), and the gradient (p,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        J = make()
        return J, J.T @ J, J.T @ residuals
