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
from .settings import ESCAPE, REFIT
from .state import Asker, Belief, JointFit


def mend(fitted: Fitted, X: Floats, y: Floats, noise: Noise, g: Activation) -> Fitted:
    """Return a better fit if the largest residual is one that a turn of some unit's plane would explain.

    Far out in a unit's plane a small turn takes the unit from one plateau to the other, where the answer no longer
    depends on the turn and a descent stays. The turn that the answer asks for is the mean of the posterior given
    that the unit's argument there is the one at which the model answers so. No more than four joint fits.
    """
    for _ in range(0 if noise.labels else ESCAPE.most_tries):
        row = int(np.argmax(np.abs(fitted.residuals)))
        if abs(fitted.residuals[row]) < ESCAPE.impossible * noise.sd:
            break
        step = _turn(fitted, X[row], float(fitted.residuals[row]), g)
        again = fit_jointly(moved_by(fitted.theta, fitted.mirrors, step), X, y, noise, g)
        if again.loss > fitted.loss - ESCAPE.worth:
            break
        fitted = again
    return fitted


def _turn(fitted: Fitted, x: Floats, missing: float, g: Activation) -> Floats:
    """Return the likeliest step, in local coordinates, that adds `missing` to the value at x."""
    theta = fitted.theta
    layout = theta.layout
    z = theta.A @ x + theta.b
    wanted = np.clip(g.value(z) + missing / theta.u, -ESCAPE.slope, ESCAPE.slope)  # (k,)
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


def joined(fitted: Fitted, belief: Belief, asker: Asker, noise: Noise) -> Belief:
    """Return the belief in a fit of the rows in use."""
    rows = belief.rows
    replies = Replies(asker.X[rows.used], asker.y[rows.used], np.isin(rows.used, rows.placed))
    asker.ledger.n_units = len(fitted.theta.u)
    return asker.keep(replace(belief, joint=JointFit(fitted, replies, noise, asker.g, biased=asker.noisy)))


def refit(belief: Belief, asker: Asker, start: Fitted | None = None) -> Belief:
    """Fit all rows in use, from `start` or the last fit; take the noise from the residuals and fit once more.

    Answers that are isolated and impossible are set aside, and those taken back that have become possible.
    """
    belief, fitted = _fit_rows(belief, asker, belief.known.fitted if start is None else start)
    if not asker.labels:
        sorted_out = _set_aside(belief, fitted, asker)
        if sorted_out is not None:
            belief, fitted = _fit_rows(sorted_out, asker, fitted)
    return joined(fitted, belief, asker, asker.noise(belief))


def _fit_rows(belief: Belief, asker: Asker, start: Fitted) -> tuple[Belief, Fitted]:
    X, y = asker.X[belief.rows.used], asker.y[belief.rows.used]
    fitted = fit_jointly(start.theta, X, y, asker.noise(belief), asker.g)
    if asker.noisy:
        freedom = len(y) - len(fitted.information)
        first = Variance(asker.precision.sd**2, REFIT.first_freedom)
        belief = replace(belief, variance=first.pooled(float((fitted.residuals**2).sum()), freedom))
        fitted = fit_jointly(fitted.theta, X, y, asker.noise(belief), asker.g)
    return belief, mend(fitted, X, y, asker.noise(belief), asker.g)


def _set_aside(belief: Belief, fitted: Fitted, asker: Asker) -> Belief | None:
    """Return the belief with other rows in use, or None if all may stay."""
    rows, limit = belief.rows, REFIT.impossible * belief.variance.sd
    off = np.abs(asker.y[rows.stray] - predict(fitted.theta, asker.X[rows.stray], asker.g)) > limit
    back, out = rows.stray[~off], rows.used[np.abs(fitted.residuals) > limit]
    if len(out) > REFIT.most_stray * len(rows.used):
        out = out[:0]  # not isolated: it is the fit that is wrong
    if not len(back) and not len(out):
        return None
    used = np.setdiff1d(np.union1d(rows.used, back), out)
    return belief.with_rows(used=used, stray=np.concatenate([rows.stray[off], out]))


def take_in(belief: Belief, asker: Asker) -> Belief:
    """Fit noisy answers of all other steps, too, but for those that hang on a sign in doubt."""
    rows = belief.rows
    others = np.setdiff1d(np.arange(len(asker.y)), np.concatenate([rows.used, rows.stray]))
    if not asker.noisy or not len(others):
        return belief
    settled = belief.known.settled
    clear = others[clear_of(range(len(settled.theta.u)), settled, asker.X[others], REFIT.sign_sure)]
    return refit(belief.with_rows(used=np.union1d(rows.used, clear)), asker) if len(clear) else belief


def measure_noise(belief: Belief, asker: Asker) -> Belief:
    """Repeat some random inputs: a misfit is to be told from noise. Once, or as often as a share of them allows."""
    if belief.repeats.freedom > max(1.5 * REFIT.repeated, REFIT.repeated_share * len(belief.rows.near)):
        return belief
    rows = asker.rng.choice(belief.rows.near, REFIT.repeated, replace=False)
    again = asker.ask(asker.X[rows], "noise")
    gaps = again.answers - asker.y[rows]
    variance = belief.repeats.pooled(0.5 * float((gaps**2).sum()), REFIT.repeated)
    belief = belief.with_rows(near=np.concatenate([belief.rows.near, again.rows]))
    return replace(belief, variance=variance, repeats=variance)


def thin_out(belief: Belief, asker: Asker) -> Belief:
    """Drop units that all replies together do not need, but not those that other evidence has shown."""
    while belief.known.n_units > belief.study.least:
        joint = belief.known
        smaller = drop_or_merge(joint.fitted, joint.replies.X, joint.replies.y, asker.noise(belief), asker.g)
        if smaller is None:
            break
        belief = refit(belief, asker, smaller)
    return belief


def look_wider(belief: Belief, asker: Asker) -> Fitted | None:
    """Return the network with one more unit, for instance a split pair, if that explains the replies better.

    With the noise of the repeats: that of the residuals would hide what is missing.
    """
    joint = belief.known
    X, y = joint.replies.X, joint.replies.y
    if belief.read and not room_for_unit(joint.fitted):
        return None
    noise = least_noise(belief, asker)
    return split_or_add(fit_jointly(joint.fitted.theta, X, y, noise, asker.g), X, y, noise, asker.g, asker.rng)


def worth_of_wider(belief: Belief, asker: Asker) -> float:
    """Return by how many nats the network with one more unit explains the rows in use better; 0 without one."""
    if belief.wider is None:
        return 0.0
    joint = belief.known
    X, y, noise = joint.replies.X, joint.replies.y, joint.noise
    wider = fit_jointly(belief.wider.theta, X, y, noise, asker.g)
    return max(noise.loss(y - joint.fitted.residuals, y) - noise.loss(y - wider.residuals, y), 1e-9)


def least_noise(belief: Belief, asker: Asker) -> Noise:
    """Return the noise of the repeats, or of the residuals where it is less: what is missing enlarges residuals."""
    return replace(asker.noise(belief), sd=min(belief.repeats.sd, belief.variance.sd))


def widened(belief: Belief, asker: Asker) -> Belief:
    """Go on with the wider network; what was tested before it says nothing of it."""
    if belief.wider is None:
        return belief
    return refit(replace(belief.untested(), wider=None, another=None), asker, belief.wider)
