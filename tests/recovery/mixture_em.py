"""Expectation maximisation for a mixture of classifiers: the classical method, to compare with and to start from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gradsift.arguments import Floats, as_generator, at_least
from gradsift.fit import Family, Parameters
from gradsift.likelihood import CERTAINTY
from gradsift.model import SigmoidCombination
from gradsift.sources import Rows, Source
from gradsift.table.frame import Frame
from gradsift.table.problem import prepare


@dataclass(frozen=True)
class MixtureEM:
    """Where EM ended.

    Attributes
    ----------
    model : SigmoidCombination
    log_likelihood : float
        Of the rows that were used (at most 20,000).
    trace : (n_iterations,) array
        Log-likelihood after each iteration of the best start; never decreases.
    converged : bool
    """

    model: SigmoidCombination
    log_likelihood: float
    trace: Floats
    converged: bool


def expectation_maximization(
    source: Source,
    n_components: int,
    *,
    activation: str = "tanh",
    offsets: bool = False,
    n_starts: int = 5,
    max_iterations: int = 500,
    tolerance: float = 1e-3,
    rng: Any = None,
) -> MixtureEM:
    """Fit a mixture of classifiers to -1/+1 labels by EM, keeping the best of `n_starts` random starts.

    Parameters
    ----------
    tolerance : float
        Nats per iteration below which a start stops.

    Notes
    -----
    Each M-step is one damped Newton step per component, so the log-likelihood never decreases. O(n k d^2) flops per
    iteration; EM converges linearly, and slowly where components overlap. Hand the result to ``search(starts=[...])``
    to finish it.
    """
    at_least("n_components", n_components, 1)
    at_least("n_starts", n_starts, 1)
    at_least("max_iterations", max_iterations, 1)
    rng = as_generator(rng)
    problem = prepare(source, Family.of(activation, labels=True, offsets=offsets), rng)
    best: MixtureEM | None = None
    for _ in range(n_starts):
        A = rng.standard_normal((n_components, problem.n_features))
        theta = Parameters(A, np.full(n_components, 1 / n_components), np.zeros(n_components), 0.0)
        run = _climb(problem.rows, problem.family, theta, problem.frame, max_iterations, tolerance)
        if best is None or run.log_likelihood > best.log_likelihood:
            best = run
    assert best is not None  # n_starts is at least one
    return best


def _climb(
    rows: Rows, family: Family, theta: Parameters, frame: Frame, max_iterations: int, tolerance: float
) -> MixtureEM:
    weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    design = np.column_stack((rows.X, np.ones(len(rows.y)))) if family.offsets else rows.X
    B = np.column_stack((theta.A, theta.b)) if family.offsets else theta.A
    u, trace = theta.u, []
    converged = False
    for _ in range(max_iterations):
        seen = _seen(family, design, rows.y, B)  # (n, k): probability of the label under each component
        mixed = seen @ u
        trace.append(float(weight @ np.log(mixed)))
        converged = len(trace) > 1 and trace[-1] - trace[-2] < tolerance
        if converged:
            break
        share = seen * u / mixed[:, None] * weight[:, None]  # E-step
        u = share.sum(axis=0) / weight.sum()
        B = np.array([_newton(family, design, rows.y, row, q) for row, q in zip(B, share.T)])
    d = rows.X.shape[1]
    b = B[:, d] if family.offsets else np.zeros(len(u))
    model = frame.outside(Parameters(B[:, :d], u, b, 0.0)).to_model(family.activation).canonical()
    return MixtureEM(model, trace[-1], np.array(trace), converged)


def _seen(family: Family, design: Floats, y: Floats, B: Floats) -> Floats:
    values = family.activation.value(design @ B.T)
    return np.asarray(np.maximum(0.5 * (1 + y[:, None] * values), 0.25 * CERTAINTY.simplex))


def _newton(family: Family, design: Floats, y: Floats, row: Floats, q: Floats) -> Floats:
    """One Fisher-scoring step of a component's weighted likelihood, halved until it does not hurt."""
    z = design @ row
    value, slope = family.activation.value(z), family.activation.derivative(z)
    precision = family.likelihood.precision(value)
    score = design.T @ (q * slope * (y - value) * precision)
    information = (design * (q * slope * slope * precision)[:, None]).T @ design
    information[np.diag_indices_from(information)] += 1e-8 * max(float(np.trace(information)), 1e-8)
    step = np.linalg.solve(information, score)
    before = float(q @ np.log(_seen(family, design, y, row[None])[:, 0]))
    for _ in range(20):
        after = float(q @ np.log(_seen(family, design, y, (row + step)[None])[:, 0]))
        if after >= before:
            return np.asarray(row + step)
        step = 0.5 * step
    return row
