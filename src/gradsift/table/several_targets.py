"""Several targets with the same hidden units: found in a mixture of the targets, then fitted to all at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

from ..activations import get_activation
from ..arguments import Floats
from ..fit import Family, Parameters, from_model, layer_jacobian, predict
from ..model import SigmoidCombination
from ..runtime import MAX_ROWS
from ..sources import ArraySource
from ..sources.arrays import MOST_DENSE
from .fit_table import search
from .table_certificate import Fit

_LARGEST_JACOBIAN = MOST_DENSE  # numbers; beyond, the units stay as the mixture of targets has them


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
    problem = _Targets(from_model(fit.model), fit.model.activation, X[rows], Z[rows], root, fit.family.offsets)
    start = problem.start()
    converged = True
    if Z[rows].size * len(start) <= _LARGEST_JACOBIAN:
        found = least_squares(problem.residuals, start, problem.jacobian, method="trf", x_scale="jac")
        start, converged = found.x, bool(found.status > 0)
    shift = Y.mean(axis=0)
    thetas = [
        theta._replace(u=theta.u * scale[j], c=theta.c * scale[j] + shift[j])
        for j, theta in enumerate(problem.thetas(start))
    ]
    return Joint(tuple(theta.to_model(fit.model.activation) for theta in thetas), fit, converged)


class _Targets:
    """Residuals and Jacobian of all targets in the flat parameters: [A, b?], and then [weights, intercept] of each."""

    def __init__(self, units: Parameters, activation: str, X: Floats, Z: Floats, root: Floats, offsets: bool) -> None:
        self.units, self.g, self.X, self.Z, self.root = units, get_activation(activation), X, Z, root
        self.layout = Family.of(activation, offsets=offsets, intercept=True).layout(*units.A.shape)
        places = np.arange(self.layout.size)
        self.shared = np.append(places[self.layout.units], places[self.layout.b])
        self.own = np.setdiff1d(places, self.shared)

    def start(self) -> Floats:
        """Return the units of the mixture of targets with the best weights of every target."""
        features = np.column_stack((self.g.value(self.X @ self.units.A.T + self.units.b), np.ones(len(self.X))))
        weights = np.linalg.lstsq(features * self.root[:, None], self.Z * self.root[:, None], rcond=1e-10)[0]
        return np.concatenate((self.layout.pack(self.units)[self.shared], weights.T.ravel()))

    def thetas(self, flat: Floats) -> list[Parameters]:
        """Return the parameters of every target."""
        each = np.empty((self.Z.shape[1], self.layout.size))
        each[:, self.shared] = flat[: len(self.shared)]
        each[:, self.own] = flat[len(self.shared) :].reshape(len(each), -1)
        return [self.layout.unpack(one) for one in each]

    def residuals(self, flat: Floats) -> Floats:
        values = np.array([predict(theta, self.X, self.g) for theta in self.thetas(flat)])  # (m, n)
        return np.asarray(((values - self.Z.T) * self.root).ravel())

    def jacobian(self, flat: Floats) -> Floats:
        thetas = self.thetas(flat)
        rows = np.ascontiguousarray(self.X.T)
        z = thetas[0].A @ rows + thetas[0].b[:, None]
        values, slopes = self.g.value(z), self.g.derivative(z)
        # Targets meet in the units alone: the columns of the units are dense, those of weights block diagonal.
        J = np.zeros((len(thetas), len(self.X), flat.size))
        for j, (block, theta) in enumerate(zip(J, thetas)):
            columns = layer_jacobian(self.layout, rows, values, slopes * theta.u[:, None], scale=self.root).T
            first = len(self.shared) + j * len(self.own)
            block[:, : len(self.shared)] = columns[:, self.shared]
            block[:, first : first + len(self.own)] = columns[:, self.own]
        return J.reshape(-1, flat.size)
