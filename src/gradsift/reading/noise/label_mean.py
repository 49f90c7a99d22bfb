"""How well do labels tell their mean, and is it the function itself, not one seen through a link?

A sum of sigmoids behind a link (a probit, a majority of several draws) has the same units, other slopes and another
mean. Labels never contradict a fit, so that the likelihoods of both are compared, and a bent link is tested for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arguments import Floats
from ...certificate import LABELS
from ...certificate.noise_rules import KnownMean
from ...fit import fit_jointly, predict, value_jacobian
from ...fit.covariance import LEVELS
from ..check_inputs import fresh_inputs
from ..ledger import n_affordable
from .leverage import informative_points
from .missing_unit import look_for_unit, weight_in_question
from .refine_directions import refined
from .refit import refit
from .settings import DOUBT
from .state import FitState, JointFit, Session

_ROUND = (0.25, 0.5)  # of the labels in use, least and most; guess
_ODDS = 3.0  # log-odds over the mean, for a start: 2 about zero and more beyond; guess


def measure_mean(state: FitState, session: Session) -> FitState:
    """Ask where slopes, weights and offsets show best until the mean is known well enough, and look for a unit again.

    Directions become sharp by few labels far out, which tell little else.
    """
    for _ in range(DOUBT.rounds):
        error, test, fitted = known_mean(state, session).error, state.another, state.known.fitted
        if test is None or test.alarm:  # no labels mend that
            break
        unseen = test.level > LABELS.weight_shown * weight_in_question(fitted.theta.u)
        if error <= LABELS.known_mean and not unseen:
            break
        missing = float(np.clip((error / LABELS.known_mean) ** 2 - 1, *_ROUND))
        n = int(np.ceil(missing * len(state.rows.used)))
        if n_affordable(session.ledger.oracle, n, session.ledger) < n:
            break
        asked = session.ask(informative_points(fitted.theta, state.radius, n, session.g, session.rng), "mean")
        state = refit(state.with_rows(used=np.concatenate([state.rows.used, asked.rows])), session)
        state = refined(state, session, session.accuracy)
        if unseen:
            state, _ = look_for_unit(state, session)
    return state


def known_mean(state: FitState, session: Session) -> KnownMean:
    """Return how well the mean is known over inputs as a certificate speaks of; no queries.

    Two widened standard errors, root mean square over the inputs, with a free coefficient of the link; where log-odds
    that are a sum of such units explain the labels almost as well, with twice the distance of the two means.
    """
    joint, g = state.known, session.g
    X, y, noise, fitted = joint.replies.X, joint.replies.y, joint.noise, joint.fitted
    points = _points(state, session)
    variances, score = with_free_link(joint, points)
    error = 2 * state.widening.surely * float(np.sqrt(np.mean(variances)))
    # For small r the log-odds 2 artanh r are about 2 r; fitted units that reach the limits need more.
    start = fitted.theta._replace(u=_ODDS * fitted.theta.u, c=_ODDS * fitted.theta.c)
    odds = fit_jointly(start, X, y, replace(noise, log_odds=True), g).theta
    # The mean of a label with log-odds r is tanh(r / 2).
    gain = noise.loss(y - fitted.residuals, y) - noise.loss(np.tanh(0.5 * predict(odds, X, g)), y)
    apart = np.abs(predict(fitted.theta, points, g) - np.tanh(0.5 * predict(odds, points, g)))
    if gain > -LABELS.told_apart:
        # At 95% of the inputs the two means are closer than this; other links may lead farther off.
        error = float(np.hypot(error, 2 * np.quantile(apart, LEVELS[1])))
    return KnownMean(error, float(gain), 0.5 * score**2)


def with_free_link(joint: JointFit, points: Floats) -> tuple[Floats, float]:
    """Return the variances of the mean at some points (n,) if its link may bend, and how surely it does.

    Pregibon's goodness-of-link test: the mean may be ``r + t (r - r^3)``, which is a majority of three for t = 1/2. One
    score step for t at the fitted r; t over its standard error is standard normal for the right link.
    """
    g = joint.g
    theta, mirrors, C = joint.fitted.theta, joint.fitted.mirrors, joint.fitted.covariance
    r, at_points = (predict(theta, rows, g) for rows in (joint.replies.X, points))
    J, at = (value_jacobian(theta, rows, g, mirrors) for rows in (joint.replies.X, points))
    score, precision = joint.noise.score(r, joint.replies.y), joint.noise.precision(r)
    # The column of t beside the Jacobian: its part that no other unknown explains carries the information on t.
    bend = r - r**3
    cross = J.T @ (precision * bend)
    shared = C @ cross
    information = max(float(precision @ bend**2 - cross @ shared), 1e-300)
    slope = float(bend @ score - (J.T @ score) @ shared)
    beside = at_points - at_points**3 - at @ shared
    variances = np.einsum("np,np->n", at @ C, at) + beside**2 / information
    return np.asarray(variances), slope / np.sqrt(information)


def _points(state: FitState, session: Session) -> Floats:
    """Return such inputs in the coordinates of the fit, (n, d); the same ones for the same units.

    An input that no unit is known to listen to has a usual size there: its column is nothing but errors.
    """
    oracle, fitted = session.ledger.oracle, state.known.fitted
    theta = fitted.theta
    if session.bounded:
        return session.place.region.draw(DOUBT.sampled, state.radius, np.random.default_rng(0))
    model = session.link.to_model(theta.A, theta.b, theta.u, theta.c)
    return fresh_inputs(model, oracle, DOUBT.sampled, np.random.default_rng(0), float(fitted.angles.max()))
