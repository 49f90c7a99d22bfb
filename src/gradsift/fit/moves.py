"""One unit fewer or more: drop, merge, split, add; is it worth its price? And starts with units to spare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaincinv

from ..activations import Activation
from ..arguments import Floats
from ..geometry import normalize_rows
from ..likelihood import Noise
from ..sources import Rows
from ..tuned import NATS
from .covariance import Fitted
from .family import Family
from .joint import fit_jointly
from .parameters import Parameters


@dataclass(frozen=True)
class MoveTuning:
    """One unit less or more."""

    margin: float = 10.0  # of BIC, beside the price of a unit; guess
    clear: float = 4.0  # Wald's statistic over the price, from which a unit is not tried; guess
    heat: int = 6  # steps of the first fits, and how many of those go on; guess
    finalists: int = 2  # guess
    implausible: float = 1e-4  # probability with which noise leaves residuals as small; guess
    apart: float = 0.3  # of a unit's length, by which its halves begin; guess
    steeper: float = 1.4  # slopes of parallel halves over that of the unit; black_box_pairs, "parallel tanh"
    shares: tuple[float, ...] = (0.35, 0.65)  # weights of the second over that of the unit; the same row
    n_random: int = 3  # new units beside the halves, with this share of the largest weight; guess
    share: float = 0.2  # guess


MOVES = MoveTuning()


def without(theta: Parameters, unit: int) -> Parameters:
    """Return the network without one unit."""
    keep = np.arange(len(theta.u)) != unit
    return theta._replace(A=theta.A[keep], u=theta.u[keep], b=theta.b[keep])


def with_units(theta: Parameters, A: Floats, u: Any, b: Any) -> Parameters:
    """Return the network with more units: A (m, d) or (d,), u and b (m,) or numbers."""
    return theta._replace(A=np.vstack([theta.A, A]), u=np.append(theta.u, u), b=np.append(theta.b, b))


def nearest_pair(theta: Parameters) -> tuple[int, int]:
    """Return the numbers of the two units that are most nearly parallel."""
    units = normalize_rows(theta.A)
    closeness = np.abs(units @ units.T) - 2 * np.eye(len(units))
    i, j = np.unravel_index(int(np.argmax(closeness)), closeness.shape)
    return int(i), int(j)


def merged(theta: Parameters, i: int, j: int) -> Parameters:
    """Return the network with two units made one, in the place of the first."""
    sign = 1.0 if theta.A[i] @ theta.A[j] > 0 else -1.0
    share = abs(theta.u[i]) / (abs(theta.u[i]) + abs(theta.u[j]))
    A, u, b = theta.A.copy(), theta.u.copy(), theta.b.copy()
    A[i] = share * A[i] + (1 - share) * sign * A[j]
    b[i] = share * b[i] + (1 - share) * sign * b[j]
    u[i] += sign * u[j]
    return without(theta._replace(A=A, u=u, b=b), j)


def split(theta: Parameters, unit: int, v: Floats) -> Parameters:
    """Return the network with one unit made two of half its weight, ``a + v`` in its place and ``a - v`` at the end."""
    A, u = theta.A.copy(), theta.u.copy()
    A[unit] += v
    u[unit] *= 0.5
    return with_units(theta._replace(A=A, u=u), theta.A[unit] - v, 0.5 * float(theta.u[unit]), float(theta.b[unit]))


def turned(theta: Parameters, unit: int, carrier: int | None) -> Parameters:
    """Return the network with one unit that grows turned round: ``f(z)`` becomes ``f(-z)``, which lacks a line.

    Another unit, if any, carries the line: where it is active it does so exactly.
    """
    A, u, b = theta.A.copy(), theta.u.copy(), theta.b.copy()
    if carrier is not None:
        jump = u[carrier] * A[carrier] + u[unit] * A[unit]
        weight = float(np.linalg.norm(jump)) / max(float(np.linalg.norm(A[carrier])), 1e-300)
        if weight > 0:
            weight = weight if jump @ A[carrier] > 0 else -weight
            b[carrier] = (u[carrier] * b[carrier] + u[unit] * b[unit]) / weight
            A[carrier], u[carrier] = jump / weight, weight
    A[unit], b[unit] = -A[unit], -b[unit]
    return theta._replace(A=A, u=u, b=b)


def bending_direction(rows: Any, bend: Any) -> Any:
    """Return the direction (d,) along which residuals curve most: the extreme eigenvector of ``sum bend x x'``.

    A unit that stands for two nearly parallel ones leaves residuals that bend across it; with ``bend = residual f''``
    this is the direction along which it would split.
    """
    # Splitting a into a +- v changes r by u f''(a x) (v x)^2 / 2, which residuals e favour by v' (sum e f'' x x') v:
    # the largest of these in size is an eigenvalue.
    values, vectors = np.linalg.eigh((rows * bend[:, None]).T @ rows)
    return vectors[:, int(np.argmax(np.abs(values)))]


def price_without(gram: Floats, cross: Floats) -> Floats:
    """Return what leaving each feature out costs once the other weights are refitted, twice in squares.

    Parameters
    ----------
    gram, cross : (m, m) and (m,) arrays
        Products of the features with each other and with the target.
    """
    # Optimal brain surgeon: leaving w_j out with the others refitted costs w_j^2 / (G^-1)_jj, w = G^-1 c.
    inverse = np.linalg.inv(gram)
    return np.asarray((inverse @ cross) ** 2 / np.diag(inverse))


def prune(theta: Parameters, family: Family, rows: Rows, n_units: int) -> Parameters:
    """Drop units one at a time, each time the one whose loss a refit of the other weights mends best."""
    values = family.activation.value(rows.X @ theta.A.T + theta.b)  # (rows, k)
    r = values @ theta.u + theta.c
    y, information = family.rough.as_gaussian(r, rows.y) - theta.c, family.rough.precision(r)
    if rows.weight is not None:
        information = information * rows.weight
    gram = (values * information[:, None]).T @ values
    gram[np.diag_indices_from(gram)] += 1e-6 * information.sum()  # twins are common among spare units
    cross = values.T @ (information * y)
    kept = np.arange(len(theta.u))
    while len(kept) > n_units:
        kept = np.delete(kept, np.argmin(price_without(gram[np.ix_(kept, kept)], cross[kept])))
    u: Floats = np.asarray(np.linalg.solve(gram[np.ix_(kept, kept)], cross[kept]))
    if family.simplex:
        u = np.maximum(u, 0.2 / n_units)
        u = u / u.sum()
    return theta._replace(A=theta.A[kept], u=u, b=theta.b[kept])


def random_starts(
    family: Family, n_units: int, n_features: int, n_starts: int, scale: float, rng: np.random.Generator
) -> list[Parameters]:
    """Draw random students whose arguments have variance about ``scale^2 2 d / (d + k)``."""
    spread = scale * np.sqrt(2 / (n_features + n_units))
    starts = []
    for _ in range(n_starts):
        A = spread * rng.standard_normal((n_units, n_features))
        u = rng.standard_normal(n_units) * np.sqrt(2 / (n_units + 1))
        b = 0.5 * rng.standard_normal(n_units) if family.offsets else np.zeros(n_units)
        starts.append(Parameters(A, np.full(n_units, 1 / n_units) if family.simplex else u, b, 0.0))
    return starts


def unit_price(theta: Parameters, noise: Noise, n: int) -> float:
    """Return by how much the deviance of n answers must fall for one more unit: BIC's price, and a margin."""
    return theta.layout.per_unit * noise.price(n) + MOVES.margin


