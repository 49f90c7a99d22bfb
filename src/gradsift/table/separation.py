"""Has the likelihood a maximum? Separable classes have none, and a unit may be a step whose slope has no upper end."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from ..checking import Floats
from ..fit import Family, Parameters
from ..sources import Rows
from .problem import TableProblem

__all__ = ["cost_of_steeper_units", "separable"]

_CERTAIN = 6.0  # arguments beyond which a label is sure: where none of a fit's is, classes overlap


def separable(problem: TableProblem, theta: Parameters) -> float:
    """Return the share of rows whose class some plane decides without a single error; 0 where classes overlap.

    If it is one, a plane parts the classes. If it is less, the other rows lie on the plane (as with a level of a factor
    that only one class has). Either way no slope is the most likely one. Planes need not pass through the origin: a
    fit without offsets may be finite where one with them is not, and says no more about the slope. One or two linear
    programs, O(n d) numbers; solved only where the fit calls some row sure.
    """
    family, rows = problem.family, problem.rows
    if not family.labels:
        return 0.0
    arguments = rows.X @ theta.A.T + theta.b
    if not family.simplex:
        arguments = 0.5 * (family.activation.value(arguments) @ theta.u + theta.c)  # of the one logistic unit
    if not (np.abs(arguments) > _CERTAIN).any():
        return 0.0
    design = np.column_stack((rows.X, np.ones(len(rows.y))))
    signed = design * rows.y[:, None]
    found = linprog(-signed.mean(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1), method="highs")
    if found.x is None or not (signed @ found.x > 1e-7).any():
        return 0.0
    # Rows on that plane may lie off another one: ask for the widest gap.
    gap = np.column_stack((-signed, np.ones(len(signed))))
    widest = linprog(
        np.append(np.zeros(design.shape[1]), -1.0), gap, np.zeros(len(gap)), bounds=(-1, 1), method="highs"
    )
    parted = widest.x is not None and widest.x[-1] > 1e-9
    return 1.0 if parted else float(np.mean(signed @ found.x > 1e-7))


def cost_of_steeper_units(problem: TableProblem, theta: Parameters, times: float) -> Floats:
    """Return (k,) nats by which the rows become less likely when one unit at a time is made steeper by a factor.

    A unit that grows keeps the slope of its ends, and only its kink becomes sharper; infinite where slopes are no
    parameters.
    """
    rows, family = problem.rows, problem.family
    if family.activation.homogeneous:
        return np.full(len(theta.u), np.inf)
    ends = 1.0 if family.activation.saturates else 1 / times
    values = family.activation.value(rows.X @ theta.A.T + theta.b)
    here = _nats(family, rows, values @ theta.u + theta.c)
    costs = np.empty(len(theta.u))
    for unit in range(len(theta.u)):
        steeper = ends * family.activation.value(times * (rows.X @ theta.A[unit] + theta.b[unit]))
        r = (values @ theta.u + theta.c) + theta.u[unit] * (steeper - values[:, unit])
        costs[unit] = _nats(family, rows, r) - here
    return costs


def _nats(family: Family, rows: Rows, r: Floats) -> float:
    loss = family.likelihood.loss(r, rows.y, rows.weight)
    if family.labels:
        return loss
    mass = float(len(r) if rows.weight is None else rows.weight.sum())
    return 0.5 * mass * float(np.log(max(2 * loss / mass, 1e-300)))
