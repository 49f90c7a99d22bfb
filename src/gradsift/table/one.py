"""One component for labels: a convex problem (logistic or probit regression), solved by Newton's method."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..fit import Family, Parameters, Prior, Refined
from .problem import TableProblem

__all__ = ["convex", "copies", "logistic_regression", "one_component"]

_CONVEX = ("tanh", "erf")  # activations for which the likelihood of one component has no second optimum
_ITERATIONS = 60


def convex(problem: TableProblem, n_units: int) -> bool:
    """Tell whether the fit has one optimum only."""
    family = problem.family
    return family.simplex and n_units == 1 and family.slopes == "each" and family.activation.name in _CONVEX


def one_component(problem: TableProblem, prior: Prior | None = None, tolerance: float = 1e-4) -> Refined:
    """Return the fit of one component, from a start at which no row looks certain yet.

    From there Newton's method cannot stall: the rows that look certain of the wrong label, whose score is rounded to
    zero, only come up beyond arguments of about 19.
    """
    X, y, weight = problem.rows
    mean = float(np.clip(np.average(y, weights=weight), -0.98, 0.98))
    slope = X.T @ (y - mean if weight is None else weight * (y - mean)) / problem.mass / (1 - mean**2)
    slope = slope / max(1.0, float(np.linalg.norm(slope)))
    if not slope.any():
        slope[0] = 1e-3
    b = np.arctanh(mean) if problem.family.offsets else 0.0
    theta = Parameters(slope[None], np.ones(1), np.array([b]), 0.0)
    return problem.polish(theta, tolerance=tolerance, max_iterations=_ITERATIONS, prior=prior)


def logistic_regression(problem: TableProblem) -> Refined:
    """Return the fit in which the log-odds of labels are linear: a mixture of one component, half as steep."""
    return one_component(replace(problem, family=Family.of("tanh", labels=True, offsets=True)))


def copies(theta: Parameters, n_units: int, rng: np.random.Generator, spread: float = 0.3) -> Parameters:
    """Return the same function with its heaviest unit written several times, each copy moved a little to part ways."""
    extra = n_units - len(theta.u)
    heavy = int(np.argmax(np.abs(theta.u)))
    which = np.append(np.arange(len(theta.u)), np.full(extra, heavy))
    u = theta.u[which].copy()
    u[which == heavy] = theta.u[heavy] / (extra + 1)
    A = theta.A[which]
    scale = spread * float(np.linalg.norm(theta.A[heavy])) / np.sqrt(A.shape[1])
    A = A + scale * (which == heavy)[:, None] * rng.standard_normal(A.shape)
    return theta._replace(A=A, u=u, b=theta.b[which])
