"""Slopes, offsets and output weights of units whose directions are known, from a few boundary points: many starts at
once, each by damped Gauss-Newton."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...tuned import MOST_STEPS
from .boundary import Classes, Crossings
from .settings import DECISIONS, DecisionPolicy

_STAGES = ((0.3, 0.03), (0.1, 3e-3), (1e-3, 0.0))  # share of the weights in a residual's size, and the prior's weight
_START_SLOPES = (1.8, 0.7)  # of the starts: median, and spread of the logarithm; guess
_RANGE = (0.01, 60.0)  # slopes outside are no unit's; guess
_LARGEST_BATCH = 3_000  # starts times parameters: fewer starts of a large layer; guess


class FitLayout(NamedTuple):
    """How many units, rows of the output layer and open components there are."""

    n_units: int
    n_rows: int
    open_units: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.n_units * (2 + self.n_rows) + self.n_rows + len(self.open_units)


class SmallFit(NamedTuple):
    """Parameters of one layer: rows A (k, d), offsets b (k,), output weights U (m, k) and constants c (m,).

    `error` is the root mean square of the boundary points' misses, in lengths.
    """

    A: Floats
    b: Floats
    U: Floats
    c: Floats
    error: float = np.inf


def pair_rows(below: Classes, above: Classes, n_rows: int) -> Floats:
    """Return the combinations of outputs that are zero where one class ends and another begins, (n, m).

    Of two classes there is one output, positive for the second; else one output for each class.
    """
    if n_rows == 1:
        return np.asarray(np.where(above > below, 1.0, -1.0)[:, None])
    return np.asarray(np.eye(n_rows)[above] - np.eye(n_rows)[below])


class FitPoints(NamedTuple):
    """What the small fit is made to: boundary points, far classes, and the known directions.

    at : Crossings
    anchors : (a,) numbers of crossings at which units decide far out, and whose these are
    normals, free : (k, d) arrays
    rows, classes : far inputs and their classes
    """

    at: Crossings
    anchors: Classes
    owners: Classes
    normals: Floats
    free: Floats
    rows: Floats
    classes: Classes


def small_fit(
    data: FitPoints, f: Activation, n_rows: int, policy: DecisionPolicy, rng: np.random.Generator
) -> SmallFit:
    """Return the best of many starts; its error is infinite where none is one of a network."""
    shape = FitLayout(len(data.normals), n_rows, tuple(np.flatnonzero(data.free.any(axis=1)).tolist()))
    Q = pair_rows(data.at.below, data.at.above, n_rows)
    theta = _starts(data, shape, f, Q, min(policy.starts, max(8, _LARGEST_BATCH // shape.size)), rng)
    for share, prior in _STAGES:
        theta = _descend(theta, data, shape, f, Q, share, prior)
    residuals, _, slopes = _residuals(theta, data, shape, f, Q, 0.0)
    with np.errstate(invalid="ignore"):
        errors = np.sqrt(np.mean(residuals**2, axis=1))
    errors[~_is_unit(theta, data, shape, slopes) | ~np.isfinite(errors)] = np.inf
    best = int(np.argmin(errors))
    return _unpacked(theta[best], data, shape, float(errors[best]))


def _split(theta: Floats, shape: FitLayout) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return slopes, offsets (B, k), weights (B, m, k), constants (B, m) and open components (B, k)."""
    k, m, B = shape.n_units, shape.n_rows, len(theta)
    s, b, U, c, g = np.split(theta, np.cumsum([k, k, m * k, m]), axis=1)
    amounts = np.zeros((B, k))
    amounts[:, list(shape.open_units)] = g
    return s, b, U.reshape(B, m, k), c, amounts


