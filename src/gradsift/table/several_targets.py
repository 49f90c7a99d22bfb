"""Several targets with the same hidden units: found in a mixture of the targets, then fitted to all at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

from ..activations import get_activation
from ..arguments import Floats
from ..model import SigmoidCombination
from ..sources import ArraySource
from .finish import Fit
from .fit_table import search
from .problem import MAX_ROWS

_LARGEST_JACOBIAN = 20_000_000  # of the joint Jacobian; beyond it the units stay as the mixture of targets has them
_PASSES = 60


class Joint(NamedTuple):
    """One model per target, all with the same units, and the fit to the mixture of targets that the units come from."""

    models: tuple[SigmoidCombination, ...]
    fit: Fit
    converged: bool


def fit_outputs(
    X: Floats, Y: Floats, weight: Any, n_units: int | str | None, rng: np.random.Generator, **options: Any
) -> Joint:
    """Fit ``Y_m = c_m + sum_l U_lm f(a_l x + b_l)`` to all targets at once; all are given equal importance.

    The units come from the leading principal component of the standardised targets, whose verdict is the verdict. Joint
    least squares then moves units and weights, with all targets in units of their standard deviations. O(n m P) memory
    for P parameters.
    """
    scale = np.maximum(Y.std(axis=0), 1e-300)
    Z = (Y - Y.mean(axis=0)) / scale
    leading = np.linalg.svd(Z[:MAX_ROWS], full_matrices=False)[2][0]
    fit = search(ArraySource(X, Z @ leading, weight), n_units, labels=False, rng=rng, **{**options, "intercept": True})
    rows = np.arange(len(Z)) if len(Z) <= MAX_ROWS else np.sort(rng.choice(len(Z), MAX_ROWS, replace=False))
    root = np.ones(len(rows)) if weight is None else np.sqrt(np.asarray(weight, dtype=np.float64)[rows])
    problem = _Targets(fit.model, X[rows], Z[rows], root, fit.family.offsets)
    start = problem.start()
    converged = True
    if Z[rows].size * len(start) <= _LARGEST_JACOBIAN:
        found = least_squares(problem.residuals, start, problem.jacobian, method="trf", x_scale="jac", max_nfev=_PASSES)
        start, converged = found.x, bool(found.status > 0)
    return Joint(problem.models(start, Y.mean(axis=0), scale), fit, converged)


class _Targets:
    """Residuals and Jacobian of all targets in the flat parameters [A, b, U, c]."""

    def __init__(self, model: SigmoidCombination, X: Floats, Z: Floats, root: Floats, offsets: bool) -> None:
        self.model, self.X, self.Z, self.root, self.offsets = model, X, Z, root, offsets
        self.activation = get_activation(model.activation)
        self.k, self.d, self.m = model.n_units, model.n_features, Z.shape[1]

    def start(self) -> Floats:
        """Return the units of the model with every target's best weights."""
        A = self.model.units * self.model.slopes[:, None]
        features = np.column_stack((self._value(A, self.model.offsets), np.ones(len(self.X)))) * self.root[:, None]
        U = np.linalg.lstsq(features, self.Z * self.root[:, None], rcond=1e-10)[0]  # (k + 1, m)
        return np.concatenate((A.ravel(), self.model.offsets, U.ravel()))

    def residuals(self, flat: Floats) -> Floats:
        A, b, U, c = self._parts(flat)
        return np.asarray(((self._value(A, b) @ U + c - self.Z) * self.root[:, None]).T.ravel())

    def jacobian(self, flat: Floats) -> Floats:
        A, b, U, _ = self._parts(flat)
        f = self.activation
        z = self.X @ A.T + b
        values, slopes = f.value(z) * self.root[:, None], f.derivative(z) * self.root[:, None]
        n, k, d = len(self.X), self.k, self.d
        J = np.zeros((self.m, n, flat.size))
        for target in range(self.m):
            active = slopes * U[:, target]  # (n, k)
            J[target, :, : k * d] = (active[:, :, None] * self.X[:, None, :]).reshape(n, k * d)
            if self.offsets:
                J[target, :, k * d : k * d + k] = active
            first = k * d + k + target
            J[target, :, first : first + k * self.m : self.m] = values
            J[target, :, k * d + k + k * self.m + target] = self.root
        return J.reshape(self.m * n, flat.size)

    def models(self, flat: Floats, shift: Floats, scale: Floats) -> tuple[SigmoidCombination, ...]:
        """Return one model per target, in the user's units."""
        A, b, U, c = self._parts(flat)
        return tuple(
            SigmoidCombination(A, U[:, j] * scale[j], 1.0, b, c[j] * scale[j] + shift[j], self.model.activation)
            for j in range(self.m)
        )

    def _value(self, A: Floats, b: Floats) -> Floats:
        return np.asarray(self.activation.value(self.X @ A.T + b))

    def _parts(self, flat: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        k, d, m = self.k, self.d, self.m
        A, b, rest = flat[: k * d].reshape(k, d), flat[k * d : k * d + k], flat[k * d + k :].reshape(k + 1, m)
        return A, b if self.offsets else np.zeros(k), rest[:k], rest[k]
