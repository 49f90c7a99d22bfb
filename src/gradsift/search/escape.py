"""Moves out of a wrong optimum: trade the least useful units for better ones."""

from __future__ import annotations

import numpy as np

from ..refine import Parameters
from .better import Better
from .problem import Problem
from .race import Optima, descend, prune

__all__ = ["escape"]

_TRADES = 3


def escape(problem: Problem, theta: Parameters, better: Better, rng: np.random.Generator) -> Optima:
    """Descend from `theta` with units traded: new ones from the residuals, or a unit split in two.

    Each start adds one or two units and drops the least useful afterwards, so that the number of units stays.
    """
    k = len(theta.u)
    rows = problem.first(4000)
    starts = []
    picks = rng.permutation(len(better.units))
    for i in range(0, len(picks) - 1, 2):
        pair = picks[i : i + 2]
        starts.append(_extended(theta, better.units[pair], better.offsets[pair]))
    for unit in np.argsort(-np.abs(theta.u))[:_TRADES]:
        step = 0.5 * (1 + float(np.linalg.norm(theta.A[unit]))) * better.splits[unit]
        halves = np.vstack((theta.A[unit] + step, theta.A[unit] - step))
        starts.append(_extended(theta, halves, np.repeat(theta.b[unit], 2), without=int(unit)))
    return descend(problem, [prune(start, problem.family, rows, k) for start in starts])


def _extended(theta: Parameters, A: np.ndarray, b: np.ndarray, without: int | None = None) -> Parameters:
    kept = [unit for unit in range(len(theta.u)) if unit != without]
    u = np.concatenate((theta.u[kept], np.full(len(A), np.abs(theta.u).mean())))
    return Parameters(np.vstack((theta.A[kept], A)), u, np.concatenate((theta.b[kept], b)), theta.c)
