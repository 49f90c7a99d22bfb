"""All layers at once: Gauss-Newton on every answer, each weighed by its own rounding error; units too many leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, qr, solve_triangular

from ...activations import Activation
from ...arguments import Floats
from ...fit.design import independent_rows
from ..ledger import EPS
from .descent import descend
from .layer_stack import Layers, Passed, jacobian, pass_through, to_vector, with_vector
from .settings import POLICY

_MOST_WHOLE_STEPS = 40
_CORRECTIONS = 3
_WELL_CONDITIONED = 1e-6  # smallest diagonal entry of the factor, columns of length one
_AT_REST = 0.96  # output of a unit that has only tails
_SETTLED = 1e-3  # relative gain below which another step is not worth it
_ROUNDED = 0.15  # root mean square over rounding errors at which nothing else is left


@dataclass(frozen=True)
class Whole:
    """A network fitted to all answers.

    Attributes
    ----------
    layers : Layers
    chi, worst : float
        Root mean square and largest of the residuals over their rounding errors.
    inverse : (p, p) array
        Inverse of the triangular factor of the weighted Jacobian, columns scaled: covariance = inverse @ inverse.T.
    errors : (p,) array
        Standard errors of the parameters; infinite where the answers do not determine one.
    resting : (k,) array
        Of each unit of the last hidden layer that is at rest at all answers, its sign there; else 0. Their parameters
        are taken to be known to their own size beforehand: else none could be told where these are not determined.
    """

    layers: Layers
    chi: float
    worst: float
    inverse: Floats
    errors: Floats
    resting: Floats

    @property
    def relative_errors(self) -> list[Floats]:
        """Standard errors of each row of each layer over the row's length, layer by layer."""
        found, at = [], 0
        for weights, offsets in self.layers:
            k, n = weights.shape
            W = self.errors[at : at + k * n].reshape(k, n)
            b = self.errors[at + k * n : at + k * (n + 1)]
            at += k * (n + 1)
            size = np.sqrt((weights**2).sum(axis=1) + offsets**2)
            with np.errstate(invalid="ignore"):
                found.append(np.sqrt((W**2).sum(axis=1) + b**2) / size)
        return found

    def undetermined(self, bound: float) -> list[int]:
        """Return the units of the last hidden layer that are at rest, and whose parameters are not known within a
        relative error of `bound`: the answers show little more than one combination of them."""
        weights = np.abs(self.layers[-1][0][0])
        own = self.errors[-len(weights) - 1 : -1] / (weights + 1e-300)
        open_ = np.maximum(self.relative_errors[-2], own) > bound
        return [int(unit) for unit in np.flatnonzero((self.resting != 0) & open_)]

    def errors_beside(self, aside: list[int]) -> list[Floats]:
        """Return `relative_errors`, but for these units of the last hidden layer, whose errors are given as 0: what
        they add to the output counts as a part of its constant."""
        found, weights, constant = self.relative_errors, self.layers[-1][0][0], float(self.layers[-1][1][0])
        if not aside or not np.isfinite(self.inverse).all():
            return found
        found[-2][aside] = 0.0
        of_weights = self.inverse[-len(weights) - 1 : -1]
        together = self.inverse[-1] + self.resting[aside] @ of_weights[aside]
        kept = np.delete(np.arange(len(weights)), aside)
        size = np.sqrt((weights[kept] ** 2).sum() + (constant + self.resting[aside] @ weights[aside]) ** 2)
        found[-1] = np.array([np.sqrt((of_weights[kept] ** 2).sum() + (together**2).sum()) / size])
        return found


def roundings(passed: Passed, layers: Layers, eps: float = EPS) -> Floats:
    """Return the size of the rounding error of each answer: of the sum, and of every argument on the way, (n,).

    What units at rest add counts as a part of the constant: of their weights the answers say little, and larger ones
    would excuse larger misses.
    """
    v, c, resting = layers[-1][0][0], float(layers[-1][1][0]), _at_rest(passed)
    terms = abs(c + float(resting @ v)) + float(np.abs(v[resting == 0]).sum())
    total = np.full(len(passed.values), 2 * terms)
    for inputs, slopes, (weights, offsets) in zip(passed.inputs, passed.slopes, layers):
        sizes = np.linalg.norm(inputs, axis=1)[:, None] * np.linalg.norm(weights, axis=1) + np.abs(offsets) + 3
        total = total + (np.abs(slopes) * sizes).sum(axis=1)
    return np.asarray(eps * total)


