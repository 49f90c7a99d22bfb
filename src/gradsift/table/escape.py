"""Moves out of a wrong optimum: trade the least useful units for better ones, or level a spike."""

from __future__ import annotations

import numpy as np

from ..fit import Parameters
from ..fit.moves import prune, split, turned, with_units
from .better import Better
from .problem import TableProblem
from .race import Optima, descend, descend_on_many

__all__ = ["escape", "level", "spiky", "turn_units"]

_TRADES = 3
_SAMPLE, _MOSTLY = 2000, 0.8  # rows that tell which units are mostly active, and from which share on they are (guess)
_SPIKE = 1.6  # slope of the steepest unit over that of the others: wrong optima for labels have one such unit


def escape(problem: TableProblem, optima: Optima, better: Better, rng: np.random.Generator) -> Optima:
    """Descend from the best optimum with units traded: new ones from the residuals, or a unit split in two.

    Each start adds one or two units and drops the least useful afterwards, so that the number of units stays.
    """
    theta = optima.best.theta
    k = len(theta.u)
    rows = problem.first(4000)
    starts = []
    picks = rng.permutation(len(better.units))
    for i in range(0, len(picks) - 1, 2):
        pair = picks[i : i + 2]
        typical = np.full(len(pair), np.abs(theta.u).mean())
        starts.append(with_units(theta, better.units[pair], typical, better.offsets[pair]))
    for unit in np.argsort(-np.abs(theta.u))[:_TRADES]:
        step = 0.5 * (1 + float(np.linalg.norm(theta.A[unit]))) * better.splits[unit]
        starts.append(split(theta, int(unit), step))
    return descend(problem, [prune(start, problem.family, rows, k) for start in starts], optima.found)


def turn_units(problem: TableProblem, optima: Optima) -> Optima:
    """Descend from the best optimum with one unit that grows turned round, its line carried by one that few rows leave
    idle.

    Units that grow differ from their mirror images by a line, which another unit can nearly carry: every choice of
    sides has an optimum of its own.
    """
    theta = optima.best.theta
    k = len(theta.u)
    active = (problem.first(_SAMPLE).X @ theta.A.T + theta.b > 0).mean(axis=0)  # (k,)
    carriers = {int(np.argmax(active)), *np.flatnonzero(active > _MOSTLY).tolist()}
    pairs = [(unit, carrier) for unit in range(k) for carrier in (None, *carriers) if carrier != unit]
    starts = [turned(theta, unit, carrier) for unit, carrier in pairs]
    if not problem.family.offsets:
        starts = [start._replace(b=np.zeros(k)) for start in starts]
    return descend(
        problem, [theta, *starts], optima.found
    )  # beside the optimum itself, what ends clearly worse is not polished


def spiky(theta: Parameters) -> bool:
    """Tell whether one unit is much steeper than the others."""
    steepest, others = _steepness(theta)
    return len(theta.u) > 1 and float(np.linalg.norm(theta.A[steepest])) > _SPIKE * others


def level(problem: TableProblem, optima: Optima) -> Optima:
    """Descend from the best optimum with its steepest unit as steep as the others, half as steep, or all alike."""
    theta = optima.best.theta
    steepest, others = _steepness(theta)
    lengths = np.linalg.norm(theta.A, axis=1, keepdims=True)
    starts = []
    for slope in (others, 0.5 * others):
        A = theta.A.copy()
        A[steepest] *= slope / lengths[steepest]
        starts.append(theta._replace(A=A))
    alike = theta.A / lengths * np.exp(np.log(lengths).mean())
    starts.append(theta._replace(A=alike, u=np.full(len(theta.u), theta.u.mean())))
    return descend_on_many(problem, starts, optima.found)  # few rows cannot tell which of them is right


def _steepness(theta: Parameters) -> tuple[int, float]:
    """Return the number of the steepest unit and the mean slope of the others."""
    lengths = np.maximum(np.linalg.norm(theta.A, axis=1), 1e-300)
    steepest = int(np.argmax(lengths))
    return steepest, float(np.exp(np.log(np.delete(lengths, steepest)).mean())) if len(lengths) > 1 else np.inf