def drop_or_merge(fitted: Fitted, X: Floats, y: Floats, noise: Noise, g: Activation) -> Fitted | None:
    """Return a network with one unit less that BIC likes about as well, or None.

    Units whose weight is far from zero by Wald's test are not tried. At most k + 1 joint fits; none where every unit
    is known so well that it can neither vanish nor be another one.
    """
    layout = fitted.theta.layout
    price = unit_price(fitted.theta, noise, len(y))
    if layout.n_units < 2 or _all_needed(fitted, price):
        return None
    variances = np.diag(fitted.covariance)[layout.weights]
    doubtful = np.flatnonzero(fitted.theta.u**2 < MOVES.clear * price * variances)
    starts = [
        *(without(fitted.theta, int(unit)) for unit in doubtful),
        merged(fitted.theta, *nearest_pair(fitted.theta)),
    ]
    best = _best_of(starts, X, y, noise, g)
    return best if best is not None and 2 * (best.loss - fitted.loss) < price else None


def _best_of(starts: list[Parameters], X: Floats, y: Floats, noise: Noise, g: Activation) -> Fitted | None:
    """Return the best fit from several starts: a few steps from each, more from the better ones."""
    heats = [fit_jointly(start, X, y, noise, g, most=MOVES.heat) for start in starts]
    best = sorted(heats, key=lambda one: one.loss)[: MOVES.finalists]
    finals = [fit_jointly(one.theta, X, y, noise, g, enough=NATS) for one in best]
    return min(finals, key=lambda one: one.loss, default=None)


