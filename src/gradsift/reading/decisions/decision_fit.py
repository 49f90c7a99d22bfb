"""All parameters of one layer from boundary points, to the last digit; and which further points tell most."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...certificate import BOUND, DECIDED
from ...fit.design import best_rows
from ...fit.last_digits import fit_to_rounding
from ...tuned import FACTOR, ROUNDINGS, SHARE
from ..ledger import EPS
from .boundary import Classes, Crossings, Decider, joined
from .settings import DECISIONS, DecisionPolicy
from .small_fit import SmallFit, pair_rows

_FLOORS = (3e-2, 1e-3, 1e-5, 0.0)  # added to the errors of all points, stage by stage: a start is not yet exact
_LAST_WIDTH = ROUNDINGS * EPS  # of the narrowest crossings, and of what fixes the scale
_POOL_RADII = (1.0, 1.0, 4.0, 30.0)  # of the ends of predicted lines, in usual inputs


class DecisionLayer(NamedTuple):
    """One hidden layer: rows A (k, d), offsets b (k,), output weights U (m, k), constants c (m,), linear term (m, d).

    The linear term is None where there is none to fit.
    """

    A: Floats
    b: Floats
    U: Floats
    c: Floats
    linear: Floats | None = None

    @property
    def parts(self) -> list[Floats]:
        """All arrays that are fitted."""
        return [part for part in self if part is not None]

    @property
    def vector(self) -> Floats:
        """All parameters, (p,)."""
        return np.concatenate([part.ravel() for part in self.parts])

    def with_vector(self, theta: Floats) -> DecisionLayer:
        """Return the layer with these parameters."""
        sizes = np.cumsum([part.size for part in self.parts])[:-1]
        parts = [new.reshape(old.shape) for new, old in zip(np.split(theta, sizes), self.parts)]
        return DecisionLayer(*parts)

    def outputs(self, X: Floats, f: Activation) -> Floats:
        """Return the outputs at the rows of X, (n, m)."""
        values = f.value(X @ self.A.T + self.b) @ self.U.T + self.c
        return np.asarray(values if self.linear is None else values + X @ self.linear.T)

    def classes(self, X: Floats, f: Activation) -> Classes:
        """Return the number of the class at the rows of X, (n,)."""
        Z = self.outputs(X, f)
        return np.asarray((Z[:, 0] > 0).astype(np.intp) if Z.shape[1] == 1 else Z.argmax(axis=1))


class FittedLayer(NamedTuple):
    """A layer, the residuals of all crossings in units of their errors, and the root of the covariance."""

    layer: DecisionLayer
    residuals: Floats
    root: Floats

    @property
    def errors(self) -> dict[str, Floats]:
        """Standard errors of directions (angles), slopes (relative), offsets, weights and constants, by unit."""
        A, _, U, c, linear = self.layer
        k, d = A.shape
        lengths = np.linalg.norm(A, axis=1)
        root = self.root
        if not np.isfinite(root).all():
            return {name: np.full(max(k, 1), np.inf) for name in ("units", "slopes", "offsets", "weights")}
        rows = root[: k * d].reshape(k, d, root.shape[1]) / lengths[:, None, None]
        along = np.einsum("kd,kdp->kp", A / lengths[:, None], rows)
        across = rows - (A / lengths[:, None])[:, :, None] * along[:, None]
        sds = np.sqrt((root**2).sum(axis=1))
        parts = np.split(sds[k * d :], np.cumsum([k, U.size, c.size]))
        told = {
            "units": np.sqrt((across**2).sum(axis=(1, 2))), "slopes": np.sqrt((along**2).sum(axis=1)),
            "offsets": parts[0], "weights": parts[1].reshape(U.shape).max(axis=0, initial=0.0), "intercept": parts[2],
        }  # fmt: skip
        return told if linear is None else {**told, "linear": parts[3]}

    @property
    def bounds(self) -> Floats:
        """Largest error bound of each unit's parameters, (k,), where all output weights together have length one."""
        told = self.errors
        return np.asarray(BOUND * np.max([told[name] for name in ("units", "slopes", "offsets", "weights")], axis=0))

    @property
    def bound(self) -> float:
        """Largest error bound of any parameter."""
        return BOUND * max(float(np.max(errors, initial=0.0)) for errors in self.errors.values())

    @property
    def worst(self) -> float:
        """Largest residual over its error."""
        return float(np.abs(self.residuals).max(initial=0.0))


