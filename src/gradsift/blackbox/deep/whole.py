"""All layers at once: Gauss-Newton on every answer, each weighed by its own rounding error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular

from ...activations import Activation
from ...checking import Floats
from ..asking import EPS
from .tower import Layers, Passed, jacobian, pass_through, to_vector, with_vector

__all__ = ["Whole", "fit_whole", "roundings", "standard_errors_at"]

_MOST_WHOLE_STEPS = 12
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


def fit_whole(layers: Layers, X: Floats, y: Floats, g: Activation, eps: float = EPS) -> Whole:
    """Fit all parameters to all answers from a start that is nearly right; O(n p^2) flops a step."""
    damping = 0.0
    passed = pass_through(layers, X, g)
    weights = 1 / roundings(passed, layers, eps)
    left = (passed.values - y) * weights
    loss = float(left @ left)
    for _ in range(_MOST_WHOLE_STEPS):
        J = jacobian(passed) * weights[:, None]
        scale = np.linalg.norm(J, axis=0)
        scale[scale == 0] = 1.0
        R, turned = _factor(J / scale, left, damping)
        step = solve_triangular(R, turned, check_finite=False) / scale
        trial = with_vector(layers, to_vector(layers) - step)
        seen = pass_through(trial, X, g)
        new_weights = 1 / roundings(seen, trial, eps)
        with np.errstate(over="ignore", invalid="ignore"):
            new = (seen.values - y) * new_weights
            value = float(new @ new)
        if not (np.isfinite(value) and value < loss):
            if damping > 1:
                break
            damping = max(10 * damping, 1e-6)
            continue
        settled = value > (1 - _SETTLED) * loss
        layers, passed, weights, left, loss, damping = trial, seen, new_weights, new, value, damping / 10
        if settled:
            break
    return _judged(layers, passed, weights, left)


def _factor(J: Floats, left: Floats, damping: float) -> tuple[Floats, Floats]:
    """Return R of J = QR and Q' left, of the damped system where damping is positive; Q itself is never formed."""
    p = J.shape[1]
    both = np.concatenate([J, left[:, None]], axis=1)
    if damping > 0:
        both = np.concatenate([both, np.sqrt(damping) * np.eye(p, p + 1)])
    whole = np.asarray(qr(both, mode="r", check_finite=False, overwrite_a=True)[0])
    R, turned = whole[:p, :p], whole[:p, p]
    weak = np.abs(np.diag(R)) < 1e-14
    R[weak, weak] = np.inf  # an undetermined combination stays where it is
    return R, turned


def _judged(layers: Layers, passed: Passed, weights: Floats, left: Floats) -> Whole:
    J = jacobian(passed) * weights[:, None]
    scale = np.linalg.norm(J, axis=0)
    dead = scale == 0
    scale[dead] = 1.0
    R = qr(J / scale, mode="r", check_finite=False, overwrite_a=True)[0][: J.shape[1]]
    weak = np.abs(np.diag(R)) < 1e-13
    inverse = np.full(R.shape, np.inf)
    errors = np.full(len(scale), np.inf)
    if not weak.any():
        inverse = solve_triangular(R, np.eye(len(R)), check_finite=False) / scale[:, None]
        errors = np.sqrt((inverse**2).sum(axis=1))
    return Whole(layers, float(np.sqrt(np.mean(left**2))), float(np.abs(left).max()), inverse, errors)


def standard_errors_at(fit: Whole, X: Floats, g: Activation) -> Floats:
    """Return the standard errors of the predictions at the rows of X, (n,), from the rounding of the answers."""
    if not np.isfinite(fit.inverse).all():
        return np.full(len(X), np.inf)
    return np.asarray(np.linalg.norm(jacobian(pass_through(fit.layers, X, g)) @ fit.inverse, axis=1))
