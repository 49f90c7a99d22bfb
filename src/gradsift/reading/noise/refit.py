"""What every stage does with the rows in use: fit them, drop units or look for one more, judge the noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import gammaincinv

from ...activations import Activation
from ...arguments import Floats
from ...fit import Fitted, Parameters, fit_jointly, moved_by, predict, reflect
from ...fit.moves import bending_direction, merged, nearest_pair, split, with_units, without
from ...geometry import normalize_rows
from ...likelihood import Noise
from .bias import Replies
from .leverage import clear_of
from .noise_tests import Variance
from .session import Asker
from .settings import ESCAPE, REFIT, THINNING
from .state import Belief, JointFit


def simpler(fitted: Fitted, X: Floats, y: Floats, noise: Noise, g: Activation) -> Fitted | None:
    """Return a network with one unit less that BIC likes about as well, or None.

    Units whose weight is far from zero by Wald's test are not tried. At most k + 1 joint fits; none where every unit
    is known so well that it can neither vanish nor be another one.
    """
    layout = fitted.theta.layout
    price = layout.per_unit * noise.price(len(y)) + THINNING.margin
    if layout.n_units < 2 or _indispensable(fitted, price):
        return None
    variances = np.diag(fitted.covariance)[layout.weights]
    doubtful = np.flatnonzero(fitted.theta.u**2 < THINNING.clear * price * variances)
    starts = [
        *(without(fitted.theta, int(unit)) for unit in doubtful),
        merged(fitted.theta, *nearest_pair(fitted.theta)),
    ]
    best = _best(starts, X, y, noise, g)
    return best if best is not None and 2 * (best.loss - fitted.loss) < price else None


def _best(starts: list[Parameters], X: Floats, y: Floats, noise: Noise, g: Activation) -> Fitted | None:
    """Return the best fit from several starts: a few steps from each, more from the better ones."""
    heats = [fit_jointly(start, X, y, noise, g, most=THINNING.heat) for start in starts]
    best = sorted(heats, key=lambda one: one.loss)[: THINNING.finalists]
    finals = [fit_jointly(one.theta, X, y, noise, g, enough=THINNING.enough) for one in best]
    return min(finals, key=lambda one: one.loss, default=None)


def _indispensable(fitted: Fitted, price: float) -> bool:
    """Tell whether all weights are so many standard errors from zero, and all units so many from each other, that
    the parabola of the likelihood need not be trusted to its end: a hundred times the price."""
    theta, far = fitted.theta, 10 * np.sqrt(price)
    k = len(theta.u)
    sd = np.sqrt(np.diag(fitted.covariance))
    angles = fitted.angles
    units = normalize_rows(theta.A)
    apart = np.sqrt(np.maximum(2 - 2 * np.abs(units @ units.T), 0)) + 2 * np.eye(k)
    known = (np.abs(theta.u) > far * sd[theta.layout.weights]) & (angles * far < 1)
    return bool(known.all() and (apart > far * (angles[:, None] + angles)).all())


def richer(
    fitted: Fitted, X: Floats, y: Floats, noise: Noise, g: Activation, rng: np.random.Generator
) -> Fitted | None:
    """Return a network with one unit more that BIC likes better, or None: each unit split in two, and random ones.

    A unit that stands for two nearly parallel ones leaves residuals that bend across it: it is split along the
    direction across it that the residuals curve along most. One that stands for two parallel ones is split along
    itself, into two steeper ones with other offsets. 3 k + 3 short joint fits, and two long ones.
    """
    theta = fitted.theta
    d = theta.A.shape[1]
    length = float(np.median(np.linalg.norm(theta.A, axis=1)))
    weight = THINNING.share * float(np.abs(theta.u).max())
    units = range(len(theta.u))
    starts = [_split(fitted, unit, X, g) for unit in units] if d > 1 else []
    starts += [_shifted(theta, unit, share) for unit in units for share in THINNING.shares]
    for _ in range(THINNING.n_random):
        a = rng.standard_normal(d)
        sign = float(rng.choice([-1.0, 1.0]))
        starts.append(with_units(theta, np.asarray(length * a / np.linalg.norm(a)), sign * weight, 0.0))
    if len(y) <= theta.layout.size + theta.layout.per_unit:
        return None
    if noise.labels:
        starts.append(with_units(theta, length * _left_over(fitted, X), weight, 0.0))
    best = _best(starts, X, y, noise, g)
    price = theta.layout.per_unit * noise.price(len(y)) + THINNING.margin
    return best if best is not None and 2 * (fitted.loss - best.loss) > price else None


def leaves_room(fitted: Fitted) -> bool:
    """Tell whether one more unit could pay its price: with known noise some of the loss must remain."""
    n, per_unit = len(fitted.residuals), fitted.theta.layout.per_unit
    freedom = n - len(fitted.information) - per_unit
    price = per_unit * float(np.log(n)) + THINNING.margin
    return freedom > 0 and bool(2 * fitted.loss - price > 2 * gammaincinv(0.5 * freedom, THINNING.implausible))


def _left_over(fitted: Fitted, X: Floats) -> Floats:
    """Return the direction along which the residuals grow most; that of a missing unit, if inputs are random."""
    v = fitted.residuals @ (X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300))
    return np.asarray(v / max(float(np.linalg.norm(v)), 1e-300))


def _shifted(theta: Parameters, unit: int, share: float) -> Parameters:
    """Return the network with one unit made two parallel ones, of which the second has this share of the weight."""
    A, u, b = theta.A.copy(), theta.u.copy(), theta.b.copy()
    A[unit] *= THINNING.steeper
    b[unit] = THINNING.steeper * b[unit] + 2 * share * THINNING.shift
    u[unit] *= 1 - share
    second = THINNING.steeper * float(theta.b[unit]) - 2 * (1 - share) * THINNING.shift
    return with_units(theta._replace(A=A, u=u, b=b), A[unit], share * float(theta.u[unit]), second)


def _split(fitted: Fitted, unit: int, X: Floats, g: Activation) -> Parameters:
    theta = fitted.theta
    a = theta.A[unit]
    near = np.exp(-0.5 * (X @ a + theta.b[unit]) ** 2)  # rows on the unit's slope
    bend = fitted.residuals * g.second_derivative(X @ a + theta.b[unit])
    across = X - np.outer(X @ a, a) / (a @ a)
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-300)  # levers would outvote all others
    return split(theta, unit, bending_direction(across, near * bend) * THINNING.apart * np.linalg.norm(a))


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
        rows[unit, layout.a(unit)] = reflect(x[None], fitted.mirrors[unit])[0]
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
        first = Variance(asker.floor.sd**2, REFIT.first_freedom)
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
        smaller = simpler(joint.fitted, joint.replies.X, joint.replies.y, asker.noise(belief), asker.g)
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
    if belief.read and not leaves_room(joint.fitted):
        return None
    noise = least_noise(belief, asker)
    return richer(fit_jointly(joint.fitted.theta, X, y, noise, asker.g), X, y, noise, asker.g, asker.rng)


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
