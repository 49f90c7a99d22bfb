"""One unit as two nearly parallel ones: where they start, and whether all answers are worth the second."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...activations import Activation
from ...checking import Floats
from ...fit import Fitted, Parameters, fit_jointly
from ...fit.moves import merged, with_units, without
from ...geometry import normalize_rows
from ...likelihood import Noise
from .tuning import HALVES, THINNING

__all__ = ["Suspicion", "halved"]


class Suspicion(NamedTuple):
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
    fitted: Fitted, suspicion: Suspicion, X: Floats, y: Floats, noise: Noise, g: Activation, rng: np.random.Generator
) -> Fitted:
    """Return the best network for all answers: with as many units as before, or with one unit made two.

    Two where all answers are worth the second and both halves are plausible. A unit that is itself the half of a pair
    may be in the wrong place: it and its neighbour are then made one, and two again.

    Far inputs are saturated, so that their answers turn no unit. They are drawn in towards the unit's own point until
    the partner bends there, and let out again as the halves fall into place. About 100 short joint fits.

    Parameters
    ----------
    fitted : Fitted
        To all rows, before there was a suspicion.
    suspicion : Suspicion
    X, y : (n, d) and (n,) arrays
    """
    theta, unit = fitted.theta, suspicion.unit
    e = [
        suspicion.across,
        *(_across(theta.A[unit], v) for v in rng.standard_normal((HALVES.n_random, theta.A.shape[1]))),
    ]
    one, neighbour = fitted, _neighbour(theta, unit)
    if neighbour is not None:
        both, at = merged(theta, unit, neighbour), unit - (neighbour < unit)
        last = with_units(without(theta, neighbour), theta.A[neighbour], theta.u[neighbour], theta.b[neighbour])
        starts = [_Start(last, HALVES.angles[0]), *_starts(both, at, e, suspicion)]
        again = _best(starts, at, suspicion, X, y, noise, g)
        one = min(one, again, key=lambda fit: fit.loss)
    two = _best(_starts(theta, unit, e, suspicion), unit, suspicion, X, y, noise, g)
    price = theta.layout.per_unit * noise.price(len(y)) + THINNING.margin
    return two if 2 * (one.loss - two.loss) > price and _plausible(two.theta, theta, unit) else one


def _across(a: Floats, v: Floats) -> Floats:
    """Return the direction of v across a."""
    v = v - (v @ a) / (a @ a) * a
    return np.asarray(v / max(float(np.linalg.norm(v)), 1e-300))


def _neighbour(theta: Parameters, unit: int) -> int | None:
    """Return the unit that is nearest in direction, if it is near."""
    units = normalize_rows(theta.A)
    cosines = np.abs(units @ units[unit])
    cosines[unit] = 0.0
    nearest = int(np.argmax(cosines))
    return nearest if cosines[nearest] > np.cos(HALVES.angles[-1]) else None


def _starts(theta: Parameters, unit: int, directions: list[Floats], suspicion: Suspicion) -> list[_Start]:
    """Return networks with two units in the place of one, at several angles in some directions across it.

    The unit stands for the first half, or for both in proportion to their weights.
    """
    a, u, b = theta.A[unit], float(theta.u[unit]), float(theta.b[unit])
    weight = suspicion.weight
    starts = []
    for angle in (*(factor * suspicion.tilt for factor in HALVES.over_tilt), *HALVES.angles):
        for e in directions:
            for share in (0.0, abs(weight) / (abs(u - weight) + abs(weight))):
                first, second = (
                    np.cos(t) * a + np.sin(t) * np.linalg.norm(a) * e for t in (-share * angle, (1 - share) * angle)
                )
                A, weights = theta.A.copy(), theta.u.copy()
                A[unit], weights[unit] = HALVES.steeper * first, u - weight
                theta_two = with_units(theta._replace(A=A, u=weights), HALVES.steeper * second, weight, b)
                starts.append(_Start(theta_two, angle))
    return starts


def _best(
    starts: list[_Start], unit: int, suspicion: Suspicion, X: Floats, y: Floats, noise: Noise, g: Activation
) -> Fitted:
    """Return the best fit: a few steps from every start, and on from the best of each angle."""
    heats: dict[float, Fitted] = {}
    for start in starts:
        drawn = _drawn_in(X, y, start.theta, unit, _length(start, unit), g)
        fitted = fit_jointly(start.theta, *drawn, noise, g, most=THINNING.heat)
        if start.angle not in heats or fitted.loss < heats[start.angle].loss:
            heats[start.angle] = fitted
    ends = []
    for angle, fitted in heats.items():
        length = _length(_Start(fitted.theta, angle), unit)
        while length < suspicion.length:
            length *= HALVES.farther
            fitted = fit_jointly(
                fitted.theta, *_drawn_in(X, y, fitted.theta, unit, length, g), noise, g, most=THINNING.heat
            )
        ends.append(fit_jointly(fitted.theta, X, y, noise, g, most=THINNING.heat))
    best = min(ends, key=lambda end: end.loss)
    return fit_jointly(best.theta, X, y, noise, g)


def _length(start: _Start, unit: int) -> float:
    """Return how far out the partner begins to bend."""
    return HALVES.near / (start.angle * float(np.linalg.norm(start.theta.A[unit])))


def _drawn_in(
    X: Floats, y: Floats, theta: Parameters, unit: int, length: float, g: Activation
) -> tuple[Floats, Floats]:
    """Return the rows, none of them farther than this from the unit's point next to the origin, and the answers.

    The last unit is the other half. What all others change on the way is added to the answers.
    """
    a = theta.A[unit]
    foot = -theta.b[unit] * a / (a @ a)
    rays = X - foot
    drawn = foot + rays * np.minimum(1.0, length / np.maximum(np.linalg.norm(rays, axis=1), 1e-300))[:, None]
    others = np.setdiff1d(np.arange(len(theta.u) - 1), unit)
    here, there = (g.value(rows @ theta.A[others].T + theta.b[others]) @ theta.u[others] for rows in (X, drawn))
    return drawn, y + there - here


def _plausible(theta: Parameters, before: Parameters, unit: int) -> bool:
    """Tell whether neither half is faint, and neither much steeper or flatter than the unit was."""
    halves = [unit, len(theta.u) - 1]
    slopes = np.linalg.norm(theta.A[halves], axis=1) / np.linalg.norm(before.A[unit])
    faint = np.abs(theta.u[halves]).min() < HALVES.least_weight * abs(before.u[unit])
    return not faint and bool((slopes < HALVES.slopes).all() and (slopes > 1 / HALVES.slopes).all())
