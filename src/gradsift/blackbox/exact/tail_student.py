"""A student trained on queried points: L-BFGS, then Levenberg-Marquardt to the last digits.

It serves activations with algebraic tails, whose plateaus are never reached, and as the baseline of the benchmarks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares, minimize

from ...activations import Activation, get_activation
from ...checking import Floats
from ...fit import Layout, layer_jacobian
from ...model import SigmoidCombination
from .exact_policy import TAIL_STUDENT

__all__ = ["Student", "train_student"]


@dataclass(frozen=True)
class Student:
    """A fitted student.

    Attributes
    ----------
    model : SigmoidCombination
    misfit : float
        Largest absolute residual on the points it was trained on.
    n_starts : int
        How many starts it took.
    """

    model: SigmoidCombination
    misfit: float
    n_starts: int


class _LeastSquares:
    """Residuals and Jacobian of ``c + sum u f(a x + b)`` at given points."""

    def __init__(self, X: Floats, y: Floats, n_units: int, activation: Activation) -> None:
        self.X, self.y, self.k, self.f = X, y, n_units, activation
        self.layout = Layout(n_units, X.shape[1])
        self.inputs = np.concatenate([X, np.ones((len(X), 1))], axis=1)  # (n, d + 1)

    def split(self, p: Floats) -> tuple[Floats, Floats]:
        """Return the (k, d + 1) first layer and the (k + 1,) second one."""
        return self.layout.rows(p), p[self.layout.weights.start :]

    def residuals(self, p: Floats) -> Floats:
        first, second = self.split(p)
        return np.asarray(self.f.value(self.inputs @ first.T) @ second[:-1] + second[-1] - self.y)

    def jacobian(self, p: Floats) -> Floats:
        first, second = self.split(p)
        arguments = self.inputs @ first.T  # (n, k)
        slopes = self.f.derivative(arguments) * second[:-1]
        rows = layer_jacobian(self.layout, np.ascontiguousarray(self.X.T), self.f.value(arguments).T, slopes.T)
        return np.ascontiguousarray(rows.T)

    def loss(self, p: Floats) -> tuple[float, Floats]:
        first, second = self.split(p)
        arguments = self.inputs @ first.T
        values = self.f.value(arguments)
        left = values @ second[:-1] + second[-1] - self.y
        back = (left[:, None] * self.f.derivative(arguments) * second[:-1]).T @ self.inputs  # (k, d + 1)
        gradient = np.concatenate([back.ravel(), values.T @ left, [left.sum()]])
        return 0.5 * float(left @ left) / len(left), gradient / len(left)

    def start(self, rng: np.random.Generator) -> Floats:
        d = self.X.shape[1]
        scale = 2 / (np.sqrt(d) * max(float(self.X.std()), 1e-300))
        first = np.concatenate([scale * rng.standard_normal((self.k, d)), rng.standard_normal((self.k, 1))], axis=1)
        weights = rng.standard_normal(self.k) * self.y.std() / np.sqrt(self.k)
        return np.concatenate([first.ravel(), weights, [self.y.mean()]])


def train_student(
    X: Floats, y: Floats, n_units: int, activation: str | Activation, rng: np.random.Generator, *, n_starts: int = 10
) -> Student:
    """Fit a network with `n_units` units; stop at the first start that fits to rounding, else return the best.

    Parameters
    ----------
    X, y : (n, d) and (n,) arrays
    n_units : int
    activation : str or Activation
    rng : Generator
    n_starts : int
    """
    f = get_activation(activation)
    problem = _LeastSquares(X, y, n_units, f)
    perfect = 1e-12 * max(float(np.abs(y).max()), 1e-300)
    best, found = np.inf, problem.start(rng)
    n_tried = 0
    while n_tried < n_starts and best >= perfect:
        n_tried += 1
        rough = minimize(problem.loss, problem.start(rng), jac=True, method="L-BFGS-B", options={"maxiter": 300})
        polished = _polish(problem, rough.x)
        misfit = float(np.abs(problem.residuals(polished)).max())
        if misfit < best:
            best, found = misfit, polished
    first, second = problem.split(found)
    model = SigmoidCombination(first[:, :-1], second[:-1], 1.0, first[:, -1], float(second[-1]), f)
    return Student(model.canonical(), best, n_tried)


def _polish(problem: _LeastSquares, p: Floats) -> Floats:
    """Descend to the last digits: dense Levenberg-Marquardt, by LSMR when large, not at all beyond memory."""
    n, unknowns = len(problem.y), len(p)
    if n * unknowns > TAIL_STUDENT.largest_jacobian:
        return p
    dense = unknowns <= TAIL_STUDENT.most_dense
    polished = least_squares(
        problem.residuals,
        p,
        problem.jacobian,
        method="lm" if dense and n >= unknowns else "trf",
        tr_solver=None if dense else "lsmr",
        tr_options={} if dense else {"maxiter": 200},
        max_nfev=200 if dense else 20,
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
    )
    return np.asarray(polished.x)
