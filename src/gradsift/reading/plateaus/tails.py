"""Activations with algebraic tails have no plateaus: a student is trained on queried points, to the last digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares, minimize

from ...activations import Activation, get_activation
from ...arguments import Floats
from ...errors import NotIdentifiable
from ...fit import Layout, layer_jacobian
from ...model import SigmoidCombination
from ..ledger import Ledger
from ..odd_form import Link, Net
from .settings import JOINT, TAILS


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
        # The gradient of |r|^2 / 2 is r u f'(z) times (x, 1) for a unit, r f(z) for its weight, r for the intercept.
        back = (left[:, None] * self.f.derivative(arguments) * second[:-1]).T @ self.inputs  # (k, d + 1)
        gradient = np.concatenate([back.ravel(), values.T @ left, [left.sum()]])
        return 0.5 * float(left @ left) / len(left), gradient / len(left)

    def start(self, rng: np.random.Generator) -> Floats:
        d = self.X.shape[1]
        # Arguments of a spread of about two: neither linear in the inputs nor in the tails.
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
    if n * unknowns > JOINT.largest**2:
        return p
    dense = unknowns <= JOINT.dense
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


def find_by_student(ledger: Ledger, links: Sequence[Link], rng: np.random.Generator) -> Net:
    """Train students with 1, 2, ... units on growing sets of queried points until one fits to rounding.

    Parameters
    ----------
    links : sequence of Link
        Families to try.

    Notes
    -----
    About four queries per unknown. Fewer units than there are cannot fit four times as many answers as they have
    unknowns.
    """
    d, names = ledger.n_features, " or ".join(link.activation.name for link in links)
    scale = _input_scale(ledger, rng)
    X, y = np.empty((0, d)), np.empty(0)
    best = np.inf
    for k in range(1, TAILS.most_units + 1):
        wanted = 4 * Layout(k, d).size
        points = scale * rng.standard_normal((wanted - len(X), d))
        X, y = np.concatenate([X, points]), np.concatenate([y, ledger.ask(points, "student")])
        for link in links:
            student = train_student(X, y, k, link.odd, rng, n_starts=4 + 4 * k)
            best = min(best, student.misfit)
            if student.misfit < 1e-9 * max(ledger.largest, 1e-300):
                m = student.model
                return Net(link, m.units * m.slopes[:, None], m.offsets, m.weights, m.intercept, (None,) * k)
    raise NotIdentifiable(
        f"No sum of up to {TAILS.most_units} {names} units fits {len(y)} answers (best misfit {best:.2g}): algebraic "
        "tails have no plateaus to scan for, so only small networks of this kind can be found; fit samples instead."
    )


def _input_scale(ledger: Ledger, rng: np.random.Generator) -> float:
    """Return the standard deviation of inputs at which the function does most of its changing."""
    direction = rng.standard_normal(ledger.n_features)
    direction /= np.linalg.norm(direction)
    radii = 4.0 ** np.arange(-3, 8)
    values = ledger.ask(np.concatenate([radii, -radii])[:, None] * direction, "scale")
    forth, back = np.split(values, 2)
    # The odd part along a line is free of the intercept.
    change = np.abs(np.diff(forth - back))
    return float(radii[int(np.argmax(change)) + 1] / np.sqrt(ledger.n_features))
