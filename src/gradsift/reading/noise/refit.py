"""What every stage does with the rows in use: fit them, drop units or look for one more, judge the noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...fit import Fitted, fit_jointly, mirror_rows, moved_by, predict
from ...fit.moves import drop_or_merge, room_for_unit, split_or_add
from ...likelihood import Noise
from .bias import Replies
from .leverage import clear_of
from .noise_tests import Variance
from .settings import DOUBT, REFIT, SCALE
from .state import FitState, JointFit, Session


def restart_across_plane(fitted: Fitted, X: Floats, y: Floats, noise: Noise, g: Activation) -> Fitted:
    """Return a better fit if the largest residual is one that a turn of some unit's plane would explain.

    Far out in a unit's plane a small turn takes the unit from one plateau to the other, where the answer no longer
    depends on the turn and a descent stays. The turn that the answer asks for is the mean of the posterior given
    that the unit's argument there is the one at which the model answers so. No more than three joint fits.
    """
    for _ in range(0 if noise.labels else DOUBT.rounds):
        row = int(np.argmax(np.abs(fitted.residuals)))
        if abs(fitted.residuals[row]) < DOUBT.sign * noise.sd:
            break
        # A Gauss-Newton step cannot cross a plateau, where derivatives vanish: start anew on its other side.
        step = _turn(fitted, X[row], float(fitted.residuals[row]), g)
        again = fit_jointly(moved_by(fitted.theta, fitted.mirrors, step), X, y, noise, g)
        if again.loss > fitted.loss - DOUBT.nats:
            break
        fitted = again
    return fitted


def _turn(fitted: Fitted, x: Floats, missing: float, g: Activation) -> Floats:
    """Return the likeliest step, in local coordinates, that adds `missing` to the value at x."""
    theta = fitted.theta
    layout = theta.layout
    z = theta.A @ x + theta.b
    # Half way to where units stand still, an argument still follows from the value.
    bend = g.value(np.array(0.5 * SCALE.spread))
    wanted = np.clip(g.value(z) + missing / theta.u, -bend, bend)  # (k,)
    gaps = g.invert(wanted) - z
    rows = np.zeros((layout.n_units, len(fitted.information)))
    for unit in range(layout.n_units):
        rows[unit, layout.a(unit)] = mirror_rows(x[None], fitted.mirrors[unit])[0]
        rows[unit, layout.b][unit] = 1.0
    gains = rows @ fitted.covariance  # (k, P)
    doubts = np.maximum(np.einsum("kp,kp->k", gains, rows), 1e-300)
    left = np.abs(missing - theta.u * (wanted - g.value(z))) / abs(missing)
    unit = int(np.argmin(np.abs(gaps) / np.sqrt(doubts) + 100 * left))
    return np.asarray(gains[unit] * gaps[unit] / doubts[unit])


def joined(fitted: Fitted, state: FitState, session: Session, noise: Noise) -> FitState:
    """Return the state in a fit of the rows in use."""
    rows = state.rows
    replies = Replies(session.X[rows.used], session.y[rows.used], np.isin(rows.used, rows.placed))
    session.ledger.n_units = len(fitted.theta.u)
    return session.keep(replace(state, joint=JointFit(fitted, replies, noise, session.g, biased=session.noisy)))


def refit(state: FitState, session: Session, start: Fitted | None = None) -> FitState:
    """Fit all rows in use, from `start` or the last fit; take the noise from the residuals and fit once more.

    Answers that are isolated and impossible are set aside, and those taken back that have become possible.
    """
    state, fitted = _fit_rows(state, session, state.known.fitted if start is None else start)
    if not session.labels:
        sorted_out = _excluded(state, fitted, session)
        if sorted_out is not None:
            state, fitted = _fit_rows(sorted_out, session, fitted)
    return joined(fitted, state, session, session.noise(state))


def _fit_rows(state: FitState, session: Session, start: Fitted) -> tuple[FitState, Fitted]:
    X, y = session.X[state.rows.used], session.y[state.rows.used]
    fitted = fit_jointly(start.theta, X, y, session.noise(state), session.g)
    if session.noisy:
        freedom = len(y) - len(fitted.information)
        first = Variance(session.precision.sd**2, REFIT.first_freedom)
        state = replace(state, variance=first.pooled(float((fitted.residuals**2).sum()), freedom))
        fitted = fit_jointly(fitted.theta, X, y, session.noise(state), session.g)
    return state, restart_across_plane(fitted, X, y, session.noise(state), session.g)


def _excluded(state: FitState, fitted: Fitted, session: Session) -> FitState | None:
    """Return the state with other rows in use, or None if all may stay."""
    rows, limit = state.rows, DOUBT.impossible * state.variance.sd
    off = np.abs(session.y[rows.stray] - predict(fitted.theta, session.X[rows.stray], session.g)) > limit
    back, out = rows.stray[~off], rows.used[np.abs(fitted.residuals) > limit]
    if len(out) > REFIT.most_stray * len(rows.used):
        out = out[:0]  # not isolated: it is the fit that is wrong
    if not len(back) and not len(out):
        return None
    used = np.setdiff1d(np.union1d(rows.used, back), out)
    return state.with_rows(used=used, stray=np.concatenate([rows.stray[off], out]))


def take_in(state: FitState, session: Session) -> FitState:
    """Fit noisy answers of all other steps, too, but for those that hang on a sign in doubt."""
    rows = state.rows
    others = np.setdiff1d(np.arange(len(session.y)), np.concatenate([rows.used, rows.stray]))
    if not session.noisy or not len(others):
        return state
    settled = state.known.settled
    clear = others[clear_of(range(len(settled.theta.u)), settled, session.X[others], DOUBT.sign)]
    return refit(state.with_rows(used=np.union1d(rows.used, clear)), session) if len(clear) else state


def measure_noise(state: FitState, session: Session) -> FitState:
    """Repeat some random inputs: a misfit is to be told from noise. Once, or as often as a share of them allows."""
    if state.repeats.freedom > max(1.5 * DOUBT.few, session.policy.another.share * len(state.rows.near)):
        return state
    rows = session.rng.choice(state.rows.near, DOUBT.few, replace=False)
    again = session.ask(session.X[rows], "noise")
    # Differences of repeated answers have twice the variance of the noise, whatever the function.
    gaps = again.answers - session.y[rows]
    variance = state.repeats.pooled(0.5 * float((gaps**2).sum()), DOUBT.few)
    state = state.with_rows(near=np.concatenate([state.rows.near, again.rows]))
    return replace(state, variance=variance, repeats=variance)


def thin_out(state: FitState, session: Session) -> FitState:
    """Drop units that all replies together do not need, but not those that other evidence has shown."""
    while state.known.n_units > state.student.least:
        joint = state.known
        smaller = drop_or_merge(joint.fitted, joint.replies.X, joint.replies.y, session.noise(state), session.g)
        if smaller is None:
            break
        state = refit(state, session, smaller)
    return state


def one_more_unit(state: FitState, session: Session) -> Fitted | None:
    """Return the network with one more unit, for instance a split pair, if that explains the replies better.

    With the noise of the repeats: that of the residuals would hide what is missing.
    """
    joint = state.known
    X, y = joint.replies.X, joint.replies.y
    if state.from_steps and not room_for_unit(joint.fitted):
        return None
    noise = least_noise(state, session)
    return split_or_add(fit_jointly(joint.fitted.theta, X, y, noise, session.g), X, y, noise, session.g, session.rng)


def worth_of_one_more(state: FitState, session: Session) -> float:
    """Return by how many nats the network with one more unit explains the rows in use better; 0 without one."""
    if state.larger_fit is None:
        return 0.0
    joint = state.known
    X, y, noise = joint.replies.X, joint.replies.y, joint.noise
    wider = fit_jointly(state.larger_fit.theta, X, y, noise, session.g)
    return max(noise.loss(y - joint.fitted.residuals, y) - noise.loss(y - wider.residuals, y), 1e-9)


def least_noise(state: FitState, session: Session) -> Noise:
    """Return the noise of the repeats, or of the residuals where it is less: what is missing enlarges residuals."""
    return replace(session.noise(state), sd=min(state.repeats.sd, state.variance.sd))


def take_one_more(state: FitState, session: Session) -> FitState:
    """Go on with the wider network; what was tested before it says nothing of it."""
    if state.larger_fit is None:
        return state
    return refit(replace(state.without_test(), larger_fit=None, another=None), session, state.larger_fit)
