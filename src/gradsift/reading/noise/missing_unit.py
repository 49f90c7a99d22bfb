"""Is there another unit? On a far circle it would show as one half of +u and one of -u, whatever its direction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...certificate import NOISY
from ...fit import Fitted, predict
from ...geometry import orthonormal_rows
from ...likelihood import Noise
from ..ledger import Ledger
from .leverage import argument_errors
from .settings import FAR_CIRCLES


class CircleTest(NamedTuple):
    """statistic: largest standardised arc sum; level: weight of a unit that would have shown; alarm: it did; n_units:
    how many were known."""

    statistic: float
    level: float
    alarm: bool
    n_units: int = 0


def weight_in_question(u: Floats) -> float:
    """Return the weight another unit is supposed to have: the smallest, or a share of what may be a merger."""
    sizes = np.abs(u)
    return float(min(sizes.min(), FAR_CIRCLES.share * sizes.sum()))


def look_for_another(
    fitted: Fitted, ledger: Ledger, noise: Noise, radius: float, level: float, most: int, g: Activation,
    rng: np.random.Generator,
) -> CircleTest:  # fmt: skip
    """Ask on three far circles, about (5.5 sd / level)^2 queries each, and at most `most` in all.

    Opposite points are asked together and subtracted, which removes the intercept. Angles at which the sign of a
    known unit is in doubt are avoided.
    """
    d = ledger.n_features
    far = fitted.theta.c + np.array([1.0, -1.0]) * np.sqrt(float(fitted.theta.u @ fitted.theta.u))
    variance = _variances(noise, far).mean()
    n_pairs = int(
        np.clip(
            np.ceil(0.5 * variance * (FAR_CIRCLES.needed / level) ** 2), 4, max(4, most // (2 * FAR_CIRCLES.n_circles))
        )
    )
    statistic, weakest = 0.0, np.inf
    for _ in range(FAR_CIRCLES.n_circles if d > 1 else 1):
        plane = orthonormal_rows(min(2, d), d, rng)
        angles = _clear_angles(fitted, plane, n_pairs, FAR_CIRCLES.far * radius, rng)
        points = FAR_CIRCLES.far * radius * (np.cos(angles)[:, None] * plane[0] + np.sin(angles)[:, None] * plane[-1])
        both = np.concatenate([points, -points])
        expected = predict(fitted.theta, both, g)
        residuals = (ledger.ask(both, "another unit") - expected).reshape(2, -1)
        odd = 0.5 * (residuals[0] - residuals[1])
        spread = np.hypot(
            sign_doubt(fitted, points), np.sqrt(0.5 * _variances(noise, expected).reshape(2, -1).mean(axis=0))
        )
        statistic = max(statistic, largest_arc(odd, spread))
        weakest = min(weakest, float((1 / spread**2).sum()))
    return CircleTest(statistic, FAR_CIRCLES.needed / np.sqrt(weakest), statistic > NOISY.another_unit)


def _variances(noise: Noise, r: Floats) -> Floats:
    """Return those of answers with mean r."""
    return np.asarray(1 / noise.precision(r))


def _clear_angles(fitted: Fitted, plane: Floats, n: int, radius: float, rng: np.random.Generator) -> Floats:
    """Return n sorted angles of a half circle, one per sector, where the known units are surest."""
    tries = 16
    angles = (np.arange(n)[:, None] + rng.random((n, tries))) * np.pi / n
    flat = angles.ravel()
    points = radius * (np.cos(flat)[:, None] * plane[0] + np.sin(flat)[:, None] * plane[-1])
    doubt = sign_doubt(fitted, points).reshape(n, tries)
    return np.asarray(angles[np.arange(n), np.argmin(doubt, axis=1)])


def sign_doubt(fitted: Fitted, points: Floats) -> Floats:
    """Return the standard deviation that signs of known units in doubt give to a value."""
    variance = np.zeros(len(points))
    for unit, u in enumerate(fitted.theta.u):
        z = np.abs(points @ fitted.theta.A[unit] + fitted.theta.b[unit])
        ratio = z / np.maximum(argument_errors(fitted, unit, points), 1e-300)
        variance += 4 * u**2 * np.exp(-0.5 * np.minimum(ratio, 30.0) ** 2)
    return np.asarray(np.sqrt(variance))


def largest_arc(odd: Floats, spread: Floats) -> float:
    """Return the largest standardised sum of +1 up to some angle and -1 beyond it."""
    weighted = odd / spread**2
    head = np.concatenate([[0.0], np.cumsum(weighted)])
    sums = 2 * head - head[-1]
    return float(np.abs(sums).max() / np.sqrt((1 / spread**2).sum()))
