"""L-BFGS on a batch of independent problems at once: scipy's takes one start at a time, a race needs many.

All starts share every function evaluation, so that the work is one large matrix product instead of many small ones.
Each keeps its own step length and curvature pairs; a trial that fails Armijo's condition only shortens its own step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Descent", "minimize_batch", "start_batch"]

_ROUNDING = 2e-7  # a mean over float32 terms is no better than this
Objective = Callable[[Any], tuple[Any, Any]]  # (R, P) -> values (R,), gradients (R, P)


class Descent(NamedTuple):
    """Where each start stands: points (R, P), values (R,), gradients (R, P), pairs of past steps."""

    points: Any
    values: Any
    gradients: Any
    memory: _Memory

    def keep(self, chosen: Any) -> Descent:
        """Return only the chosen starts, with their curvature pairs."""
        return Descent(
            self.points[chosen], self.values[chosen], self.gradients[chosen], _Memory(*(a[chosen] for a in self.memory))
        )

    def put(self, chosen: Any, other: Descent) -> None:
        """Write what the chosen starts have become."""
        for mine, theirs in zip((*self[:3], *self.memory), (*other[:3], *other.memory)):
            mine[chosen] = theirs


class _Memory(NamedTuple):
    """Past steps and gradient changes, newest last (R, M, P), and their products.

    With the upper triangle T of s_i' y_j (zero below its diagonal) the direction needs only T^-1 (R, M, M), whose
    shift and new column cost less than two solves; curvatures (R, M) are the diagonal of T, and YY holds y_i' y_j.
    Empty slots have zero pairs and a one on the diagonal of T, so that they drop out.
    """

    S: Any
    Y: Any
    inverse: Any
    curvatures: Any
    YY: Any


def start_batch(objective: Objective, points: Any, memory: int = 10) -> Descent:
    """Evaluate the starts and give each an empty memory."""
    values, gradients = objective(points)
    R, P = points.shape
    pairs = np.zeros((R, memory, P), points.dtype)
    products = np.zeros((R, memory, memory))
    empty = _Memory(pairs, pairs.copy(), products + np.eye(memory), np.ones((R, memory)), products)
    return Descent(points, values, gradients, empty)


def minimize_batch(objective: Objective, state: Descent, max_evaluations: int, *, tolerance: float = 0.0) -> Descent:
    """Run until `max_evaluations`; a start stops earlier once its accepted steps gain at most `tolerance` three times.

    O(R (M P + M^3)) flops beside each evaluation of the objective at the R starts that still run.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # a trial that runs away is refused, not reported
        return _minimize(objective, state, max_evaluations, tolerance)


def _minimize(objective: Objective, state: Descent, max_evaluations: int, tolerance: float) -> Descent:
    running = np.arange(len(state.points))
    end = state.keep(running)
    x, f, g, memory = state
    direction, slope = _downhill(g, memory)
    scale = np.linalg.norm(g, axis=1)
    step = np.where(memory.YY[:, -1, -1] > 0, 1.0, np.minimum(1.0, 1.0 / np.maximum(scale, 1e-30)))
    idle = np.zeros(len(x), dtype=int)
    for _ in range(max_evaluations):
        trial = x + (step[:, None] * direction).astype(x.dtype)
        value, gradient = objective(trial)
        good = value <= f + 1e-4 * step * slope + _ROUNDING * np.abs(f)  # NaN counts as bad
        if good.any():
            idle = np.where(good, np.where(f - value > tolerance, 0, idle + 1), idle)
            _remember(memory, good, trial - x, gradient - g)
            x, g = np.where(good[:, None], trial, x), np.where(good[:, None], gradient, g)
            f = np.where(good, value, f)
            direction, slope = _downhill(g, memory)
        step = np.where(good, 1.0, step * 0.35)
        idle = np.where(step < 1e-8, 3, idle)
        done = idle >= 3
        if tolerance > 0 and done.any():
            here = Descent(x, f, g, memory)
            end.put(running, here)
            running, here = running[~done], here.keep(~done)
            if not len(running):
                return end
            x, f, g, memory = here
            direction, slope, step, idle = direction[~done], slope[~done], step[~done], idle[~done]
    end.put(running, Descent(x, f, g, memory))
    return end


def _downhill(g: Any, memory: _Memory) -> tuple[Any, Any]:
    """Return a direction for each start and the slope along it, which is negative."""
    direction = _direction(g, memory)
    slope = np.einsum("rp,rp->r", g, direction).astype(np.float64)
    uphill = ~(slope < 0)  # NaN too
    if uphill.any():
        direction[uphill], slope[uphill] = -g[uphill], -np.einsum("rp,rp->r", g[uphill], g[uphill])
    return direction, slope


def _remember(memory: _Memory, good: Any, s: Any, y: Any) -> None:
    """Push the pairs (s, y) of the accepted starts, unless their curvature is not positive."""
    curved = np.einsum("rp,rp->r", s, y)
    kept = good & (curved > 1e-10 * np.einsum("rp,rp->r", y, y))
    rows: Any = slice(None) if kept.all() else np.flatnonzero(kept)
    for array, new in ((memory.S, s), (memory.Y, y), (memory.curvatures, curved)):
        array[rows, :-1] = array[rows, 1:]
        array[rows, -1] = new[rows]
    for products in (memory.inverse, memory.YY):
        products[rows, :-1, :-1] = products[rows, 1:, 1:]
    newest, curvature = memory.Y[rows, -1, :, None], memory.curvatures[rows, -1]
    column = np.matmul(memory.S[rows, :-1], newest).astype(np.float64)  # of T, above its diagonal
    inverse = memory.inverse[rows, :-1, :-1]
    memory.inverse[rows, :-1, -1] = -np.matmul(inverse, column)[..., 0] / curvature[:, None]
    memory.inverse[rows, -1, :-1] = 0.0
    memory.inverse[rows, -1, -1] = 1 / curvature
    last = np.matmul(memory.Y[rows], newest)[..., 0]
    memory.YY[rows, :, -1] = last
    memory.YY[rows, -1, :] = last


def _direction(g: Any, memory: _Memory) -> Any:
    """Return -H g by the compact representation (Byrd, Nocedal and Schnabel 1994), all starts at once."""
    S, Y, inverse, curvatures, YY = memory
    length = YY[:, -1, -1]
    gamma = np.where(length > 0, curvatures[:, -1] / np.where(length > 0, length, 1.0), 1.0)
    v = np.matmul(inverse, np.matmul(S, g[:, :, None]))  # (R, M, 1)
    middle = curvatures[:, :, None] * v + gamma[:, None, None] * (np.matmul(YY, v) - np.matmul(Y, g[:, :, None]))
    w = np.matmul(inverse.swapaxes(1, 2), middle)
    Hg = gamma[:, None] * (g - np.matmul(v.swapaxes(1, 2), Y)[:, 0]) + np.matmul(w.swapaxes(1, 2), S)[:, 0]
    return (-Hg).astype(g.dtype)
