"""Stages that sharpen: rounds of answers of high leverage until all confidence cones are narrow enough."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...activations import Activation
from ...arguments import Floats
from ...fit import Fitted, fit_jointly
from ...fit.covariance import cones
from ...fit.joint import Calibration, calibration
from ...likelihood import Noise
from .bias import Replies, without_bias
from .leverage import (
    informative_points,
    leverage_points,
    leverage_points_for_labels,
    leverage_repeats,
    squared_standardised_residuals,
)
from .noise_tests import relative_spread
from .refit import joined, measure_noise, one_more_unit, refit, take_in, thin_out
from .settings import DOUBT, REFINE, SCALE
from .state import FitState, Outcome, Session


def refine_rough_directions(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Make a student's directions sure enough for a look for another unit."""
    policy = session.policy.refine
    return ask_leverage_points(state, session, policy.sure, policy.patience_when_rough * max(1, len(state.rows.near)))


def refine(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """InputScale the accuracy, and drop units that all replies together do not need."""
    return thin_out(refined(state, session, session.accuracy), session), Outcome.STANDS


def refine_by_labels(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Reach the accuracy behind labels, which never refute a fit: test the number of units after each round."""
    for _ in range(DOUBT.rounds):
        state, _ = refine(state, session)
        if one_more_unit(state, session) is not None:  # wrong itself, among many answers about wrong units: learn anew
            return state.with_student(least=state.known.n_units + 1), Outcome.MISSING_UNIT
        if float(state.cones.max()) <= session.accuracy:
            break
    return state, Outcome.STANDS


def refined(state: FitState, session: Session, accuracy: float) -> FitState:
    """Ask at points of high leverage until the calibrated cones are narrow enough."""
    policy = session.policy.refine
    most = policy.patience * max(1, len(state.rows.near))  # none are near where units were read off a circle
    for _ in range(DOUBT.alarms):
        state = take_in(state, session)
        state, outcome = ask_leverage_points(state, session, accuracy / state.widening.stop, most)
        state = calibrated(state, session)
        if outcome is not Outcome.STANDS or float(state.cones.max()) <= accuracy:
            break
    return state


def calibrated(state: FitState, session: Session) -> FitState:
    """Find by how much cones must widen to hold what they promise."""
    joint = state.known
    n_draws = 16 if len(joint.fitted.information) < 200 else 8
    X, noise, g = joint.replies.X, joint.noise, session.g
    if session.noisy:
        found = calibration(joint.settled, X, noise, g, session.rng, n_draws, partial(_settle, X, noise, g))
    else:
        found = calibration(joint.settled, X, noise, g, session.rng, n_draws)
    more = REFINE.uneven_widening if np.ndim(noise.relative) else 1.0
    least = session.policy.refine.least_widening
    return session.keep(replace(state, widening=Calibration(*(more * max(pair) for pair in zip(least, found)))))


def _settle(X: Floats, noise: Noise, g: Activation, fitted: Fitted, y: Floats) -> Fitted:
    """Take the bias off a fit to answers that had no say in where they were asked."""
    return without_bias(fitted, Replies(X, y, np.zeros(len(X), dtype=bool)), noise, g)


def ask_leverage_points(
    state: FitState, session: Session, accuracy: float, most: float = np.inf
) -> tuple[FitState, Outcome]:
    """Ask round by round until the linear cones are narrower than `accuracy`.

    Labels refute no student, but the answers about a wrong one do not narrow its cones: spent after `most`
    answers.
    """
    length, n_before = SCALE.steep, len(state.rows.used)
    n_looked = n_before
    for _ in range(DOUBT.most):
        wide = np.flatnonzero(state.known.cones() > accuracy)
        if len(wide) == 0 or session.n_features < 2:
            return state, Outcome.STANDS
        if len(state.rows.used) - n_before > most:
            return state, Outcome.SPENT
        first = not np.isin(state.rows.used, state.rows.placed).any()
        state, amazed, rows = _ask_points(state, session, wide, length, accuracy)
        if amazed > DOUBT.misfit and first:
            return state, Outcome.REFUTED
        state = state.with_rows(used=np.concatenate([state.rows.used, rows]))
        # As in a trust region: shorter where answers were not as foretold, longer where they were.
        length = max(0.5 * length, 0.1) if amazed > DOUBT.misfit else min(1.3 * length, SCALE.steep)
        state = refit(state, session)
        if state.has_excess(session.policy.refuted):
            return state, Outcome.REFUTED
        if not session.labels and len(state.rows.used) > 2 * n_looked:
            state = thin_out(state, session)  # no answer narrows the cone of a unit that is not there
            n_looked = len(state.rows.used)
    return state, Outcome.STANDS if len(wide) == 0 else Outcome.SPENT


def _ask_points(
    state: FitState, session: Session, wide: NDArray[np.intp], length: float, accuracy: float
) -> tuple[FitState, float, NDArray[np.intp]]:
    """Ask a round of such points; return also how amazing the answers were, and their row numbers."""
    fitted = state.known.fitted
    points = _points_of_units(state, session, wide, length, accuracy)
    placed = len(points) > 0
    if not placed:  # no such point is clear of other units
        points = session.draw(2 * session.n_features, state)
    asked = session.ask(points, "levers")
    if placed:
        state = state.with_rows(placed=np.concatenate([state.rows.placed, asked.rows]))
    squares = squared_standardised_residuals(fitted, points, asked.answers, session.noise(state), session.g)
    return state, float(np.mean(np.minimum(squares, DOUBT.impossible**2))), asked.rows


def _points_of_units(
    state: FitState, session: Session, units: NDArray[np.intp], length: float, accuracy: float
) -> Floats:
    """Return points of high leverage of some units, (n, d)."""
    fitted, rng = state.known.fitted, session.rng
    if session.labels:
        # Errors fall like one over the root of the information: (cone / accuracy)^2 - 1 times what there is.
        missing = np.minimum((cones(fitted) / accuracy) ** 2 - 1, 1.0)
        return np.concatenate([
            leverage_points_for_labels(fitted, int(unit), length, float(missing[unit]), session.g, rng)
            for unit in units
        ])  # fmt: skip
    most = max(1, len(state.rows.used) // (len(units) * (session.n_features - 1)))  # at most doubles the answers
    return np.concatenate([
        leverage_points(fitted, int(unit), length, rng)
        for unit in units
        for _ in range(min(most, leverage_repeats(fitted, int(unit), state.variance.sd)))
    ])  # fmt: skip


def question_noise(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Measure the noise where residuals are large for it."""
    if session.noisy and state.has_excess(DOUBT.worth_asking):
        state = refit(measure_noise(state, session), session)
    return state, Outcome.STANDS


def take_all_in(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Fit the answers of all other steps, too, and sharpen again where there were any."""
    n_before = len(state.rows.used)
    state = take_in(state, session)
    if len(state.rows.used) > n_before:
        state = refined(state, session, session.accuracy)
    return state, Outcome.STANDS


def measure_parameters(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Ask where slopes, weights and offsets show best, once per unknown, if answers are merely rounded."""
    if (
        session.asked_for is None
        and (session.precision.is_rounded or session.precision.is_float32)
        and not state.from_steps
    ):
        fitted = state.known.fitted
        points = informative_points(fitted.theta, state.radius, len(fitted.information), session.g, session.rng)
        asked = session.ask(points, "parameters")
        state = refit(state.with_rows(used=np.concatenate([state.rows.used, asked.rows])), session)
    return state, Outcome.STANDS


def weigh_uneven_noise(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Weigh each answer by a variance function where one size of noise does not do; the last step, for rows as used."""
    if not session.noisy or _spread(state) is None:
        return state, Outcome.STANDS
    state = refined(state, session, session.accuracy / REFINE.uneven_widening)
    relative = _spread(state)
    noise = replace(session.noise(state), relative=1.0 if relative is None else relative)
    replies = state.known.replies
    fitted = fit_jointly(state.known.fitted.theta, replies.X, replies.y, noise, session.g)
    return calibrated(joined(fitted, state, session, noise), session), Outcome.STANDS


def _spread(state: FitState) -> Floats | None:
    joint = state.known
    return relative_spread(joint.fitted.residuals, joint.replies.y - joint.fitted.residuals)