class _Factor(NamedTuple):
    """The triangular factor of a Jacobian whose columns were divided by `scale`; None where there is none."""

    R: Floats
    scale: Floats
    J: Floats

    def step(self, left: Floats) -> Floats:
        """Return the least squares solution of J step = left: semi-normal equations, corrected twice."""
        found = np.zeros(self.J.shape[1])
        for _ in range(_CORRECTIONS):
            right = self.J.T @ (left - self.J @ found)
            half = solve_triangular(self.R, right, trans="T", check_finite=False)
            found += solve_triangular(self.R, half, check_finite=False)
        return found / self.scale


def fit_whole(layers: Layers, X: Floats, y: Floats, g: Activation, eps: float = EPS) -> Whole:
    """Fit all parameters to all answers from a start that is nearly right; O(n p^2) flops a step."""
    damping, settled = 0.0, False
    passed = pass_through(layers, X, g)
    weights = 1 / roundings(passed, layers, eps)
    left = (passed.values - y) * weights
    loss = float(left @ left)
    factor = factored(passed, weights, damping)
    for _ in range(_MOST_WHOLE_STEPS):
        trial = _moved(layers, -factor.step(left), _at_rest(passed))
        seen = pass_through(trial, X, g)
        new_weights = 1 / roundings(seen, trial, eps)
        with np.errstate(over="ignore", invalid="ignore"):
            new = (seen.values - y) * new_weights
            value = float(new @ new)
        if not (np.isfinite(value) and value < loss):
            settled = value < (1 + _SETTLED) * loss or loss < len(left)  # below rounding only chance decides
            if settled or damping > 1:
                break
            damping = max(10 * damping, 1e-6)
        else:
            settled = value > (1 - _SETTLED) * loss or value < _ROUNDED**2 * len(new)
            layers, passed, weights, left, loss, damping = trial, seen, new_weights, new, value, damping / 10
            if settled:
                break
        factor = factored(passed, weights, damping)
    if damping > 0 or not settled:
        factor = factored(passed, weights, 0.0)
    return _judged(layers, factor, left, _at_rest(passed))


def _at_rest(passed: Passed) -> Floats:
    """Return for every unit of the last hidden layer the sign that it has at all rows, far from zero; else 0, (k,)."""
    active = passed.inputs[-1]
    signs = np.sign(active[0])
    return np.asarray(np.where((active * signs > _AT_REST).all(axis=0), signs, 0.0))


def _moved(layers: Layers, step: Floats, resting: Floats) -> Layers:
    """Return the layers after a step, bent where a unit is at rest, so that it changes what shows of such a unit as far
    as it would change in the tangent: the output that it adds, and the logarithm of its tail v exp(-2 |b|)."""
    moved = with_vector(layers, to_vector(layers) + step)
    if not resting.any():
        return moved
    change = with_vector(layers, step)
    v, more = layers[-1][0][0], np.where(resting != 0, change[-1][0][0], 0.0)
    rate = np.divide(more, v, out=np.zeros_like(v), where=v != 0)
    grown = np.clip(rate, -1, 1)  # of log |v|
    lost = more - v * np.expm1(grown)
    W, b = moved[-2]
    V, c = moved[-1]
    return [*moved[:-2], (W, b + 0.5 * resting * (grown - rate)), (V - lost, c + resting @ lost)]


def follow_valley(layers: Layers, X: Floats, y: Floats, g: Activation, eps: float = EPS) -> Layers:
    """Go down to the answers where Gauss-Newton stopped on the way: a unit at rest nearly everywhere shows one
    combination of its output weight and its offset, and the others only along a bent valley."""
    weights = 1 / roundings(pass_through(layers, X, g), layers, eps)

    def problem(theta: Floats) -> tuple[Floats, Callable[[], Floats]]:
        passed = pass_through(with_vector(layers, theta), X, g)
        return (passed.values - y) * weights, lambda: jacobian(passed) * weights[:, None]

    found = descend(problem, to_vector(layers), POLICY.valley_steps, 1.0, POLICY.valley_patience)
    return with_vector(layers, found.parameters)


