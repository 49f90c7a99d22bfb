"""One unit as two nearly parallel ones: starts, whether answers are worth the second, the least angle that shows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from ...activations import Activation
from ...arguments import Floats
from ...certificate.limits import UnitLimits
from ...certificate.noise_rules import Cancelling
from ...fit import Fitted, Parameters, fit_jointly, predict, value_jacobian
from ...fit.covariance import LEVELS
from ...fit.moves import MOVES, merged, unit_price, with_units, without
from ...geometry import normalize_rows
from ...likelihood import Noise
from .settings import DOUBT, HALVES, SCALE, SPLIT_POWER
from .state import JointFit


def cancelling_pairs(theta: Parameters, limits: UnitLimits) -> list[tuple[int, int]]:
    """Return the nearly parallel pairs of units that leave hardly anything of the larger weight far out."""
    units, u = normalize_rows(theta.A), theta.u
    cosines = units @ units.T
    together = np.abs(u[:, None] + np.sign(cosines) * u)  # weight of a pair seen from afar
    apart = np.maximum(np.abs(u)[:, None], np.abs(u))
    pairs = np.triu((np.abs(cosines) > limits.parallel) & (together < limits.cancelling * apart), 1)
    return [(int(i), int(j)) for i, j in np.argwhere(pairs)]


def worst_ridge(joint: JointFit, g: Activation, limits: UnitLimits) -> Cancelling | None:
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
        # Take away the answers that gain most, one after the other, until the second unit is not worth its price.
        left = gains.sum() - np.cumsum([0.0, *np.sort(gains)[::-1]])  # without the largest gains, one after the other
        worst = max(pair, key=lambda i: errors[i] / abs(fitted.theta.u[i]))
        found.append(Cancelling(int(np.argmax(left <= price)), abs(float(fitted.theta.u[worst])), float(errors[worst])))
    return min(found, key=lambda one: (one.error <= limits.told * one.weight, one.n_carrying), default=None)


def _losses(theta: Parameters, joint: JointFit, g: Activation) -> Floats:
    return joint.noise.likelihood.losses(predict(theta, joint.replies.X, g), joint.replies.y)


class SuspectedPair(NamedTuple):
    """What answers beside a hyperplane say of a unit's partner.

    unit : number of the unit
    across : (d,) direction of the partner across the unit, of length one
    weight : of the partner
    tilt, length : typical angle between the inputs asked and the hyperplane, and the largest distance of these inputs
    """

    unit: int
    across: Floats
    weight: float
    tilt: float
    length: float


class _Start(NamedTuple):
    """A network to begin with, and the angle between the units in question."""

    theta: Parameters
    angle: float


def halved(
    fitted: Fitted,
    suspected: SuspectedPair,
    X: Floats,
    y: Floats,
    noise: Noise,
    g: Activation,
    rng: np.random.Generator,
) -> Fitted:
    """Return the best network for all answers: with as many units as before, or with one unit made two.

    Two where all answers are worth the second and both halves are plausible. A unit that is itself the half of a pair
    may be in the wrong place: it and its neighbour are then made one, and two again.

    Far inputs are saturated, so that their answers turn no unit. They are drawn in towards the unit's own point until
    the partner bends there, and let out again as the halves fall into place. About 100 short joint fits.

    Parameters
    ----------
    fitted : Fitted
        To all rows, before there was a suspected.
    suspected : SuspectedPair
    X, y : (n, d) and (n,) arrays
    """
    theta, unit = fitted.theta, suspected.unit
    e = [
        suspected.across,
        *(_across(theta.A[unit], v) for v in rng.standard_normal((MOVES.n_random, theta.A.shape[1]))),
    ]
    one, neighbour = fitted, _nearest(theta, unit)
    if neighbour is not None:
        both, at = merged(theta, unit, neighbour), unit - (neighbour < unit)
        last = with_units(without(theta, neighbour), theta.A[neighbour], theta.u[neighbour], theta.b[neighbour])
        starts = [_Start(last, HALVES.angles[0]), *_starts(both, at, e, suspected)]
        again = _best(starts, at, suspected, X, y, noise, g)
        one = min(one, again, key=lambda fit: fit.loss)
    two = _best(_starts(theta, unit, e, suspected), unit, suspected, X, y, noise, g)
    worth = 2 * (one.loss - two.loss) > unit_price(theta, noise, len(y))
    return two if worth and _likely_halves(two.theta, theta, unit) else one


def _across(a: Floats, v: Floats) -> Floats:
    """Return the direction of v across a."""
    v = v - (v @ a) / (a @ a) * a
    return np.asarray(v / max(float(np.linalg.norm(v)), 1e-300))


def _nearest(theta: Parameters, unit: int) -> int | None:
    """Return the unit that is nearest in direction, if it is near."""
    units = normalize_rows(theta.A)
    cosines = np.abs(units @ units[unit])
    cosines[unit] = 0.0
    nearest = int(np.argmax(cosines))
    return nearest if cosines[nearest] > np.cos(HALVES.angles[-1]) else None


def _starts(theta: Parameters, unit: int, directions: list[Floats], suspected: SuspectedPair) -> list[_Start]:
    """Return networks with two units in the place of one, at several angles in some directions across it.

    The unit stands for the first half, or for both in proportion to their weights.
    """
    a, u, b = theta.A[unit], float(theta.u[unit]), float(theta.b[unit])
    weight = suspected.weight
    starts = []
    for angle in (*(factor * suspected.tilt for factor in HALVES.over_tilt), *HALVES.angles):
        for e in directions:
            for share in (0.0, abs(weight) / (abs(u - weight) + abs(weight))):
                first, second = (
                    np.cos(t) * a + np.sin(t) * np.linalg.norm(a) * e for t in (-share * angle, (1 - share) * angle)
                )
                A, weights = theta.A.copy(), theta.u.copy()
                A[unit], weights[unit] = MOVES.steeper * first, u - weight
                theta_two = with_units(theta._replace(A=A, u=weights), MOVES.steeper * second, weight, b)
                starts.append(_Start(theta_two, angle))
    return starts


def _best(
    starts: list[_Start], unit: int, suspected: SuspectedPair, X: Floats, y: Floats, noise: Noise, g: Activation
) -> Fitted:
    """Return the best fit: a few steps from every start, and on from the best of each angle."""
    heats: dict[float, Fitted] = {}
    for start in starts:
        drawn = _pulled_in(X, y, start.theta, unit, _length(start, unit), g)
        fitted = fit_jointly(start.theta, *drawn, noise, g, most=MOVES.heat)
        if start.angle not in heats or fitted.loss < heats[start.angle].loss:
            heats[start.angle] = fitted
    ends = []
    for angle, fitted in heats.items():
        length = _length(_Start(fitted.theta, angle), unit)
        while length < suspected.length:
            length *= SCALE.factor
            fitted = fit_jointly(
                fitted.theta, *_pulled_in(X, y, fitted.theta, unit, length, g), noise, g, most=MOVES.heat
            )
        ends.append(fit_jointly(fitted.theta, X, y, noise, g, most=MOVES.heat))
    best = min(ends, key=lambda end: end.loss)
    return fit_jointly(best.theta, X, y, noise, g)


def _length(start: _Start, unit: int) -> float:
    """Return how far out the partner begins to bend."""
    return SCALE.spread / (start.angle * float(np.linalg.norm(start.theta.A[unit])))


def _pulled_in(
    X: Floats, y: Floats, theta: Parameters, unit: int, length: float, g: Activation
) -> tuple[Floats, Floats]:
    """Return the rows, none of them farther than this from the unit's point next to the origin, and the answers.

    The last unit is the other half. What all others change on the way is added to the answers.
    """
    a = theta.A[unit]
    foot = -theta.b[unit] * a / (a @ a)
    # Along a ray from the unit's own point only the unit and its partner are asked about: distances beyond `length` are
    # cut, and the change of all other units on the way is added to the answers.
    rays = X - foot
    drawn = foot + rays * np.minimum(1.0, length / np.maximum(np.linalg.norm(rays, axis=1), 1e-300))[:, None]
    others = np.setdiff1d(np.arange(len(theta.u) - 1), unit)
    here, there = (g.value(rows @ theta.A[others].T + theta.b[others]) @ theta.u[others] for rows in (X, drawn))
    return drawn, y + there - here


def _likely_halves(theta: Parameters, before: Parameters, unit: int) -> bool:
    """Tell whether neither half is faint, and neither much steeper or flatter than the unit was."""
    halves = [unit, len(theta.u) - 1]
    slopes = np.linalg.norm(theta.A[halves], axis=1) / np.linalg.norm(before.A[unit])
    faint = np.abs(theta.u[halves]).min() < HALVES.least_weight * abs(before.u[unit])
    return not faint and bool((slopes < SCALE.factor).all() and (slopes > 1 / SCALE.factor).all())


def least_angle_shown(fitted: Fitted, X: Floats, noise: Noise, g: Activation, rng: np.random.Generator) -> float:
    """Return the angle, in radians, from which on two units in the place of any one would be worth their price.

    A unit made two at an angle t changes the values by D(t). What the other parameters cannot make up for, the part of
    D beside the Jacobian, raises the deviance by its squared length over the noise; `split_or_add` finds the pair
    where that is more than its price. The largest over all units and some directions across each. O(n P) flops for
    each of about 250 k splits of n rows and P unknowns.
    """
    theta = fitted.theta
    weights = np.sqrt(noise.precision(theta.c + g.value(X @ theta.A.T + theta.b) @ theta.u))
    # Whitened columns of the Jacobian: what is orthogonal to all of them no other parameter can make up for.
    J = value_jacobian(theta, X, g) * weights[:, None]
    basis = np.linalg.qr(J / np.maximum(np.linalg.norm(J, axis=0), 1e-300))[0]  # (n, P)
    # The root of the deviance is about normal with variance one: 99% of it lies beyond the price.
    needed = (np.sqrt(unit_price(theta, noise, len(X))) + ndtri(LEVELS[0])) ** 2
    angles = np.geomspace(*SPLIT_POWER.angles, SPLIT_POWER.n_tried)
    widest = 0.0
    for a, b, u in zip(theta.A, theta.b, theta.u):
        across = rng.standard_normal((SPLIT_POWER.n_tried, len(a)))
        across = normalize_rows(across - np.outer(across @ a, a) / (a @ a)) * np.linalg.norm(a)
        along, aside = X @ a, X @ across.T  # (n,), (n, directions)
        for e in range(SPLIT_POWER.n_tried):
            first, second = (
                g.value(np.cos(t) * along[:, None] + np.sin(t) * aside[:, e, None] + b)
                for t in (-DOUBT.half * angles, (1 - DOUBT.half) * angles)
            )
            change = (1 - DOUBT.half) * first + DOUBT.half * second - g.value(along + b)[:, None]
            change *= u * weights[:, None]
            left = change - basis @ (basis.T @ change)
            # Not monotonic in the angle: the last angle that would be missed counts.
            hidden = np.flatnonzero((left**2).sum(axis=0) <= needed)
            from_there = int(hidden[-1]) + 1 if len(hidden) else 0  # on, all are shown
            widest = max(widest, float(angles[min(from_there, len(angles) - 1)]))
    return widest
