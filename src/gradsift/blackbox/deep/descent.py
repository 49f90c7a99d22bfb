"""Damped Gauss-Newton for small students: normal equations, scaled columns, a budget of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ...checking import Floats

__all__ = ["Effort", "Lowest", "Problem", "descend"]

# Parameters (p,) -> residuals (n,), and a function that returns their Jacobian (n, p).
Problem = Callable[[Floats], tuple[Floats, Callable[[], Floats]]]


class Lowest(NamedTuple):
    """Parameters at the end, and the root mean square of the residuals there."""

    parameters: Floats
    rms: float


class Effort:
    """The arithmetic that many descents may cost together, counted and not timed: the same on every machine.

    Parameters
    ----------
    most : float
        Seconds on a usual processor, beside `steps` steps of the descent at hand.
    steps : int
    """

    def __init__(self, most: float, steps: int) -> None:
        self.most, self.steps, self.spent = most, steps, 0.0

    def allows(self, n: int, p: int) -> bool:
        """Count one step with n residuals and p parameters, and say whether there may be another."""
        cost = 1.5e-3 + n * p**2 / 1e10
        self.spent += cost
        return self.spent < self.most + self.steps * cost


def descend(
    problem: Problem,
    start: Floats,
    most_steps: int,
    target: float = 0.0,
    patience: float = 1e-3,
    effort: Effort | None = None,
) -> Lowest:
    """Minimise a sum of squares (Levenberg and Marquardt, Nielsen's damping).

    Parameters
    ----------
    problem : Problem
    target : float
        Root mean square at which to stop.
    patience : float
        Stop when 15 steps together gain less than this share.
    effort : Effort, optional
        Stop when this is spent.

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
        if loss <= n * target**2 or not (effort is None or effort.allows(n, len(theta))):
            break
        if len(history) > 15 and history[-16] - loss < patience * history[-16]:
            break
    return Lowest(theta, float(np.sqrt(loss / n)))
