"""Is every unit needed, and is there none too few? Leave out, merge, split, fit again, and compare."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincinv

from ...activations import Activation
from ...checking import Floats
from ...fit import Fitted, Parameters, fit_jointly
from ...fit.moves import bending_direction, merged, nearest_pair, split, with_units, without
from ...geometry import normalize_rows
from ...likelihood import Noise
from .tuning import THINNING

__all__ = ["leaves_room", "richer", "simpler"]


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
