"""Damped Gauss-Newton: step, accept or reject, renew the curvature or reuse it, stop; and dense, with acceleration.

What is minimised and in which coordinates are strategies, behind :class:`DampedProblem`: sums of normal equations over
any source of rows (:mod:`gradsift.fit.normal_equations`), or rows in memory with each unit in its own frame
(:mod:`gradsift.fit.joint`). The loop itself knows neither rows nor units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..arguments import Floats
from ..tuned import FACTOR, LEAST_GAIN, SHARE, TRIES
from .parameters import Parameters

# Parameters (p,) -> residuals (n,), and a function that returns their Jacobian (n, p).
Problem = Callable[[Floats], tuple[Floats, Callable[[], Floats]]]


@dataclass(frozen=True)
class StepLimits:
    """How steps are judged; shares are those of the decrease that the quadratic model promised.

    Attributes
    ----------
    true : tuple of float
        In this range the old curvature still describes the new place.
    near : float
        Nats: from here on the curvature hardly changes, and the gradient alone is worth a look.
    slow : float
        Decrease over the objective: a few steps in a row of no more lead nowhere.
    """

    true: tuple[float, float] = (0.6, 1.4)  # guess
    near: float = 0.3  # guess
    slow: float = 0.01  # guess


LOOP = StepLimits()
NUMBER_SPACING = float(np.finfo(np.float64).eps)
_SECOND_AT = 0.1  # share of a step over which the second derivative is seen
_MOST_BEND = 1.5  # bend over step from which it is not believed


class Point(Protocol):
    """A place that was looked at; `objective` is in nats, infinite where the function is not finite."""

    @property
    def theta(self) -> Parameters: ...
    @property
    def objective(self) -> float: ...


Here = TypeVar("Here", bound=Point)


class LocalModel(NamedTuple):
    """A quadratic model of the objective about a place, in local coordinates.

    Attributes
    ----------
    matrix, gradient : (q, q) and (q,) arrays
    stale : bool
        The curvature stems from another place.
    memory : object
        What the problem needs to go on from here.
    """

    matrix: Floats
    gradient: Floats
    stale: bool
    memory: Any


class DampedProblem(Protocol[Here]):
    """What is minimised, and the coordinates in which steps are taken."""

    def look(self, theta: Parameters) -> Here:
        """Evaluate the objective."""

    def model(self, here: Here) -> LocalModel:
        """Return the quadratic model with the curvature at a place."""

    def model_at(self, model: LocalModel, here: Here, there: Here) -> LocalModel | None:
        """Return the model at a new place with the curvature of the old one; None where a new one costs no more."""

    def moved(self, here: Here, model: LocalModel, step: Floats) -> Parameters:
        """Return the parameters a step away, in local coordinates."""


@dataclass(frozen=True)
class Limits:
    """When to stop.

    Attributes
    ----------
    tolerance : float
        Nats: the promised decrease below which a place is an optimum.
    most : int
        Steps tried.
    floor : float
        An objective below which there is nothing left to gain.
    hopeless : float
        An objective above which a few steps in a row of less than a percent end in a wrong place.
    """

    tolerance: float
    most: int
    floor: float = -np.inf
    hopeless: float = np.inf


@dataclass(frozen=True)
class Result(Generic[Here]):
    """Where the iteration ended, and the model there; `converged`: no step promises more than the tolerance."""

    here: Here
    model: LocalModel
    n_steps: int
    converged: bool


def minimise(
    problem: DampedProblem[Here], here: Here, model: LocalModel, limits: Limits, damping: float = 1e-3
) -> Result[Here]:
    """Go downhill from a place by damped Gauss-Newton steps.

    A step solves ``(H + damping diag H) step = -gradient``. One that keeps less than a thousandth of what the model
    promised is not taken: an old curvature is blamed first, then the length.
    """
    n_slow = 0
    for n_steps in range(1, limits.most + 1):
        # Solve (H + damping diag H) step = -g: the diagonal has the units of the parameters, so that damping has none.
        step, promised = solve_step(model.matrix, model.gradient, damping)
        if promised < limits.tolerance:
            return Result(here, model, n_steps, True)
        there = problem.look(problem.moved(here, model, step))
        # The share of the promised decrease that was kept tells how far the quadratic model reaches.
        gain = (here.objective - there.objective) / promised
        if gain > LEAST_GAIN:
            damping = _next_factor(damping, gain)
            slow = here.objective > limits.hopeless and here.objective - there.objective < LOOP.slow * here.objective
            n_slow = n_slow + 1 if slow else 0
            # A model that foretold the decrease still describes the new place: its curvature saves a pass there.
            reusable = LOOP.true[0] < gain < LOOP.true[1] or promised < LOOP.near
            carried = problem.model_at(model, here, there) if reusable else None
            here, model = there, problem.model(there) if carried is None else carried
            if n_slow == TRIES or here.objective < limits.floor:
                return Result(here, model, n_steps, False)
        elif model.stale:
            # Blame an old curvature before the length: without it shorter steps would only creep.
            model = problem.model(here)
        else:
            damping *= FACTOR
            if damping > NUMBER_SPACING**-0.5:  # such a step is lost in the rounding of the objective
                return Result(here, model, n_steps, False)
    return Result(here, model, limits.most, False)


def _next_factor(damping: float, gain: float) -> float:
    if gain > SHARE:
        return max(damping / FACTOR, NUMBER_SPACING)
    return damping if gain > 1 - SHARE else FACTOR * damping


def solve_step(H: Floats, g: Floats, damping: float) -> tuple[Floats, float]:
    """Return the step and the decrease of the quadratic model that it promises."""
    scale = np.diag(H).copy()
    scale[scale <= 0] = 1.0
    damped = H.copy()
    # Only the diagonal changes from try to try: one copy of H serves all of them.
    diagonal = np.einsum("pp->p", damped)  # a view
    for _ in range(30):
        diagonal[:] = np.diag(H) + damping * scale
        try:
            step = -cho_solve(cho_factor(damped, lower=True, check_finite=False), g, check_finite=False)
            if np.isfinite(step).all():
                return step, float(-(g @ step) - 0.5 * step @ H @ step)
        except (LinAlgError, ValueError):
            pass
        damping = max(10 * damping, 1e-10)
    return np.zeros_like(g), 0.0


def curvature_along(H: Floats, step: Floats, change: Floats) -> Floats:
    """Return a matrix that also explains how a gradient changed along a step: the last digits need the curvature that
    Gauss-Newton leaves out, and this is free."""
    # BFGS: H + y y' / (y' s) - (H s)(H s)' / (s' H s) maps the step s to the change y that was seen of the gradient.
    Hs = H @ step
    bend, model_bend = float(step @ change), float(step @ Hs)
    # Without clear positive curvature along the step the update would lose positive definiteness.
    if bend <= 1e-3 * model_bend or model_bend <= 0:
        return H
    return np.asarray(H + np.outer(change, change) / bend - np.outer(Hs, Hs) / model_bend)


class LeastSquares(NamedTuple):
    """Parameters (p,) at the end, the root mean square of the residuals there, and how many steps were tried."""

    parameters: Floats
    rms: float
    n_steps: int


def descend(
    problem: Problem,
    start: Floats,
    most_steps: int,
    target: float,
    patience: float,
) -> LeastSquares:
    """Minimise a sum of squares (Levenberg and Marquardt, Nielsen's damping, steps bent along the valley).

    Parameters
    ----------
    problem : Problem
    target : float
        Root mean square at which to stop.
    patience : float
        Stop when 15 steps together gain less than this share.

    Notes
    -----
    O(n p^2 + p^3) flops per step. Columns are scaled by the longest that they have been: a unit that saturates on the
    way would be free to run off. Bent steps (geodesic acceleration) cost one more evaluation; both were chosen on the
    row "10; 8,6,4" with the seed 900, where most students stopped halfway down before.
    """
    theta = start
    residuals, make = problem(theta)
    loss, n = float(residuals @ residuals), len(residuals)
    if loss <= n * target**2:
        return LeastSquares(theta, float(np.sqrt(loss / n)), 0)
    damping, growth = 1e-2, 2.0
    history = [loss]
    J, A, gradient = _equations(make, residuals)
    longest = np.diag(A).copy()
    for _ in range(most_steps):
        longest = np.maximum(longest, np.diag(A))
        scale = longest + 1e-12 * longest.max() + 1e-300
        damped = A.copy()
        damped.flat[:: len(A) + 1] += damping * scale
        if not (np.isfinite(damped).all() and np.isfinite(gradient).all()):  # single precision overflows
            break
        try:
            factor = cho_factor(damped, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            damping, growth = damping * growth, 2 * growth
            continue
        step = cho_solve(factor, gradient)
        with np.errstate(over="ignore", invalid="ignore"):
            # Geodesic acceleration: the second derivative along the step, from residuals a tenth of it ahead, bends
            # the step along the valley. It solves the same equations, with the bend of the residuals on the right.
            ahead = problem(theta - _SECOND_AT * step)[0]
            second = 2 / _SECOND_AT * ((ahead - residuals) / _SECOND_AT + J @ step)
            bend = cho_solve(factor, J.T @ second, check_finite=False)
            small = scale @ bend**2 <= _MOST_BEND**2 * (scale @ step**2)
            after = theta - step - 0.5 * bend if small else theta - step
            trial, make = problem(after)
            value = float(trial @ trial)
        # Nielsen's damping: it falls by how well the quadratic model foretold the gain, and grows ever faster where
        # steps fail.
        expected = float(step @ (gradient + damping * scale * step))
        if np.isfinite(value) and value < loss:
            gain = (loss - value) / max(expected, 1e-300)
            theta, residuals, loss = after, trial, value
            damping, growth = max(damping * max(1 / 3, 1 - (2 * gain - 1) ** 3), 1e-15), 2.0
            J, A, gradient = _equations(make, residuals)
        else:
            damping, growth = damping * growth, 2 * growth
            if damping > 1e12:
                break
        history.append(loss)
        if loss <= n * target**2:
            break
        if len(history) > 15 and history[-16] - loss < patience * history[-16]:
            break
    return LeastSquares(theta, float(np.sqrt(loss / n)), len(history))


def _equations(make: Callable[[], Floats], residuals: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the Jacobian, the matrix of the normal equations (p, p), and the gradient (p,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        J = make()
        return J, J.T @ J, J.T @ residuals
