"""Imperfect answers inside a box: the stages of open inputs, with the most informative inputs instead of far ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...fit import Fitted, covariance_factor, predict, value_jacobian
from ...fit.design import best_rows
from ...likelihood import Noise
from ..searches import END, Stage
from .leverage import squared_standardised_residuals
from .noise_tests import Variance
from .refine_directions import calibrated
from .refit import least_noise, one_more_unit, refit, take_one_more, thin_out
from .settings import BOX_DESIGN, DOUBT, NOISY_BOX
from .stages import Stages
from .start import train, train_again
from .state import FitState, InputScale, Outcome, Session


def design_points(
    fitted: Fitted, n: int, share: float, noise: Noise, g: Activation, rng: np.random.Generator
) -> Floats:
    """Return n rows of [-1, 1]^d that shrink the directions' errors most, by greedy exchange.

    Candidates are uniform in the box, and projected towards a random unit's plane, where its argument is small. Each
    is worth the drop of the summed variance of all directions. O(n^2 P^2) flops for P unknowns.
    """
    pool = _candidates(fitted, BOX_DESIGN.pool * n, share, rng)
    theta = fitted.theta
    layout, d = theta.layout, theta.A.shape[1]
    J = value_jacobian(theta, pool, g, fitted.mirrors) * np.sqrt(noise.precision(predict(theta, pool, g)))[:, None]
    # In the frames of the units a direction is all coordinates but the first, over the length.
    across = layout.rows(np.arange(layout.size))[:, 1:d].ravel()
    sizes = np.repeat(1 / np.linalg.norm(theta.A, axis=1), d - 1)
    return np.asarray(pool[best_rows(J, covariance_factor(fitted.information), n, across, sizes)])


def _candidates(fitted: Fitted, n: int, share: float, rng: np.random.Generator) -> Floats:
    theta = fitted.theta
    k, d = theta.A.shape
    pool = rng.uniform(-1.0, 1.0, (n, d))
    pool[: n // 4] *= share
    unit = rng.integers(k, size=n)
    # Move each candidate along a unit to an argument of at most 1.5, where the unit bends and tells most.
    z = np.einsum("nd,nd->n", pool, theta.A[unit]) + theta.b[unit]
    wanted = rng.uniform(-1.5, 1.5, n)
    moved = pool - ((z - wanted) / (theta.A[unit] ** 2).sum(axis=1))[:, None] * theta.A[unit]
    inside = np.abs(moved).max(axis=1) <= 1
    pool[inside] = moved[inside]
    return np.asarray(pool)


def ask_first(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Learn the spread of the answers; where they are noisy ask the first ones twice."""
    first = session.ask(session.draw(DOUBT.few, state), "student")
    near = first.rows
    if session.noisy:  # residuals are judged by it: a misfit is to be told from noise
        again = session.ask(session.X[first.rows], "noise")
        gaps = again.answers - first.answers
        variance = state.repeats.pooled(0.5 * float((gaps**2).sum()), DOUBT.few)
        near = np.concatenate([near, again.rows])
        state = replace(state, variance=variance, repeats=variance)
    signal = max(float(np.std(first.answers)), state.variance.sd)  # fainter ones show as such to the student
    return replace(state.with_rows(near=near), scale=InputScale(signal=signal)), Outcome.STANDS


def ask_best_rows(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Ask the most telling inputs until cones are narrow and fresh answers are as foretold."""
    for n_done in range(DOUBT.most):
        state = thin_out(state, session)
        if float(state.cones.max()) <= session.accuracy:
            state = calibrated(state, session)
            if float(state.cones.max()) <= session.accuracy:
                state, outcome = _check_fresh(state, session)
                if outcome is not Outcome.MISSING_UNIT:
                    return state, outcome
        growth = 2 ** (n_done // NOISY_BOX.alike)
        fitted = state.known.fitted
        n = max(len(fitted.information) // 3, session.n_features) * growth
        points = design_points(fitted, n, 1.0, session.noise(state), session.g, session.rng)
        state = refit(_ask(state, session, points, "design"), session)
        if state.has_excess(DOUBT.level):  # what tells most about wrong units tells little: learn anew
            return state, Outcome.REFUTED
    if float(state.cones.max()) > session.accuracy:
        reason = f"{DOUBT.most} rounds of the most telling inputs were not enough"
        state = replace(
            state,
            stopped_by=outlook(reason, by_repeats(len(session.y), state.cones, session.accuracy), session.accuracy),
        )
    return state, Outcome.SPENT


def _check_fresh(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Ask whether fresh random answers are as foretold; either way they join the others.

    Most answers were asked where the known units show best, which is where a merged pair hides best.
    """
    n = NOISY_BOX.fresh * (session.n_features + 2)
    points = session.draw(n, state)
    fitted, noise = state.known.fitted, least_noise(state, session)
    freedom = min(state.repeats.freedom, state.variance.freedom)
    state = _ask(state, session, points, "fresh")
    # Fresh residuals against what was expected, with the smaller of both estimates of the noise.
    squares = squared_standardised_residuals(fitted, points, session.y[-n:], noise, session.g)
    state = refit(state, session)
    foretold = not Variance(1.0, freedom).too_small(float(squares.sum()), n, session.policy.refuted)
    wider = one_more_unit(state, session)
    if wider is not None:
        return take_one_more(replace(state, larger_fit=wider), session), Outcome.MISSING_UNIT
    if state.has_excess(session.policy.refuted):
        return state, Outcome.REFUTED
    return state, Outcome.STANDS if foretold else Outcome.MISSING_UNIT


def by_repeats(n_answers: int, cones: Floats, accuracy: float) -> int:
    """Return the queries after which more of the same, whose errors fall like one over the root, reach it."""
    return int(np.ceil(n_answers * max((float(cones.max()) / accuracy) ** 2 - 1, 0)))


def outlook(reason: str, n_more: int, accuracy: float) -> str:
    """Return why a campaign ended, and what it would have taken."""
    if not n_more:
        return reason
    return f"{reason.rstrip('.')}; about {n_more:.6g} more queries would reach an accuracy of {accuracy:.2g}"


def _ask(state: FitState, session: Session, points: Floats, step: str) -> FitState:
    """Ask; inside a box no row is far out, so that the student may learn from all of them."""
    rows, asked = state.rows, session.ask(points, step).rows
    return state.with_rows(near=np.concatenate([rows.near, asked]), used=np.concatenate([rows.used, asked]))


BOX_STAGES: Stages = {
    "first look": Stage(ask_first, {Outcome.STANDS: "train"}),
    "train": Stage(train, {Outcome.STANDS: "best inputs"}),
    "best inputs": Stage(
        ask_best_rows,
        {Outcome.STANDS: END, Outcome.SPENT: END, Outcome.REFUTED: "train again"},
    ),
    "train again": Stage(train_again, {Outcome.REFUTED: "train", Outcome.SPENT: END}),
}