class Decisions(NamedTuple):
    """A layer's boundary at given lines: values of the outputs' differences (n,), slopes along the lines (n,), and
    derivatives in all parameters (n, p)."""

    values: Floats
    slopes: Floats
    rows: Floats


def differences(layer: DecisionLayer, f: Activation, X: Floats, ways: Floats, Q: Floats) -> Decisions:
    """Return what pairs of classes differ by at the rows of X, for the combinations Q (n, m) of outputs."""
    A, b, U, c, linear = layer
    z = X @ A.T + b
    values, weights = f.value(z), Q @ U
    active = weights * f.derivative(z)
    r = (weights * values).sum(axis=1) + Q @ c
    slopes = (active * (ways @ A.T)).sum(axis=1)
    n = len(X)
    # d r / d A = q u f' x, d r / d b = q u f', d r / d U = q f, d r / d c = q.
    blocks = [(active[:, :, None] * X[:, None, :]).reshape(n, A.size), active,
              (Q[:, :, None] * values[:, None, :]).reshape(n, U.size), Q]  # fmt: skip
    if linear is not None:
        r = r + np.einsum("nm,md,nd->n", Q, linear, X)
        slopes = slopes + np.einsum("nm,md,nd->n", Q, linear, ways)
        blocks.append((Q[:, :, None] * X[:, None, :]).reshape(n, linear.size))
    return Decisions(r, slopes, np.concatenate(blocks, axis=1))


def _fixed_scale(layer: DecisionLayer, unit_rows: bool) -> Callable[[Floats], tuple[Floats, Floats]]:
    """Return residuals and rows of what fixes the scale, what is common to all classes, and lengths of unit rows."""
    k, d = layer.A.shape
    m = len(layer.c)
    sizes = np.cumsum([0] + [part.size for part in layer.parts])
    outer = slice(sizes[2], sizes[4]) if k else slice(sizes[4], None)  # a hyperplane has only its slope

    def conditions(theta: Floats) -> tuple[Floats, Floats]:
        p = len(theta)
        first = np.zeros(p)
        first[outer] = theta[outer]
        values, rows = [0.5 * float(theta[outer] @ theta[outer] - 1)], [first]
        if m > 1:  # each column of output weights, constants and linear terms adds up to zero
            for start, width in ((sizes[2], k), (sizes[3], 1), *([(sizes[4], d)] if layer.linear is not None else [])):
                for j in range(width):
                    row = np.zeros(p)
                    row[start + j + width * np.arange(m)] = 1.0
                    values.append(float(row @ theta))
                    rows.append(row)
        for unit in range(k if unit_rows else 0):
            row, at = np.zeros(p), slice(unit * d, (unit + 1) * d)
            row[at] = theta[at]
            values.append(0.5 * float(theta[at] @ theta[at] - 1))
            rows.append(row)
        return np.array(values) / _LAST_WIDTH, np.array(rows) / _LAST_WIDTH

    return conditions


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def joint_fit(
    layer: DecisionLayer, at: Crossings, f: Activation, *, unit_rows: bool = False, floors: tuple[float, ...] = _FLOORS
) -> FittedLayer:
    """Fit all parameters to all crossings, from a start that is nearly right."""
    Q, errors = pair_rows(at.below, at.above, len(layer.c)), at.errors
    fixed = _fixed_scale(layer, unit_rows)
    theta = layer.vector
    n = len(at)
    for floor in floors:
        sizes = np.hypot(errors, floor)

        def problem(theta: Floats, sizes: Floats = sizes) -> tuple[Floats, Callable[[], Floats]]:
            told = differences(layer.with_vector(theta), f, at.points, at.ways, Q)
            # A crossing is known along its line: the difference over its slope there, in units of the point's error.
            weights = 1 / (np.maximum(told.slopes, 1e-12) * sizes)
            extra, rows = fixed(theta)
            return (
                np.concatenate([told.values * weights, extra]),
                lambda: np.concatenate([told.rows * weights[:, None], rows]),
            )

        fitted = fit_to_rounding(problem, theta)
        theta = fitted.theta
    return FittedLayer(layer.with_vector(theta), fitted.residuals[:n], fitted.root)


