"""Rough units and their number from random inputs: a student with units to spare, thinned out one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from ..activations import Activation
from ..arguments import Floats
from ..likelihood import Noise
from ..runtime import one_thread
from ..tuned import NATS, TRIES
from .constraints import Prior
from .covariance import Fitted
from .jacobian import predict
from .joint import fit_jointly
from .moves import MOVES, price_without, without
from .parameters import Layout, Parameters


@dataclass(frozen=True)
class StudentTuning:
    """A student with units to spare, thinned out one by one."""

    ridges: tuple[float, float] = (0.25, 1.0)  # weight decay of two starts, over the squares of noisy answers; guess
    least_ridges: tuple[float, float] = (1e-4, 4e-4)  # and over their mean square, for exact ones; guess
    weight_ridge: float = 1e-3  # guess
    least_rows: float = 1.5  # per unknown: with fewer a joint fit only finds noise; guess
    jump: float = 1.5  # of the error when a unit is removed that was needed; guess
    hopeless: float = 3.0  # the error over the first one's, from which fewer units are not worth a try; guess
    below: int = 2  # numbers of units below the jump that are fitted to the last digit; guess
    first: int = 600  # iterations of L-BFGS from random units; guess
    fewer: int = 400  # by how many fewer if there is noise; guess
    noisy: float = 100.0  # share of noise in the answers' variance, times this: from one on all of the above; guess
    last: int = 12  # steps of the joint fit in the end; guess


STUDENT = StudentTuning()


@dataclass(frozen=True)
class TrainedStudent:
    """What the student learned.

    Attributes
    ----------
    fitted : Fitted
        With the number of units that BIC prefers.
    gap : float
        By how much BIC prefers it to the next best number.
    saturated : bool
        The preferred number is so close to the student's own that a larger student is called for.
    """

    fitted: Fitted
    gap: float
    saturated: bool


@one_thread()
def fit_students(
    X: Floats, y: Floats, noise: Noise, g: Activation, n_spare: int, scale: float, rng: np.random.Generator,
    at_least: int = 0,
) -> TrainedStudent:  # fmt: skip
    """Fit students with `n_spare` units and thin them out.

    Parameters
    ----------
    X, y : (n, d) and (n,) arrays
    n_spare : int
        Units of the student, more than the network has.
    scale : float
        Standard deviation of the entries of X.
    at_least : int
        Units that other evidence has already shown.

    Notes
    -----
    Spare units and weight decay make the landscape kind; BIC with the known noise then tells how many are real.
    O(n n_spare d) flops for each of at most 600 steps and O(n (n_spare d)^2) for about ten times n_spare more.
    """
    n, d = X.shape
    best: dict[int, Fitted] = {}
    variance = float(y.var())
    noisy = min(1.0, STUDENT.noisy * noise.sd**2 / max(variance, 1e-300))  # stopping early is a regulariser too
    for ridge, least in zip(STUDENT.ridges, STUDENT.least_ridges):
        ridge_fit = _RidgeFit(X / scale, y, noise, g, max(noisy * ridge / n, least) * variance)
        path = ridge_fit.thin_out(_random_student(n_spare, d, y, rng), int(STUDENT.first - noisy * STUDENT.fewer))
        for k in _worth_fitting(path, n, d, noise.price(n)):
            theta = path[k].theta
            start = theta._replace(A=theta.A / scale)
            fitted = fit_jointly(start, X, y, noise, g, most=STUDENT.last, enough=NATS)
            if k not in best or fitted.loss < best[k].loss:
                best[k] = fitted
    scores = {k: 2 * f.loss + Layout(k, d).size * noise.price(n) for k, f in best.items()}
    scores[0] = 2 * noise.loss(np.full(n, y.mean()), y) + noise.price(n)
    order = sorted(scores, key=lambda k: (k < at_least, scores[k]))
    chosen = order[0] or order[1]
    gap = np.inf if order[1] < at_least else scores[order[1]] - scores[order[0]] if order[0] else -1.0
    return TrainedStudent(best[chosen], float(gap), chosen + 1 >= n_spare or chosen == max(best))


class _Stage(NamedTuple):
    """A thinned student and its mean squared error."""

    theta: Parameters
    error: float


def _worth_fitting(path: dict[int, _Stage], n: int, d: int, price: float) -> list[int]:
    """Return the numbers of units from just below the first jump of the error to a few above it.

    Labels never jump: then those about the number that is preferred at a price per unknown, if the noise's variance
    is taken from the residuals.
    """
    jumps = [k for k in path if k + 1 in path and path[k].error > STUDENT.jump * path[k + 1].error]
    low = max(jumps, default=0)
    if not jumps:
        low = min(path, key=lambda k: n * np.log(max(path[k].error, 1e-300)) + k * Layout(k, d).per_unit * price) - 1
    around = [k for k in path if low - STUDENT.below <= k <= low + TRIES]
    return [k for k in around if STUDENT.least_rows * Layout(k, d).size < n] or [min(path)]


def _random_student(k: int, d: int, y: Floats, rng: np.random.Generator) -> Parameters:
    spread = float(y.std())
    return Parameters(
        2 * rng.standard_normal((k, d)) / np.sqrt(d), 0.5 * spread * rng.standard_normal(k),
        0.3 * rng.standard_normal(k), float(y.mean()),
    )  # fmt: skip


class _RidgeFit:
    """Least squares with weight decay, also for labels: their likelihood is less forgiving far from the truth."""

    def __init__(self, X: Floats, y: Floats, noise: Noise, g: Activation, ridge: float) -> None:
        self.X, self.y, self.g, self.ridge = X, y, g, ridge
        self.noise = Noise(noise.sd)
        nats = len(y) / noise.sd**2
        self.prior = Prior(ridge * nats, 0.0, STUDENT.weight_ridge * nats, 0.0)

    def thin_out(self, theta: Parameters, n_steps: int) -> dict[int, _Stage]:
        """Return students with k, k - 1, ... units, down to two below those that explain the answers."""
        k, theta = len(theta.u), self.descend(theta, n_steps)
        residuals = predict(theta, self.X, self.g) - self.y
        path = {k: _Stage(theta, float(np.mean(residuals**2)))}
        limit, n_hopeless = STUDENT.hopeless * path[k].error, 0
        while k > 1 and n_hopeless < STUDENT.below:
            start = self.without_least(theta)
            fitted = fit_jointly(
                start,
                self.X,
                self.y,
                self.noise,
                self.g,
                prior=self.prior,
                most=MOVES.heat,
                enough=NATS,
            )
            k, theta = k - 1, fitted.theta
            path[k] = _Stage(theta, float(np.mean(fitted.residuals**2)))
            n_hopeless += bool(path[k].error > (limit if n_hopeless else max(limit, STUDENT.jump * path[k + 1].error)))
        return path

    def descend(self, theta: Parameters, n_steps: int) -> Parameters:
        """Return the end of a run of L-BFGS."""
        layout = self._layout(len(theta.u))
        done = minimize(
            self, layout.pack(theta), jac=True, method="L-BFGS-B", options={"maxiter": n_steps, "maxcor": 20}
        )
        return layout.unpack(np.asarray(done.x))

    def _layout(self, n_units: int) -> Layout:
        return Layout(n_units, self.X.shape[1], by_unit=False)

    def __call__(self, flat: Floats) -> tuple[float, Floats]:
        """Return the mean loss of a flat student and its gradient, for scipy."""
        n = len(self.X)
        layout = self._layout((len(flat) - 1) // self._layout(1).per_unit)
        A, u, b, c, _ = layout.unpack(flat)
        z = self.X @ A.T + b
        values = self.g.value(z)
        e = values @ u + c - self.y
        slopes = self.g.derivative(z) * u * (e / n)[:, None]
        weights = values.T @ e / n + STUDENT.weight_ridge * u
        gradient = Parameters(slopes.T @ self.X + self.ridge * A, weights, slopes.sum(axis=0), float(e.mean()))
        decay = 0.5 * self.ridge * float((A * A).sum()) + 0.5 * STUDENT.weight_ridge * float(u @ u)
        return 0.5 * float(e @ e) / n + decay, layout.pack(gradient)

    def without_least(self, theta: Parameters) -> Parameters:
        """Return the student without the unit whose loss the other weights mend best."""
        features = np.column_stack([self.g.value(self.X @ theta.A.T + theta.b), np.ones(len(self.X))])
        gram = features.T @ features
        gram[np.diag_indices_from(gram)] += 1e-6 * len(self.X)
        return without(theta, int(np.argmin(price_without(gram, features.T @ self.y)[:-1])))