def with_faint_raised(layers: Layers, X: Floats, y: Floats, g: Activation, factor: float) -> Layers | None:
    """Return the layers with larger output weights of faint units, nearer to rest in the same tails; None if none is.

    A faint unit was fitted to the tail of one at rest, which tells nothing of its weight; one that is too small is a
    local minimum, and one that is too large is not.
    """
    active = pass_through(layers, X, g).inputs[-1]
    *below, (W, b), (V, c) = layers
    faint = np.abs(V[0]) * np.ptp(active, axis=0) < POLICY.faint * y.std()
    if not faint.any():
        return None
    signs = np.where(faint, np.sign(np.median(active, axis=0)), 0.0)
    larger = np.where(faint, factor, 1.0)
    return [*below, (W, b + 0.5 * signs * np.log(larger)), (V * larger, c + (V * (1 - larger)) @ signs)]


def factored(passed: Passed, weights: Floats, damping: float) -> _Factor:
    """Factor the weighted Jacobian, damped where damping is positive: by Cholesky where it is well conditioned, which
    takes a third of the time, else by QR."""
    J = jacobian(passed) * weights[:, None]
    scale = np.linalg.norm(J, axis=0)
    scale[scale == 0] = 1.0
    J /= scale
    p = J.shape[1]
    A = J.T @ J
    A[np.diag_indices(p)] += damping
    try:
        R = np.asarray(cholesky(A, overwrite_a=True, check_finite=False))
    except LinAlgError:
        R = np.zeros((p, p))
    if np.abs(np.diag(R)).min() < _WELL_CONDITIONED:
        damped = np.concatenate([J, np.sqrt(damping) * np.eye(p)]) if damping > 0 else J
        R = np.asarray(qr(damped, mode="r", check_finite=False)[0][:p])
    weak = np.abs(np.diag(R)) < 1e-14
    R[weak, weak] = np.inf  # an undetermined combination stays where it is
    return _Factor(R, scale, J)


def _judged(layers: Layers, factor: _Factor, left: Floats, resting: Floats) -> Whole:
    """Return the fit with its standard errors; the factor may be that of the last step before."""
    R, scale, turned = factor.R, factor.scale, None
    if resting.any():
        turned = _turned(layers, resting)
        R, scale = _with_sizes_known(factor.J * scale @ turned, layers, resting)
    inverse, errors = np.full(R.shape, np.inf), np.full(len(scale), np.inf)
    if not (np.abs(np.diag(R)) < 1e-13).any() and np.isfinite(R).all():
        inverse = solve_triangular(R, np.eye(len(R)), check_finite=False) / scale[:, None]
        inverse = inverse if turned is None else turned @ inverse
        errors = np.sqrt((inverse**2).sum(axis=1))
    return Whole(layers, float(np.sqrt(np.mean(left**2))), float(np.abs(left).max()), inverse, errors, resting)


def _turned(layers: Layers, resting: Floats) -> Floats:
    """Return the parameters by other ones (p, p): where the output weight v of a unit at rest changes, its offset and
    the constant change so that v exp(-2 |b|) and what it adds to the output stay as they are."""
    v = layers[-1][0][0]
    p, k = sum(W.size + b.size for W, b in layers), len(v)
    found = np.eye(p)
    for unit in np.flatnonzero((resting != 0) & (v != 0)):
        at = p - 1 - k + unit
        found[p - 1, at] = -resting[unit]
        found[p - 1 - 2 * k + unit, at] = 0.5 * resting[unit] / v[unit]
    return found