def _starts(data: FitPoints, shape: FitLayout, f: Activation, Q: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Return n starts, (n, p): weights by regression of the far classes on the units' signs, with random weights of
    the rows; arguments at the places where units decide as these weights have it; slopes by chance."""
    k, m = shape.n_units, shape.n_rows
    # Every other start takes usual slopes: heights are few, and may lie close together by chance.
    usual = np.where(np.arange(n)[:, None] % 2, _START_SLOPES[0], _slopes(data))
    s = usual * np.exp(_START_SLOPES[1] * rng.standard_normal((n, k)))
    g = np.zeros((n, k))
    g[:, list(shape.open_units)] = 0.7 * rng.standard_cauchy((n, len(shape.open_units)))

    def signs(X: Floats) -> Floats:
        return np.asarray(np.sign((X @ data.normals.T)[None] + g[:, None] * (X @ data.free.T)[None]))  # (n, rows, k)

    x = data.at.points[data.anchors]
    here = signs(x)
    # On either side of a place where a unit decides its class is known, too, without another query.
    sides = []
    for side in (-1.0, 1.0):
        sides.append(here.copy())
        sides[-1][:, np.arange(len(x)), data.owners] = side * np.sign(
            (data.at.ways[data.anchors] * data.normals[data.owners]).sum(axis=1)
        )
    design = np.concatenate([signs(data.rows), *sides], axis=1)
    design = np.concatenate([design, np.ones((*design.shape[:2], 1))], axis=2)
    classes = np.concatenate([data.classes, data.at.below[data.anchors], data.at.above[data.anchors]])
    V = _weights(design, classes, m, rng)  # (n, m, k + 1)
    U, c = V[:, :, :k], V[:, :, k]
    b = rng.standard_normal((n, k))
    for place, unit in enumerate(data.owners):
        # q (c + sum of all others) + q u tanh z = 0 at the place where this unit decides.
        q = Q[data.anchors[place]]
        weights = np.einsum("m,bmk->bk", q, U)
        others = weights * here[:, place]
        others[:, unit] = 0.0
        level = -(c @ q + others.sum(axis=1)) / weights[:, unit]
        z = f.inverse(np.clip(np.nan_to_num(level), -0.95, 0.95))  # type: ignore[misc]
        b[:, unit] = z - s[:, unit] * (x[place] @ data.normals[unit])
    return np.concatenate([s, b, U.reshape(n, -1), c, g[:, list(shape.open_units)]], axis=1)


def _slopes(data: FitPoints) -> Floats:
    """Return about how steep each unit is, (k,): the heights at which it decides far out are those of arguments that
    differ by about one."""
    heights = (data.at.points[data.anchors] * data.normals[data.owners]).sum(axis=1)
    spreads = np.array([np.std(heights[data.owners == unit]) if (data.owners == unit).sum() > 1 else 0.0
                        for unit in range(len(data.normals))])  # fmt: skip
    known = spreads > _START_SLOPES[1] / _RANGE[1]  # where all others stand alike the heights are one
    if not known.any():
        return np.full(len(spreads), _START_SLOPES[0])
    slopes = np.full(len(spreads), _START_SLOPES[1] / np.exp(np.log(spreads[known]).mean()))
    slopes[known] = _START_SLOPES[1] / spreads[known]
    return slopes


def _weights(design: Floats, classes: Classes, m: int, rng: np.random.Generator) -> Floats:
    """Return output weights (n, m, k + 1) of length one, spread over all that decide the far rows as the box does.

    A softmax regression finds the cone of such weights; a random walk inside it spreads the starts.
    """
    n_classes = max(m, 2)
    V = _first_weights(design, classes, n_classes)
    V /= np.linalg.norm(V, axis=(1, 2), keepdims=True)
    for _ in range(MOST_STEPS):
        way = rng.standard_normal(V.shape)
        way /= np.linalg.norm(way, axis=(1, 2), keepdims=True)
        own, turn = V[:, classes], way[:, classes]
        # Margins of the class that was seen over all others are linear in the step: they bound it on both sides.
        margin = np.einsum("brs,brs->br", design, own)[:, :, None] - design @ V.transpose(0, 2, 1)
        growth = np.einsum("brs,brs->br", design, turn)[:, :, None] - design @ way.transpose(0, 2, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = -margin / growth
        held = margin > 0  # rows that the regression misses, beside a hyperplane, bound nothing
        low = np.where(held & (growth > 0), ends, -1.0).max(axis=(1, 2))
        high = np.where(held & (growth < 0), ends, 1.0).min(axis=(1, 2))
        V = V + rng.uniform(np.maximum(low, -1.0), np.minimum(high, 1.0))[:, None, None] * way
        V /= np.linalg.norm(V, axis=(1, 2), keepdims=True)
    V = V[:, 1:] - V[:, :1] if m == 1 else V - V.mean(axis=1, keepdims=True)
    return np.asarray(V / np.linalg.norm(V, axis=(1, 2), keepdims=True))


def _first_weights(design: Floats, classes: Classes, n_classes: int) -> Floats:
    """Return weights (n, classes, k + 1) of a softmax regression by accelerated descent."""
    n, n_rows, size = design.shape
    target = np.eye(n_classes)[classes]  # (rows, classes)
    V = before = np.zeros((n, n_classes, size))
    for step in range(MOST_STEPS):
        ahead = V + step / (step + 3.0) * (V - before)
        scores = design @ ahead.transpose(0, 2, 1)
        shares = np.exp(scores - scores.max(axis=2, keepdims=True))
        shares /= shares.sum(axis=2, keepdims=True)
        slope = (shares - target).transpose(0, 2, 1) @ design / n_rows
        before, V = V, ahead - (4.0 / size) * slope
    return np.asarray(V)


def _residuals(
    theta: Floats, data: FitPoints, shape: FitLayout, f: Activation, Q: Floats, share: float
) -> tuple[Floats, Floats, Floats]:
    """Return residuals in lengths (B, n), their Jacobian (B, n, p), and slopes along the lines (B, n).

    A share of the weights' length is added to the slope, so that points where a start is flat do not rule it.
    """
    s, b, U, c, g = _split(theta, shape)
    X, D = data.at.points, data.at.ways
    along = (X @ data.normals.T)[None] + g[:, None] * (X @ data.free.T)[None]  # (B, n, k)
    z = s[:, None] * along + b[:, None]
    values, bends = f.value(z), f.derivative(z)
    weights = np.einsum("nm,bmk->bnk", Q, U)
    ways = (D @ data.normals.T)[None] + g[:, None] * (D @ data.free.T)[None]
    r = (weights * values).sum(axis=2) + c @ Q.T
    active = weights * bends
    slopes = (active * s[:, None] * ways).sum(axis=2)
    length = np.sqrt(slopes**2 + share**2 * (np.sum(weights**2, axis=2) + (c @ Q.T) ** 2) + 1e-300)
    J = np.empty((*r.shape, shape.size))
    k, m = shape.n_units, shape.n_rows
    J[:, :, :k], J[:, :, k : 2 * k] = active * along, active
    J[:, :, 2 * k : (2 + m) * k] = (Q[None, :, :, None] * values[:, :, None, :]).reshape(*r.shape, -1)
    J[:, :, (2 + m) * k : (2 + m) * k + m] = Q
    for place, unit in enumerate(shape.open_units):
        J[:, :, (2 + m) * k + m + place] = active[:, :, unit] * s[:, None, unit] * (X @ data.free[unit])
    return r / length, J / length[:, :, None], slopes


def _scale_rows(theta: Floats, shape: FitLayout) -> tuple[Floats, Floats]:
    """Return residuals and Jacobian of the conditions that fix the scale and, of several classes, what is common."""
    k, m, B = shape.n_units, shape.n_rows, len(theta)
    part = slice(2 * k, (2 + m) * k + m)
    V = theta[:, part]
    rows, J = [0.5 * ((V**2).sum(axis=1) - 1)], [np.zeros((B, shape.size))]
    J[0][:, part] = V
    if m > 1:
        for unit in range(k + 1):
            at = 2 * k + unit + k * np.arange(m) if unit < k else (2 + m) * k + np.arange(m)
            one = np.zeros((B, shape.size))
            one[:, at] = 1.0
            rows.append(theta[:, at].sum(axis=1))
            J.append(one)
    return np.stack(rows, axis=1), np.stack(J, axis=1)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _descend(
    theta: Floats, data: FitPoints, shape: FitLayout, f: Activation, Q: Floats, share: float, prior: float
) -> Floats:
    """Return all starts after damped Gauss-Newton steps, each with its own damping."""
    first, damping = theta.copy(), np.full(len(theta), 1e-2)

    def look(at: Floats) -> tuple[Floats, Floats, Floats]:
        r, J, _ = _residuals(at, data, shape, f, Q, share)
        extra, rows = _scale_rows(at, shape)
        tied = prior * (at - first)
        r = np.concatenate([r, extra, tied], axis=1)
        held = np.broadcast_to(prior * np.eye(shape.size), (len(at), shape.size, shape.size))
        J = np.concatenate([J, rows, held], axis=1)
        loss = (r**2).sum(axis=1)
        return r, J, np.where(np.isfinite(loss), loss, np.inf)

    r, J, loss = look(theta)
    alive = np.isfinite(loss)
    for _ in range(MOST_STEPS):
        H = J.transpose(0, 2, 1) @ J
        diagonal = np.einsum("bpp->bp", H)
        # Marquardt's damping has the parameters' own units; a floor keeps what no row sees in place.
        diagonal += damping[:, None] * (diagonal + 1e-9) + 1e-14
        gradient = (r[:, None] @ J)[:, 0]
        H[~alive], gradient[~alive] = np.eye(shape.size), 0.0
        there = theta - np.linalg.solve(H, gradient[:, :, None])[:, :, 0]
        r2, J2, loss2 = look(there)
        better = loss2 < loss
        theta, r, J = (np.where(better.reshape(-1, *[1] * (new.ndim - 1)), new, old)
                       for new, old in ((there, theta), (r2, r), (J2, J)))  # fmt: skip
        loss = np.where(better, loss2, loss)
        damping = np.clip(np.where(better, damping / 5, damping * 6), 1e-12, 1e8)
    return np.asarray(theta)


def _is_unit(theta: Floats, data: FitPoints, shape: FitLayout, slopes: Floats) -> np.ndarray:
    s, b, _, _, _ = _split(theta, shape)
    inside = ((np.abs(s) > _RANGE[0]) & (np.abs(s) < _RANGE[1])).all(axis=1)
    z = s[:, data.owners] * (data.at.points[data.anchors] * data.normals[data.owners]).sum(axis=1) + b[:, data.owners]
    decides = (np.abs(z) < DECISIONS.highest).all(axis=1)
    return np.asarray(inside & decides & (np.median(np.abs(slopes), axis=1) > DECISIONS.least_slope))


def _unpacked(theta: Floats, data: FitPoints, shape: FitLayout, error: float) -> SmallFit:
    s, b, U, c, g = (part[0] for part in _split(theta[None], shape))
    return SmallFit(s[:, None] * (data.normals + g[:, None] * data.free), b, U, c, error)
