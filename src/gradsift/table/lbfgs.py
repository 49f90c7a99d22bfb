"""L-BFGS on a batch of independent problems at once: scipy's takes one start at a time, a race needs many.

All starts share every function evaluation, so that the work is one large matrix product instead of many small ones.
Each keeps its own step length and curvature pairs. A trial that fails Armijo's condition shortens its own step, and
leaves a gap in the start's memory where others go on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

_ROUNDING = 2e-7  # a mean over float32 terms is no better than this
_PAIRS = 10  # M
Objective = Callable[[Any], tuple[Any, Any]]  # (R, P) -> values (R,), gradients (R, P)


class Descent(NamedTuple):
    """Where each start stands: points (R, P), values (R,), gradients (R, P)."""

    points: Any
    values: Any
    gradients: Any

    def keep(self, chosen: Any) -> Descent:
        """Return only the chosen starts."""
        return Descent(*(array[chosen] for array in self))

    def put(self, chosen: Any, other: Descent) -> None:
        """Write what the chosen starts have become."""
        for mine, theirs in zip(self, other):
            mine[chosen] = theirs


def start_batch(objective: Objective, points: Any) -> Descent:
    """Evaluate the starts."""
    return Descent(points, *objective(points))


def minimize_batch(objective: Objective, state: Descent, max_evaluations: int, *, tolerance: float = 0.0) -> Descent:
    """Run until `max_evaluations`; a start stops earlier once its accepted steps gain at most `tolerance` three times.

    O(R (M P + M^2)) flops beside each evaluation of the objective at the R starts that still run.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # a trial that runs away is refused, not reported
        return _minimize(objective, state, max_evaluations, tolerance)


def _minimize(objective: Objective, state: Descent, max_evaluations: int, tolerance: float) -> Descent:
    running = np.arange(len(state.points))
    end = state.keep(running)
    x, f, g = state
    memory = _Memory.like(x)
    direction, slope = _downhill(g, memory)
    step = np.minimum(1.0, 1.0 / np.maximum(np.linalg.norm(g, axis=1), 1e-30))
    idle = np.zeros(len(x), dtype=int)
    for _ in range(max_evaluations):
        trial = x + (step[:, None] * direction).astype(x.dtype)
        value, gradient = objective(trial)
        good = value <= f + 1e-4 * step * slope + _ROUNDING * np.abs(f)  # NaN counts as bad
        if good.all():  # as a rule; what follows would do the same, at twice the cost
            idle = np.where(f - value > tolerance, 0, idle + 1)
            memory.push(good, trial - x, gradient - g)
            x, f, g = trial, value, gradient
            direction, slope = _downhill(g, memory)
            step = np.ones(len(x))
        else:
            if good.any():
                idle = np.where(good, np.where(f - value > tolerance, 0, idle + 1), idle)
                memory.push(good, trial - x, gradient - g)
                x, g = np.where(good[:, None], trial, x), np.where(good[:, None], gradient, g)
                f = np.where(good, value, f)
                direction, slope = _downhill(g, memory)
            step = np.where(good, 1.0, step * 0.35)
            idle = np.where(step < 1e-8, 3, idle)
        done = idle >= 3
        if tolerance > 0 and done.any():
            here = Descent(x, f, g)
            end.put(running, here)
            running = running[~done]
            if not len(running):
                return end
            x, f, g = here.keep(~done)
            memory = memory.keep(~done)
            direction, slope, step, idle = direction[~done], slope[~done], step[~done], idle[~done]
    end.put(running, Descent(x, f, g))
    return end


def _downhill(g: Any, memory: _Memory) -> tuple[Any, Any]:
    """Return a direction for each start and the slope along it, which is negative."""
    direction = memory.direction(g)
    slope = np.einsum("rp,rp->r", g, direction).astype(np.float64)
    uphill = ~(slope < 0)  # NaN too
    if uphill.any():
        direction[uphill], slope[uphill] = -g[uphill], -np.einsum("rp,rp->r", g[uphill], g[uphill])
    return direction, slope


