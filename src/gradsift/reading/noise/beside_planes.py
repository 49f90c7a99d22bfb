"""Is a unit one, or two nearly parallel ones? Asked far out on both sides of its hyperplane, close to it.

Far out only signs matter. Along ``v + s w``, with w the unit's direction and v across it, a unit is a step at s = 0. A
partner at an angle t has its step at ``s = -tan(t) <v, e>``, where e is the direction of the partner across w. So the
answers at ``s = +tau`` and ``s = -tau`` enclose one step of two, and exactly one of them is off by twice the partner's
weight, in every v with ``|<v, e>| tan(t) > tau``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...activations import Activation
from ...arguments import Floats
from ...certificate import NOISY
from ...fit import Fitted, predict
from ...fit.covariance import LEVELS
from ...geometry import normalize_rows
from .leverage import argument_errors
from .settings import BESIDE, DOUBT, SCALE


class Sides(NamedTuple):
    """Pairs of inputs on both sides of some units' hyperplanes.

    across : (n, d) directions v, of length one
    tilts : (n, k) angles tau between v and each input, as a unit sees them; not a number where a unit is not asked
    points : (n, 2, d) inputs, those ahead of the hyperplanes first
    """

    across: Floats
    tilts: Floats
    points: Floats

    def joined(self, others: Sides) -> Sides:
        """Return these and others."""
        return Sides(*(np.concatenate(pair) for pair in zip(self, others)))

    def at(self, pairs: NDArray[np.intp]) -> Sides:
        """Return some of them."""
        return Sides(*(part[pairs] for part in self))

    def of(self, unit: int) -> NDArray[np.intp]:
        """Return the numbers of the pairs that ask about a unit."""
        return np.flatnonzero(np.isfinite(self.tilts[:, unit]))


class SecondUnitTest(NamedTuple):
    """What answers beside all hyperplanes say.

    log_ratios : (k,) of a partner of each unit over none; not a number where none could be asked
    weight : smallest weight of a partner that is ruled out beside every unit
    blind : angle in radians up to which it would not have shown
    suspect : number of the unit with the largest ratio if that is an alarm, else None
    n_alarms : how many there were so far
    """

    log_ratios: Floats
    weight: float
    blind: float
    suspect: int | None
    n_alarms: int = 0


def no_sides(k: int, d: int) -> Sides:
    """Return no pairs."""
    return Sides(np.empty((0, d)), np.empty((0, k)), np.empty((0, 2, d)))


def sides_of(
    fitted: Fitted, units: NDArray[np.intp], widening: float, rng: np.random.Generator, toward: Floats | None = None,
    wider: float = 1.0,
) -> Sides:  # fmt: skip
    """Draw one pair of inputs that lies beside the hyperplanes of all these units; of length zero if none is found.

    Parameters
    ----------
    fitted : Fitted
    units : (m,) int array
        Their hyperplanes are met together: v is orthogonal to all of them.
    widening : float
        Factor by which standard errors are too small.
    toward : (d,) array, optional
        Direction to prefer.
    wider : float
        Factor of the tilts.

    Notes
    -----
    A tilt is so large that the unit's own sign is sure. Draws at which the sign of another unit is in doubt are
    repeated. O(k d^2) flops for each.
    """
    theta = fitted.theta
    k, d = theta.A.shape
    lengths = np.linalg.norm(theta.A, axis=1)
    W = theta.A[units] / lengths[units, None]
    # Points of all these hyperplanes are foot + v with W v = 0; `inverse @ tilts` leaves each by its tilt.
    inverse = np.linalg.pinv(W)  # (d, m)
    foot = -inverse @ (theta.b[units] / lengths[units])  # the point of all these hyperplanes next to the origin
    for _ in range(DOUBT.most):
        v = rng.standard_normal(d)
        if toward is not None:
            v = toward * np.sqrt(d) + v
        v = v - inverse @ (W @ v)
        v /= max(float(np.linalg.norm(v)), 1e-300)
        errors = np.array([_direction_error(fitted, int(unit), v) for unit in units])
        # The tilt must exceed the error of the unit's own direction, else it is the known unit's sign that is tested.
        tilts = wider * np.maximum(BESIDE.least_tilt, DOUBT.sign * widening * errors)
        aside = inverse @ tilts
        if float(np.linalg.norm(aside)) > np.tan(np.radians(NOISY.blind_angle)):
            continue
        # So far out that every unit asked about is saturated on both sides.
        length = float((SCALE.saturated / (tilts * lengths[units])).max())
        points = foot + length * np.stack([v + aside, v - aside])
        if _all_saturated(fitted, units, points):
            every = np.full(k, np.nan)
            every[units] = tilts
            return Sides(v[None], every[None], points[None])
    return no_sides(k, d)


def _direction_error(fitted: Fitted, unit: int, v: Floats) -> float:
    """Return the standard error of a unit's direction along v, in radians: offsets do not matter far out."""
    far = SCALE.saturated / BESIDE.least_tilt * v[None]
    return float(argument_errors(fitted, unit, far)[0] / np.linalg.norm(far) / np.linalg.norm(fitted.theta.A[unit]))