def _with_sizes_known(J: Floats, layers: Layers, resting: Floats) -> tuple[Floats, Floats]:
    """Return the triangular factor of J with scaled columns, and a row more for each parameter of units at rest, which
    is known to the size of its unit; and the scale."""
    (W, b), (V, _) = layers[-2:]
    known = np.zeros(J.shape[1])
    still = resting != 0
    of_unit = still / (np.sqrt((W**2).sum(axis=1) + b**2) + 1e-300)
    above = V.shape[1] + 1
    known[-above:-1] = still / (np.abs(V[0]) + 1e-300)
    known[-above - len(b) : -above] = of_unit
    known[-above - len(b) - W.size : -above - len(b)] = np.repeat(of_unit, W.shape[1])
    J = np.concatenate([J, np.diag(known)[known > 0]])
    scale = np.linalg.norm(J, axis=0)
    scale[scale == 0] = 1.0
    return np.asarray(qr(J / scale, mode="r", check_finite=False)[0][: J.shape[1]]), scale


def standard_errors_at(fit: Whole, X: Floats, g: Activation) -> Floats:
    """Return the standard errors of the predictions at the rows of X, (n,), from the rounding of the answers."""
    if not np.isfinite(fit.inverse).all():
        return np.full(len(X), np.inf)
    return np.asarray(np.linalg.norm(jacobian(pass_through(fit.layers, X, g)) @ fit.inverse, axis=1))


def most_telling(fit: Whole, X: Floats, n: int, g: Activation, eps: float) -> Floats:
    """Return the n rows of X that would tell most about what the answers so far leave open, each beside the others.

    Rows of the weighted Jacobian in units of the parameters' errors, the longest first, less what is along those taken.
    """
    if not np.isfinite(fit.inverse).all() or n >= len(X):
        return X[:n]
    passed = pass_through(fit.layers, X, g)
    rows = (jacobian(passed) / roundings(passed, fit.layers, eps)[:, None]) @ fit.inverse
    return np.asarray(X[independent_rows(rows, n)])


class _Merger(NamedTuple):
    """A unit of a layer is replaced by an affine function of another; `left` is what that leaves of it above."""

    left: float
    layer: int
    unit: int
    other: int
    slope: float
    constant: float


def leaner(fit: Whole, X: Floats, y: Floats, g: Activation, eps: float, limit: float) -> Whole | None:
    """Return a network with one unit fewer above the first layer that meets all answers within `limit` roundings, and
    as well as before: a faint unit is not one too many.

    None if there is none among those that change least. At most `POLICY.mergers` fits.
    """
    for merger in sorted(_mergers(fit.layers, X, g))[: POLICY.mergers]:
        fewer = fit_whole(_merged(fit.layers, merger), X, y, g, eps)
        if fewer.worst < limit and fewer.chi < POLICY.as_well * max(fit.chi, POLICY.rounding):
            return fewer
    return None


def _mergers(layers: Layers, X: Floats, g: Activation) -> list[_Merger]:
    """Return for each unit above the first layer the other that follows it best."""
    passed, found = pass_through(layers, X, g), []
    for number in range(1, len(layers) - 1):
        active, above = passed.inputs[number + 1], layers[number + 1][0]
        means = active.mean(axis=0)
        products = (active - means).T @ (active - means) / len(active)
        sizes = np.diag(products) + 1e-300
        for unit in range(len(means) if len(means) > 1 else 0):
            shares = np.where(np.arange(len(means)) == unit, 0.0, products[unit] ** 2 / sizes)
            other = int(np.argmax(shares))
            slope = float(products[unit, other] / sizes[other]) if other != unit else 0.0
            left = np.sqrt(max(0.0, sizes[unit] - shares[other])) * np.linalg.norm(above[:, unit])
            found.append(_Merger(float(left), number, unit, other, slope, float(means[unit] - slope * means[other])))
    return found


def _merged(layers: Layers, merger: _Merger) -> Layers:
    _, number, unit, other, slope, constant = merger
    (W, b), (V, c) = layers[number], layers[number + 1]
    above = V.copy()
    above[:, other] += slope * V[:, unit]
    kept = np.delete(np.arange(len(b)), unit)
    after = (above[:, kept], c + constant * V[:, unit])
    return [*layers[:number], (W[kept], b[kept]), after, *layers[number + 2 :]]