def _all_needed(fitted: Fitted, price: float) -> bool:
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


def split_or_add(
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
    weight = MOVES.share * float(np.abs(theta.u).max())
    units = range(len(theta.u))
    starts = [_bent_halves(fitted, unit, X, g) for unit in units] if d > 1 else []
    starts += [_parallel_halves(theta, unit, share) for unit in units for share in MOVES.shares]
    for _ in range(MOVES.n_random):
        a = rng.standard_normal(d)
        sign = float(rng.choice([-1.0, 1.0]))
        starts.append(with_units(theta, np.asarray(length * a / np.linalg.norm(a)), sign * weight, 0.0))
    if len(y) <= theta.layout.size + theta.layout.per_unit:
        return None
    if noise.labels:
        starts.append(with_units(theta, length * _missing_direction(fitted, X), weight, 0.0))
    best = _best_of(starts, X, y, noise, g)
    worth = best is not None and 2 * (fitted.loss - best.loss) > unit_price(theta, noise, len(y))
    return best if worth else None


def room_for_unit(fitted: Fitted) -> bool:
    """Tell whether one more unit could pay its price: with known noise some of the loss must remain."""
    n, per_unit = len(fitted.residuals), fitted.theta.layout.per_unit
    freedom = n - len(fitted.information) - per_unit
    price = per_unit * float(np.log(n)) + MOVES.margin
    return freedom > 0 and bool(2 * fitted.loss - price > 2 * gammaincinv(0.5 * freedom, MOVES.implausible))


def _missing_direction(fitted: Fitted, X: Floats) -> Floats:
    """Return the direction along which the residuals grow most; that of a missing unit, if inputs are random."""
    v = fitted.residuals @ (X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300))
    return np.asarray(v / max(float(np.linalg.norm(v)), 1e-300))


def _parallel_halves(theta: Parameters, unit: int, share: float) -> Parameters:
    """Return the network with one unit made two parallel ones, of which the second has this share of the weight."""
    A, u, b = theta.A.copy(), theta.u.copy(), theta.b.copy()
    # The kinks of the halves, weighted by their shares, stay where that of the unit was; they are two units apart.
    A[unit] *= MOVES.steeper
    b[unit] = MOVES.steeper * b[unit] + 2 * share
    u[unit] *= 1 - share
    second = MOVES.steeper * float(theta.b[unit]) - 2 * (1 - share)
    return with_units(theta._replace(A=A, u=u, b=b), A[unit], share * float(theta.u[unit]), second)


def _bent_halves(fitted: Fitted, unit: int, X: Floats, g: Activation) -> Parameters:
    theta = fitted.theta
    a = theta.A[unit]
    near = np.exp(-0.5 * (X @ a + theta.b[unit]) ** 2)  # rows on the unit's slope
    bend = fitted.residuals * g.second_derivative(X @ a + theta.b[unit])
    across = X - np.outer(X @ a, a) / (a @ a)
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-300)  # levers would outvote all others
    return split(theta, unit, bending_direction(across, near * bend) * MOVES.apart * np.linalg.norm(a))
