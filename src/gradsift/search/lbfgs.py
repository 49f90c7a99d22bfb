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


class _Memory(NamedTuple):
    """Past steps and gradient changes, newest last (R, M, P), and their products (R, M, M).

    SY holds s_i' y_j for i <= j and zero below. Empty slots have zero pairs and a one on its diagonal, so that it can
    always be solved with and they drop out.
    """

    S: Any
    Y: Any
    SY: Any
    YY: Any


def start_batch(objective: Objective, points: Any, memory: int = 10) -> Descent:
    """Evaluate the starts and give each an empty memory."""
    values, gradients = objective(points)
    R, P = points.shape
    pairs = np.zeros((R, memory, P), points.dtype)
    products = np.zeros((R, memory, memory))
    return Descent(points, values, gradients, _Memory(pairs, pairs.copy(), products + np.eye(memory), products))


def minimize_batch(objective: Objective, state: Descent, max_evaluations: int, *, tolerance: float = 0.0) -> Descent:
    """Run until `max_evaluations` or until no start's last accepted decrease exceeds `tolerance` (three times running).

    O(R (M P + M^3)) flops beside each evaluation of the objective.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # a trial that runs away is refused, not reported
        return _minimize(objective, state, max_evaluations, tolerance)


def _minimize(objective: Objective, state: Descent, max_evaluations: int, tolerance: float) -> Descent:
    x, f, g, memory = state
    R = len(x)
    scale = np.linalg.norm(g, axis=1)
    direction = _direction(g, memory)
    step = np.where(memory.YY[:, -1, -1] > 0, 1.0, np.minimum(1.0, 1.0 / np.maximum(scale, 1e-30)))
    slope = np.einsum("rp,rp->r", g, direction).astype(np.float64)
    idle = np.zeros(R, dtype=int)
    for _ in range(max_evaluations):
        trial = x + (step[:, None] * direction).astype(x.dtype)
        value, gradient = objective(trial)
        good = value <= f + 1e-4 * step * slope + _ROUNDING * np.abs(f)  # NaN counts as bad
        if good.any():
            idle = np.where(good, np.where(f - value > tolerance, 0, idle + 1), idle)
            _remember(memory, good, trial - x, gradient - g)
            x, g = np.where(good[:, None], trial, x), np.where(good[:, None], gradient, g)
            f = np.where(good, value, f)
            direction = _direction(g, memory)
            slope = np.einsum("rp,rp->r", g, direction).astype(np.float64)
            uphill = ~(slope < 0)  # NaN too
            if uphill.any():
                direction[uphill], slope[uphill] = -g[uphill], -np.einsum("rp,rp->r", g[uphill], g[uphill])
        step = np.where(good, 1.0, step * 0.35)
        idle = np.where(step < 1e-8, 3, idle)
        if tolerance > 0 and (idle >= 3).all():
            break
    return Descent(x, f, g, memory)


def _remember(memory: _Memory, good: Any, s: Any, y: Any) -> None:
    """Push the pairs (s, y) of the accepted starts, unless their curvature is not positive."""
    curved = np.einsum("rp,rp->r", s, y) > 1e-10 * np.einsum("rp,rp->r", y, y)
    rows = np.flatnonzero(good & curved)
    for array, new in ((memory.S, s), (memory.Y, y)):
        array[rows, :-1] = array[rows, 1:]
        array[rows, -1] = new[rows]
    S, Y = memory.S[rows], memory.Y[rows]
    for products in (memory.SY, memory.YY):
        products[rows, :-1, :-1] = products[rows, 1:, 1:]
    memory.SY[rows, :, -1] = np.matmul(S, Y[:, -1, :, None])[..., 0]
    last = np.matmul(Y, Y[:, -1, :, None])[..., 0]
    memory.YY[rows, :, -1] = last
    memory.YY[rows, -1, :] = last


def _direction(g: Any, memory: _Memory) -> Any:
    """Return -H g by the compact representation (Byrd, Nocedal and Schnabel 1994), all starts at once."""
    S, Y, SY, YY = memory
    curvature = YY[:, -1, -1]
    gamma = np.where(curvature > 0, SY[:, -1, -1] / np.where(curvature > 0, curvature, 1.0), 1.0)
    Sg = np.matmul(S, g[:, :, None]).astype(np.float64)  # (R, M, 1)
    Yg = np.matmul(Y, g[:, :, None])
    v = np.linalg.solve(SY, Sg)
    middle = np.diagonal(SY, axis1=1, axis2=2)[:, :, None] * v + gamma[:, None, None] * (np.matmul(YY, v) - Yg)
    w = np.linalg.solve(np.swapaxes(SY, 1, 2), middle)
    Hg = gamma[:, None] * (g - np.matmul(v.swapaxes(1, 2), Y)[:, 0]) + np.matmul(w.swapaxes(1, 2), S)[:, 0]
    return (-Hg).astype(g.dtype)
