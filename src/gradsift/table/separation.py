"""Has the likelihood a maximum? Separable classes have none, and a unit may be a step whose slope has no upper end."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.special import expit

from ..checking import Floats
from ..fit import Family, Parameters, Refined
from ..sources import Rows
from .problem import TableProblem

__all__ = ["cost_of_steeper_units", "separable"]

_NEWTON_STEPS = 8  # beyond, classes overlap so little that a linear program has to look
_ZERO_SUM = 1e-9  # of a sum that is zero, over that of its sizes
_CLEARLY_POSITIVE = 0.9  # share of a row that may be taken off


def separable(problem: TableProblem, one: Refined | None = None) -> float:
    """Return the share of labelled rows whose class some plane decides without a single error; 0 where classes overlap.

    If it is one, a plane parts the classes. If it is less, the other rows lie on the plane (as with a level of a factor
    that only one class has). Either way no slope is the most likely one. Planes need not pass through the origin: a
    fit without offsets may be finite where one with them is not, and says no more about the slope. One or two linear
    programs, O(n d) numbers; solved only where a few steps of logistic regression do not prove that classes overlap.
    They begin at the fit of `one` component, where it is known.
    """
    rows = problem.rows
    design = np.column_stack((rows.X, np.ones(len(rows.y))))
    signed = design * rows.y[:, None]
    start = np.zeros(design.shape[1]) if one is None else 2 * np.append(one.theta.A[0], one.theta.b)
    if _overlap(signed, start):
        return 0.0
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


def _overlap(signed: Floats, w: Floats) -> bool:
    """Tell whether classes are proved to overlap, given the rows times their labels, and where to begin; False says
    nothing.

    No plane leaves all rows on their side, or on it, if and only if some positive shares of all rows sum to zero
    (Stiemke's lemma). At the maximum of logistic regression the chances p of the other label are such shares. On the
    way there they sum to some g, and ``p (1 - (1 - p) s)`` sum to zero, s being what Newton's step adds to the rows'
    arguments; where these are positive, they prove the same. O(n d^2) flops a step.
    """
    for _ in range(_NEWTON_STEPS):
        chance = expit(-(signed @ w))
        information = (signed * (chance * (1 - chance))[:, None]).T @ signed
        step = np.linalg.lstsq(information, chance @ signed, rcond=None)[0]
        taken = (1 - chance) * (signed @ step)
        if float(taken.max()) < _CLEARLY_POSITIVE:
            shares = chance * (1 - taken)
            return bool((np.abs(shares @ signed) <= _ZERO_SUM * (shares @ np.abs(signed))).all())
        w = w + step
    return False


def cost_of_steeper_units(problem: TableProblem, theta: Parameters, times: float) -> float | None:
    """Return the fewest nats by which the rows become less likely when one unit is made steeper by a factor.

    A unit that grows keeps the slope of its ends, and only its kink becomes sharper; None where units have no slope of
    their own.
    """
    rows, family = problem.rows, problem.family
    if family.activation.homogeneous:
        return None
    ends = 1.0 if family.activation.saturates else 1 / times
    values = family.activation.value(rows.X @ theta.A.T + theta.b)
    here = _nats(family, rows, values @ theta.u + theta.c)
    costs = np.empty(len(theta.u))
    for unit in range(len(theta.u)):
        steeper = ends * family.activation.value(times * (rows.X @ theta.A[unit] + theta.b[unit]))
        r = (values @ theta.u + theta.c) + theta.u[unit] * (steeper - values[:, unit])
        costs[unit] = _nats(family, rows, r) - here
    return float(costs.min())


def _nats(family: Family, rows: Rows, r: Floats) -> float:
    loss = family.likelihood.loss(r, rows.y, rows.weight)
    if family.labels:
        return loss
    mass = float(len(r) if rows.weight is None else rows.weight.sum())
    return 0.5 * mass * float(np.log(max(2 * loss / mass, 1e-300)))
