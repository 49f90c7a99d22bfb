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
from numpy.typing import NDArray
from scipy.special import expit, softmax

from ..fit import Family, Layout, Parameters
from ..likelihood import CERTAINTY
from ..sources import Rows

_ROUNDING = 2 * float(np.finfo(np.float32).eps)  # a mean over float32 terms is no better than this
_PAIRS = 10  # M
Objective = Callable[[Any], tuple[Any, Any]]  # (R, P) -> values (R,), gradients (R, P)


class BatchState(NamedTuple):
    """Where each start stands: points (R, P), values (R,), gradients (R, P)."""

    points: Any
    values: Any
    gradients: Any

    def keep(self, chosen: Any) -> BatchState:
        """Return only the chosen starts."""
        return BatchState(*(array[chosen] for array in self))

    def put(self, chosen: Any, other: BatchState) -> None:
        """Write what the chosen starts have become."""
        for mine, theirs in zip(self, other):
            mine[chosen] = theirs


def start_batch(objective: Objective, points: Any) -> BatchState:
    """Evaluate the starts."""
    return BatchState(points, *objective(points))


def descend_batch(
    objective: Objective, state: BatchState, max_evaluations: int, *, tolerance: float = 0.0
) -> BatchState:
    """Run until `max_evaluations`; a start stops earlier once its accepted steps gain at most `tolerance` three times.

    O(R (M P + M^2)) flops beside each evaluation of the objective at the R starts that still run.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # a trial that runs away is refused, not reported
        return _descend(objective, state, max_evaluations, tolerance)


def _descend(objective: Objective, state: BatchState, max_evaluations: int, tolerance: float) -> BatchState:
    running = np.arange(len(state.points))
    end = state.keep(running)
    x, f, g = state
    memory = _Memory.empty(x)
    direction, slope = _directions(g, memory)
    step = np.minimum(1.0, 1.0 / np.maximum(np.linalg.norm(g, axis=1), 1e-30))
    idle = np.zeros(len(x), dtype=int)
    for _ in range(max_evaluations):
        trial = x + (step[:, None] * direction).astype(x.dtype)
        value, gradient = objective(trial)
        # Armijo's condition, with the rounding of a float32 mean allowed for; each start judges its own trial.
        good = value <= f + 1e-4 * step * slope + _ROUNDING * np.abs(f)  # NaN counts as bad
        if good.all():  # as a rule; what follows would do the same, at twice the cost
            idle = np.where(f - value > tolerance, 0, idle + 1)
            memory.add(good, trial - x, gradient - g)
            x, f, g = trial, value, gradient
            direction, slope = _directions(g, memory)
            step = np.ones(len(x))
        else:
            if good.any():
                idle = np.where(good, np.where(f - value > tolerance, 0, idle + 1), idle)
                memory.add(good, trial - x, gradient - g)
                x, g = np.where(good[:, None], trial, x), np.where(good[:, None], gradient, g)
                f = np.where(good, value, f)
                direction, slope = _directions(g, memory)
            step = np.where(good, 1.0, step * 0.35)
            idle = np.where(step < 1e-8, 3, idle)
        done = idle >= 3
        if tolerance > 0 and done.any():
            here = BatchState(x, f, g)
            end.put(running, here)
            running = running[~done]
            if not len(running):
                return end
            x, f, g = here.keep(~done)
            memory = memory.keep(~done)
            direction, slope, step, idle = direction[~done], slope[~done], step[~done], idle[~done]
    end.put(running, BatchState(x, f, g))
    return end


def _directions(g: Any, memory: _Memory) -> tuple[Any, Any]:
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
    oldest: int

    @classmethod
    def empty(cls, points: Any) -> _Memory:
        """Return an empty memory for some points."""
        R, P = points.shape
        pairs, products = np.zeros((R, 2 * _PAIRS, P), points.dtype), np.zeros((R, _PAIRS, _PAIRS))
        return cls(pairs, products + np.eye(_PAIRS), products, np.ones((R, _PAIRS)), np.ones(R), 0)

    def keep(self, chosen: Any) -> _Memory:
        """Return only the chosen starts."""
        return _Memory(
            self.pairs[chosen], self.inverse[chosen], self.YY[chosen], self.curvatures[chosen], self.gamma[chosen],
            self.oldest,
        )  # fmt: skip

    def add(self, good: Any, s: Any, y: Any) -> None:
        """Remember the pairs (s, y) of the accepted starts, unless their curvature is not positive."""
        slot, self.oldest = self.oldest, (self.oldest + 1) % _PAIRS
        self.pairs[:, slot], self.pairs[:, _PAIRS + slot] = s, y
        # s_i' y and y_i' y for all stored pairs: one new row and column of T and of Y'Y.
        products = np.matmul(self.pairs, y[:, :, None]).astype(np.float64)  # (R, 2 M, 1)
        curvature, length = products[:, slot, 0].copy(), products[:, _PAIRS + slot, 0].copy()
        kept = good & (curvature > 1e-10 * length)
        if not kept.all():
            self.pairs[~kept, slot] = self.pairs[~kept, _PAIRS + slot] = products[~kept] = 0
            curvature[~kept] = 1.0
        self.YY[:, :, slot] = self.YY[:, slot, :] = products[:, _PAIRS:, 0]
        products[:, slot] = 0  # so that the old column of T^-1 drops out
        self.inverse[:, slot] = 0
        # T gains a last column t with corner c: T^-1 gains the column -T^-1 t / c and the corner 1 / c.
        self.inverse[:, :, slot] = -np.matmul(self.inverse, products[:, :_PAIRS])[..., 0] / curvature[:, None]
        self.inverse[:, slot, slot] = 1 / curvature
        self.curvatures[:, slot] = curvature
        gamma = curvature / np.maximum(length, 1e-300)
        self.gamma = gamma if kept.all() else np.where(kept, gamma, self.gamma)

    def direction(self, g: Any) -> Any:
        """Return -H g by the compact representation (Byrd, Nocedal and Schnabel 1994), all starts at once."""
        # H g = gamma g + [S, gamma Y] M [S, gamma Y]' g with M made of T^-1, D and Y'Y: two thin products.
        products = np.matmul(self.pairs, g[:, :, None])  # (R, 2 M, 1)
        gamma = self.gamma[:, None, None]
        v = np.matmul(self.inverse, products[:, :_PAIRS])
        middle = self.curvatures[:, :, None] * v + gamma * (np.matmul(self.YY, v) - products[:, _PAIRS:])
        w = np.matmul(self.inverse.swapaxes(1, 2), middle)
        shares = np.concatenate((w, -gamma * v), axis=1).astype(g.dtype)
        return -(self.gamma[:, None].astype(g.dtype) * g + np.matmul(shares.swapaxes(1, 2), self.pairs)[:, 0])


Singles = NDArray[np.float32]

_ONE, _LOG_2 = np.float32(1 + CERTAINTY.single), np.float32(np.log(2))  # a little more than one: no label is impossible
_CACHE = 98_304  # numbers per temporary (float32): two of them fit in a megabyte of L2 beside the rows


class BatchLoss:
    """The objective of R students with k units each on the same rows.

    A student is a flat row ``[A (k, d + offset), weights (k), intercept?]``; weights on the simplex are the softmax of
    the stored numbers. Rows are kept transposed and in blocks, so that one evaluation is, per block, one matrix
    product (R k, d)(d, block), the sigmoid, and one product back.

    Parameters
    ----------
    rows : Rows
        In the coordinates of a frame.
    family : Family
    n_units : int
    ridge : float or (d,) array
        Adds ``ridge / (2 mass) a^2`` to the mean loss, for each entry a of A.

    Attributes
    ----------
    layout : Layout
        Where a student's parameters sit in its flat row.
    """

    def __init__(self, rows: Rows, family: Family, n_units: int, ridge: Any = 0.04) -> None:
        self.family, self.n_units = family, n_units
        X = rows.X.astype(np.float32)
        if family.offsets:
            X = np.column_stack((X, np.ones(len(X), np.float32)))
        self.X = np.ascontiguousarray(X)
        self.XT = np.ascontiguousarray(X.T)
        self.y = rows.y.astype(np.float32)
        self.weight = None if rows.weight is None else (rows.weight / rows.weight.mean()).astype(np.float32)
        mass = float(len(self.y)) if rows.weight is None else float(rows.weight.sum())
        self.ridge: Any = np.asarray(ridge / max(mass, 1.0), dtype=np.float32)
        self.layout = Layout(n_units, rows.X.shape[1], family.offsets, family.intercept)

    @property
    def width(self) -> int:
        """Length of one student's flat row."""
        return self.layout.size

    def __call__(self, students: Singles) -> tuple[NDArray[np.float64], Singles]:
        """Return the mean losses (R,) and gradients (R, P). O(R k d n) flops, temporaries of one block."""
        R, k, q, n = len(students), self.n_units, self.X.shape[1], len(self.y)
        units, weights = self.layout.units, self.layout.weights
        A = np.ascontiguousarray(students[:, units]).reshape(R * k, q)
        u = softmax(students[:, weights], axis=1) if self.family.simplex else students[:, weights]
        c = students[:, -1:] if self.family.intercept else None
        losses = np.zeros(R)
        gradient = np.zeros((R, self.width), np.float32)
        gA, gu = np.zeros((R * k, q), np.float32), gradient[:, weights]
        size = min(n, max(256, _CACHE // (R * k)))
        space: Any = np.empty((2, R * k, size), np.float32)
        # Per block: z = A X', f and f' in place, r = u f, and the products back; temporaries stay in cache.
        for start in range(0, n, size):
            block = slice(start, min(start + size, n))
            z, slope = space[:, :, : block.stop - start]
            np.matmul(A, self.XT[:, block], out=z)
            values, slope = self._values(z, slope)
            stacked = values.reshape(R, k, -1)
            r = np.matmul(u[:, None, :], stacked)[:, 0]
            if c is not None:
                r += c
            loss, e = self._residual(r, block)
            losses += loss
            if c is not None:
                gradient[:, -1] += e.sum(axis=1)
            gu += np.matmul(stacked, e[:, :, None])[..., 0]
            back = slope.reshape(R, k, -1)
            back *= e[:, None, :]
            gA += slope @ self.X[block]
        by_unit = gA.reshape(R, k, q)
        by_unit *= u[:, :, None]
        if self.family.simplex:
            # Derivative of the softmax: du_i / ds_j = u_i (delta_ij - u_j).
            gu[...] = u * (gu - (u * gu).sum(axis=1, keepdims=True))
        gradient[:, units] = gA.reshape(R, -1)
        gradient /= np.float32(n)
        inputs = A.reshape(R, k, q)[:, :, : self.layout.n_features]
        pull = self.ridge * inputs
        losses = losses / n + 0.5 * np.einsum("rkd,rkd->r", pull, inputs)
        gradient[:, units].reshape(R, k, q)[:, :, : self.layout.n_features] += pull
        return losses, gradient

    def _values(self, z: Any, slope: Any) -> tuple[Singles, Singles]:
        """Return f(z) and f'(z), which overwrite both arguments."""
        f = self.family.activation
        if f.single is not None:
            f.single(z, slope)
        elif f.derivative_of_value is None or not isinstance(f.value, np.ufunc):
            slope[...] = f.derivative(z)
            z[...] = f.value(z)
        else:  # in place: new temporaries would cost as much as the hyperbolic tangent itself
            f.value(z, out=z)
            f.derivative_of_value(z, out=slope)
        return z, slope

    def _residual(self, r: Singles, block: slice) -> tuple[NDArray[np.float64], Singles]:
        """Return the summed losses (R,) and their derivatives in r (R, block)."""
        y = self.y[block]
        if self.family.labels and not self.family.simplex:
            t = r * y
            e = -y * expit(-t)
            loss = np.logaddexp(np.float32(0), -t)
        elif self.family.labels:
            p = r * y  # at least -1
            # -log((1 + y r) / 2), whose derivative in r is -y / (1 + y r).
            p += _ONE  # twice the probability of the label seen
            e = -y / p
            loss = np.subtract(_LOG_2, np.log(p, out=p), out=p)
        else:
            e = r - y
            loss = np.float32(0.5) * e * e
        if self.weight is not None:
            loss *= self.weight[block]
            e *= self.weight[block]
        return loss.sum(axis=1).astype(np.float64), e

    def pack(self, students: list[Parameters]) -> Singles:
        """Return the flat rows of some students."""
        if self.family.simplex:
            students = [theta._replace(u=np.log(np.maximum(theta.u, 1e-6))) for theta in students]
        return np.array([self.layout.pack(theta) for theta in students], dtype=np.float32)

    def unpack(self, student: Singles) -> Parameters:
        """Return one flat row as parameters, in float64."""
        theta = self.layout.unpack(student.astype(np.float64))
        return theta._replace(u=softmax(theta.u)) if self.family.simplex else theta
