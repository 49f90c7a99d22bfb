"""Damped Gauss-Newton for small students: normal equations, scaled columns, a budget of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ...checking import Floats
from .policy import POLICY

__all__ = ["Lowest", "Problem", "descend"]

# Parameters (p,) -> residuals (n,), and a function that returns their Jacobian (n, p).
Problem = Callable[[Floats], tuple[Floats, Callable[[], Floats]]]


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
    """Minimise a sum of squares (Levenberg and Marquardt, Nielsen's damping).

    Parameters
    ----------
    problem : Problem
    target : float
        Root mean square at which to stop.
    patience : float
        Stop when 15 steps together gain less than this share.

    Notes
    -----
    O(n p^2 + p^3) flops per step.
    """
    theta = start
    residuals, make = problem(theta)
    loss = float(residuals @ residuals)
    damping, growth = 1e-2, 2.0
    history = [loss]
    J = make()
    A, gradient = J.T @ J, J.T @ residuals
    n = len(residuals)
    for _ in range(most_steps):
        scale = np.diag(A) + 1e-12 * np.diag(A).max() + 1e-300
        try:
            step = cho_solve(cho_factor(A + np.diag(damping * scale), lower=True, check_finite=False), gradient)
        except LinAlgError:
            damping, growth = damping * growth, 2 * growth
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            trial, make = problem(theta - step)
            value = float(trial @ trial)
        expected = float(step @ (gradient + damping * scale * step))
        if np.isfinite(value) and value < loss:
            gain = (loss - value) / max(expected, 1e-300)
            theta, residuals, loss = theta - step, trial, value
            damping, growth = max(damping * max(1 / 3, 1 - (2 * gain - 1) ** 3), 1e-15), 2.0
            J = make()
            A, gradient = J.T @ J, J.T @ residuals
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
