"""Two nearly parallel units that cancel far out: a ridge that many answers show, or a spike that fits a few of them?"""

from __future__ import annotations

import numpy as np

from ...activations import Activation
from ...checking import Floats
from ...checks.imperfect import Cancelling
from ...checks.limits import UnitLimits
from ...fit import Parameters, fit_jointly, predict
from ...fit.moves import without
from ...geometry import normalize_rows
from .belief import JointFit

__all__ = ["cancelling_pairs", "weakest_ridge"]


def cancelling_pairs(theta: Parameters, limits: UnitLimits) -> list[tuple[int, int]]:
    """Return the nearly parallel pairs of units that leave hardly anything of the larger weight far out."""
    units, u = normalize_rows(theta.A), theta.u
    cosines = units @ units.T
    together = np.abs(u[:, None] + np.sign(cosines) * u)  # weight of a pair seen from afar
    apart = np.maximum(np.abs(u)[:, None], np.abs(u))
    pairs = np.triu((np.abs(cosines) > limits.parallel) & (together < limits.cancelling * apart), 1)
    return [(int(i), int(j)) for i, j in np.argwhere(pairs)]


def weakest_ridge(joint: JointFit, g: Activation, limits: UnitLimits) -> Cancelling | None:
    """Return the cancelling pair that the fewest answers carry; None without such pairs.

    All answers are fitted again with one unit of the pair, which alone makes neither a ridge nor a spike. A spike
    explains a few answers; the gains of a ridge are many, and each is small beside their sum.
    """
    fitted, X, y, noise = joint.fitted, joint.replies.X, joint.replies.y, joint.noise
    layout = fitted.theta.layout
    errors = np.sqrt(np.diag(fitted.covariance)[layout.weights])
    price = 0.5 * layout.per_unit * noise.price(len(y))  # of a unit, in nats
    found = []
    for pair in cancelling_pairs(joint.settled.theta, limits):
        rest = min((fit_jointly(without(fitted.theta, i), X, y, noise, g) for i in pair), key=lambda one: one.loss)
        gains = _losses(rest.theta, joint, g) - _losses(fitted.theta, joint, g)
        left = gains.sum() - np.cumsum([0.0, *np.sort(gains)[::-1]])  # without the largest gains, one after the other
        worst = max(pair, key=lambda i: errors[i] / abs(fitted.theta.u[i]))
        found.append(Cancelling(int(np.argmax(left <= price)), abs(float(fitted.theta.u[worst])), float(errors[worst])))
    return min(found, key=lambda one: (one.error <= limits.told * one.weight, one.n_carrying), default=None)


def _losses(theta: Parameters, joint: JointFit, g: Activation) -> Floats:
    return joint.noise.likelihood.losses(predict(theta, joint.replies.X, g), joint.replies.y)