def _all_saturated(fitted: Fitted, units: NDArray[np.intp], points: Floats) -> bool:
    """Tell whether all other units are saturated at the points, with a sign that is not in doubt."""
    theta = fitted.theta
    for unit in np.setdiff1d(np.arange(len(theta.u)), units):
        z = np.abs(points @ theta.A[unit] + theta.b[unit])
        if (z < SCALE.quiet + DOUBT.sign * argument_errors(fitted, int(unit), points)).any():
            return False
    return True


def residuals_of(fitted: Fitted, sides: Sides, answers: Floats, g: Activation) -> Floats:
    """Return the residuals of the answers (n, 2), (n, 2)."""
    points = sides.points.reshape(-1, sides.points.shape[-1])
    return np.asarray(answers - predict(fitted.theta, points, g).reshape(answers.shape))


def pair_covariance(fitted: Fitted, sides: Sides, variances: Floats, g: Activation) -> Floats:
    """Return the covariances of the residuals of each pair, (n, 2, 2): the variances (n,) of the answers, and the
    errors of all plateaus."""
    theta, layout = fitted.theta, fitted.theta.layout
    # Far out only weights and intercept matter: a value is linear in them, with the plateaus as coefficients. Both
    # answers of a pair share their errors, hence the full 2 x 2 blocks.
    values = g.value(sides.points @ theta.A.T + theta.b)  # (n, 2, k)
    plateaus = np.concatenate([values, np.ones((*values.shape[:2], 1))], axis=2)
    at = [*range(layout.weights.start, layout.weights.stop), layout.c.start]
    shared = np.einsum("nik,kl,njl->nij", plateaus, fitted.covariance[np.ix_(at, at)], plateaus)
    return np.asarray(shared + variances[:, None, None] * np.eye(2))


def log_ratios(residuals: Floats, covariances: Floats, weights: Floats) -> Floats:
    """Return the log-likelihood of a partner over that of none, direction by direction, (n, s, m).

    For each probability s that a partner shows in a direction, and each of its weights (m,). It shows on one of two
    sides and with one of two signs, or not at all: a mixture. A mean over directions would drown the one that shows
    among those that do not.
    """
    precisions = np.linalg.inv(covariances)  # (n, 2, 2)
    heard = np.einsum("nij,nj->ni", precisions, residuals)  # (n, 2)
    # With residual r and covariance S, a step s on one side has log-likelihood ratio s (S^-1 r)_i - s^2 (S^-1)_ii / 2.
    # The mean over two sides and two signs is the ratio where a partner shows; it does so with probability p.
    steps = 2 * weights  # (m,)
    gains = steps * heard[:, :, None] * np.array([1.0, -1.0])[:, None, None, None]  # (sign, n, side, m)
    losses = 0.5 * steps**2 * np.einsum("nii->ni", precisions)[:, :, None]
    shown = np.exp(np.minimum(gains - losses, 500.0)).mean(axis=(0, 2))  # (n, m), over signs and sides
    return np.asarray(np.log1p(np.array(BESIDE.shows)[:, None] * (shown[:, None] - 1)))


def least_second_weight(u: Floats) -> Floats:
    """Return the smallest weight that a partner of each unit is supposed to have, (k,).

    A share of the unit, which then is their sum; but not far below the smallest weight of all.
    """
    sizes = np.abs(u)
    return np.asarray(np.maximum(DOUBT.half * sizes, BESIDE.share_of_least * sizes.min()))


def blind_angle(w: Floats, across: Floats, tilts: Floats, rng: np.random.Generator) -> float:
    """Return the angle, in radians, from which on a partner shows in one of the directions asked.

    For 99% of the directions e that the partner may have across w, and for w in the middle of both.

    Parameters
    ----------
    w : (d,) array
    across, tilts : (n, d) and (n,) arrays
    """
    if not len(across):
        return float(np.pi / 2)
    e = rng.standard_normal((DOUBT.sampled, len(w)))
    e = normalize_rows(e - np.outer(e @ w, w) / (w @ w))
    # A partner at angle t with direction e shows along v if tan(t) |<v, e>| exceeds the tilt: the least such t over all
    # directions v that were asked, and its quantile over random e.
    slopes = (tilts / np.maximum(np.abs(e @ across.T), 1e-300)).min(axis=1)
    return float(min(2 * np.arctan(np.quantile(slopes, LEVELS[0])), np.pi / 2))
