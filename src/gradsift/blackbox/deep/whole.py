"""All layers at once: Gauss-Newton on every answer, each weighed by its own rounding error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, qr, solve_triangular

from ...activations import Activation
from ...checking import Floats
from ..asking import EPS
from .descent import descend
from .policy import POLICY
from .tower import Layers, Passed, jacobian, pass_through, to_vector, with_vector

__all__ = ["Whole", "factored", "fit_whole", "follow_valley", "most_telling", "roundings", "standard_errors_at"]

_MOST_WHOLE_STEPS = 40
_CORRECTIONS = 3
_WELL_CONDITIONED = 1e-6  # smallest diagonal entry of the factor, columns of length one
_SETTLED = 1e-3  # relative gain below which another step is not worth it


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
    """

    layers: Layers
    chi: float
    worst: float
    inverse: Floats
    errors: Floats

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


def roundings(passed: Passed, layers: Layers, eps: float = EPS) -> Floats:
    """Return the size of the rounding error of each answer: of the sum, and of every argument on the way, (n,)."""
    v, c = layers[-1]
    total = np.full(len(passed.values), 2 * (abs(float(c[0])) + float(np.abs(v).sum())))
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
        trial = with_vector(layers, to_vector(layers) - factor.step(left))
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
            settled = value > (1 - _SETTLED) * loss
            layers, passed, weights, left, loss, damping = trial, seen, new_weights, new, value, damping / 10
            if settled:
                break
        factor = factored(passed, weights, damping)
    if damping > 0 or not settled:
        factor = factored(passed, weights, 0.0)
    return _judged(layers, factor, left)


def follow_valley(layers: Layers, X: Floats, y: Floats, g: Activation, eps: float = EPS) -> Layers:
    """Go down to the answers where Gauss-Newton stopped on the way: a unit at rest nearly everywhere shows one
    combination of its output weight and its offset, and the others only along a bent valley."""
    weights = 1 / roundings(pass_through(layers, X, g), layers, eps)

    def problem(theta: Floats) -> tuple[Floats, Callable[[], Floats]]:
        passed = pass_through(with_vector(layers, theta), X, g)
        return (passed.values - y) * weights, lambda: jacobian(passed) * weights[:, None]

    found = descend(problem, to_vector(layers), POLICY.valley_steps, 1.0, POLICY.valley_patience)
    return with_vector(layers, found.parameters)


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


def _judged(layers: Layers, factor: _Factor, left: Floats) -> Whole:
    """Return the fit with its standard errors; the factor may be that of the last step before."""
    R, scale = factor.R, factor.scale
    inverse, errors = np.full(R.shape, np.inf), np.full(len(scale), np.inf)
    if not (np.abs(np.diag(R)) < 1e-13).any() and np.isfinite(R).all():
        inverse = solve_triangular(R, np.eye(len(R)), check_finite=False) / scale[:, None]
        errors = np.sqrt((inverse**2).sum(axis=1))
    return Whole(layers, float(np.sqrt(np.mean(left**2))), float(np.abs(left).max()), inverse, errors)


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
    order = qr(rows.T, mode="r", pivoting=True, check_finite=False)[1]
    return np.asarray(X[order[:n]])