@dataclass
class _Memory:
    """Steps s and gradient changes y of each start, those of the last M pushes, in a ring, and their products.

    With the triangle T of s_i' y_j (zero where i is newer than j) the direction needs only T^-1, whose new column
    costs less than two solves. Slots that are empty, or whose step was refused, have zero pairs and a one on the
    diagonal of T, so that they drop out.

    Attributes
    ----------
    pairs : (R, 2 M, P) array
        Steps, then changes.
    inverse, YY : (R, M, M) arrays
        T^-1, and y_i' y_j.
    curvatures : (R, M) array
        The diagonal of T.
    gamma : (R,) array
        The scale of the inverse Hessian, from the newest pair.
    oldest : int
        The slot that is written next.
    """

    pairs: Any
    inverse: Any
    YY: Any
    curvatures: Any
    gamma: Any
    oldest: int = 0

    @classmethod
    def like(cls, points: Any) -> _Memory:
        """Return an empty memory for some points."""
        R, P = points.shape
        pairs, products = np.zeros((R, 2 * _PAIRS, P), points.dtype), np.zeros((R, _PAIRS, _PAIRS))
        return cls(pairs, products + np.eye(_PAIRS), products, np.ones((R, _PAIRS)), np.ones(R))

    def keep(self, chosen: Any) -> _Memory:
        """Return only the chosen starts."""
        return _Memory(
            self.pairs[chosen], self.inverse[chosen], self.YY[chosen], self.curvatures[chosen], self.gamma[chosen],
            self.oldest,
        )  # fmt: skip

    def push(self, good: Any, s: Any, y: Any) -> None:
        """Remember the pairs (s, y) of the accepted starts, unless their curvature is not positive."""
        slot, self.oldest = self.oldest, (self.oldest + 1) % _PAIRS
        self.pairs[:, slot], self.pairs[:, _PAIRS + slot] = s, y
        products = np.matmul(self.pairs, y[:, :, None]).astype(np.float64)  # (R, 2 M, 1)
        curvature, length = products[:, slot, 0].copy(), products[:, _PAIRS + slot, 0].copy()
        kept = good & (curvature > 1e-10 * length)
        if not kept.all():
            self.pairs[~kept, slot] = self.pairs[~kept, _PAIRS + slot] = products[~kept] = 0
            curvature[~kept] = 1.0
        self.YY[:, :, slot] = self.YY[:, slot, :] = products[:, _PAIRS:, 0]
        products[:, slot] = 0  # so that the old column of T^-1 drops out
        self.inverse[:, slot] = 0
        self.inverse[:, :, slot] = -np.matmul(self.inverse, products[:, :_PAIRS])[..., 0] / curvature[:, None]
        self.inverse[:, slot, slot] = 1 / curvature
        self.curvatures[:, slot] = curvature
        gamma = curvature / np.maximum(length, 1e-300)
        self.gamma = gamma if kept.all() else np.where(kept, gamma, self.gamma)

    def direction(self, g: Any) -> Any:
        """Return -H g by the compact representation (Byrd, Nocedal and Schnabel 1994), all starts at once."""
        products = np.matmul(self.pairs, g[:, :, None])  # (R, 2 M, 1)
        gamma = self.gamma[:, None, None]
        v = np.matmul(self.inverse, products[:, :_PAIRS])
        middle = self.curvatures[:, :, None] * v + gamma * (np.matmul(self.YY, v) - products[:, _PAIRS:])
        w = np.matmul(self.inverse.swapaxes(1, 2), middle)
        shares = np.concatenate((w, -gamma * v), axis=1).astype(g.dtype)
        return -(self.gamma[:, None].astype(g.dtype) * g + np.matmul(shares.swapaxes(1, 2), self.pairs)[:, 0])