def linear_layer(at: Crossings, A: Floats, b: Floats, m: int) -> DecisionLayer:
    """Return the m outputs, with a linear term, of relu units A (k, d), b (k,) that explain crossings best."""
    k, d = A.shape
    Q = pair_rows(at.below, at.above, m)
    z = at.points @ A.T + b
    features = np.concatenate([at.points, np.ones((len(at), 1)), np.maximum(z, 0.0)], axis=1)
    slopes = np.concatenate([at.ways, np.zeros((len(at), 1)), (z > 0) * (at.ways @ A.T)], axis=1)
    # Each crossing is a linear equation q (g x + c + U relu(A x + b)) = 0. All are solved by zero, so that the sum of
    # the slopes, all of which are positive, is set to their number.
    values, rises = ((Q[:, :, None] * part[:, None]).reshape(len(at), -1) for part in (features, slopes))
    values = values / np.linalg.norm(features, axis=1, keepdims=True)
    total = rises.sum(axis=0, keepdims=True)
    common = np.tile(np.eye(d + 1 + k), m) if m > 1 else values[:0]  # what all classes have in common is none
    design = np.concatenate([values, common, total])
    left, sizes, vectors = np.linalg.svd(design, full_matrices=True)
    known = sizes > np.sqrt(np.finfo(np.float64).eps) * sizes[0]
    found = len(at) * (left[-1, : len(sizes)][known] / sizes[known]) @ vectors[: len(sizes)][known]
    null = np.concatenate([vectors[: len(sizes)][~known], vectors[len(sizes) :]])
    found = found.reshape(m, d + 1 + k)
    if len(null) and 0 < k <= d:
        found = _plain(found, null.reshape(-1, m, d + 1 + k), A)
    size = 1.0 if k else float(np.linalg.norm(found[:, :d]))  # a hyperplane has a normal of length one
    found = found / size
    return DecisionLayer(A, b, found[:, d + 1 :], found[:, d], found[:, :d])


def _plain(found: Floats, null: Floats, A: Floats) -> Floats:
    """Return outputs (m, d + 1 + k), to which null vectors (r, m, d + 1 + k) may be added, without a linear term.

    Where a class lies on one side of a unit, crossings do not tell its weight from a linear term.
    """
    d = A.shape[1]
    parts = np.concatenate([found[None], null])
    g, U = parts[:, :, :d], parts[:, :, d + 1 :]
    # With g = h A a unit needs no linear term if h = 0, and turned round, as relu(z) = z + relu(-z), if h = -U.
    h = g @ np.linalg.pinv(A)
    conditions = (g - h @ A).reshape(len(parts), -1)
    for unit in range(len(A)):
        ways = [np.concatenate([conditions, part[:, :, unit]], axis=1) for part in (h, h + U)]
        shares = [np.linalg.lstsq(way[1:].T, -way[0], rcond=None)[0] for way in ways]
        left = [np.linalg.norm(way[0] + share @ way[1:]) for way, share in zip(ways, shares)]
        best = int(np.argmin(left))
        conditions, share = ways[best], shares[best]
    return np.asarray(found + np.tensordot(share, null, 1))


class Foretold(NamedTuple):
    """Lines with the place at which a layer foretells a crossing, and its standard error there."""

    points: Floats
    ways: Floats
    below: Classes
    above: Classes
    errors: Floats
    rows: Floats

    def take(self, chosen: object) -> Foretold:
        """Return some of them."""
        return Foretold(*(part[chosen] for part in self))  # type: ignore[call-overload]


def foretold_crossings(
    fit: FittedLayer,
    f: Activation,
    n: int,
    rng: np.random.Generator,
    scale: float = 1.0,
    radii: tuple[float, ...] = _POOL_RADII,
) -> Foretold:
    """Return up to n crossings between random inputs that a layer decides otherwise."""
    layer, d = fit.layer, fit.layer.A.shape[1]
    size = scale * np.asarray(radii)[np.arange(2 * n) % len(radii)][:, None]
    X = size * rng.standard_normal((2 * n, d))
    classes = layer.classes(X, f)
    # Each input is paired with a random one of another class, as far out: lines are as many where one class is rare.
    others = (classes[:, None] != classes) & (size == size.T)
    first = np.flatnonzero(others.any(axis=1))[:n]
    second = (others * rng.random(others.shape))[first].argmax(axis=1) if len(first) else first
    ways = X[second] - X[first]
    lengths = np.linalg.norm(ways, axis=1)
    ways = ways / lengths[:, None]
    low, high, above = np.zeros(len(ways)), lengths.copy(), classes[second].copy()
    for _ in range(60):  # halving costs nothing here, and stays with the first change of the class
        middle = 0.5 * (low + high)
        seen = layer.classes(X[first] + middle[:, None] * ways, f)
        lower = seen == classes[first]
        low, high, above = np.where(lower, middle, low), np.where(lower, high, middle), np.where(lower, above, seen)
    points = X[first] + high[:, None] * ways
    told = differences(layer, f, points, ways, pair_rows(classes[first], above, len(layer.c)))
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = told.rows / told.slopes[:, None]
        errors = np.linalg.norm(rows @ fit.root, axis=1)
    found = Foretold(points, ways, classes[first], above, errors, rows)
    return found.take(np.isfinite(errors) & (errors < DECISIONS.loose) & (told.slopes > 0))


def sharpened(
    fit: FittedLayer, at: Crossings, f: Activation, decider: Decider, policy: DecisionPolicy, accuracy: float,
    rng: np.random.Generator, *, unit_rows: bool = False, scale: float = 1.0,
) -> tuple[FittedLayer, Crossings]:  # fmt: skip
    """Ask where predictions tell most, and fit again, until all bounds suffice or the fit fails."""
    decider.step = "sharpening"
    k = len(fit.layer.A)
    for number in range(2 * policy.rounds):
        spare = len(at) - len(fit.root) - k
        enough = fit.bound < SHARE * accuracy and spare >= DECIDED.spare_answers
        if fit.worst > BOUND or not np.isfinite(fit.root).all() or enough:
            break
        width = max(accuracy * FACTOR ** -(number + 2), _LAST_WIDTH)
        pool = foretold_crossings(fit, f, policy.pool, rng, scale)
        if not len(pool.points):
            break
        p = len(fit.root)
        weights = 1 / np.maximum(accuracy / BOUND, 1e-300) * np.ones(p)
        weights[: fit.layer.A.size] /= np.repeat(np.linalg.norm(fit.layer.A, axis=1), fit.layer.A.shape[1])
        sizes = width / np.sqrt(3.0)
        chosen = best_rows(pool.rows / sizes, fit.root, min(2 * k + 8, len(pool.points)), np.arange(p), weights)
        best = pool.take(chosen)
        found, _ = decider.cross(best.points, best.ways, best.below, best.above, BOUND * best.errors + width, width)
        at = joined([at, found])
        fit = joint_fit(fit.layer, at, f, unit_rows=unit_rows, floors=(0.0,))
    return fit, at


def layer_of(start: SmallFit) -> DecisionLayer:
    """Return a layer without a linear term, its output weights of length one."""
    size = np.sqrt(float((start.U**2).sum() + (start.c**2).sum()))
    return DecisionLayer(start.A, start.b, start.U / size, start.c / size)
