"""Other networks that explain the answers about as well, and the queries that tell them apart."""

from __future__ import annotations

import numpy as np

from ...activations import Activation
from ...checking import Floats
from .fit import Fitted, Noise, fit_jointly, moved, predict

__all__ = ["find_rivals", "telling_points"]

_WIDER = 1.5  # standard deviations of the first guess are multiplied by this
_CLOSE = 8.0  # nats by which a rival may be worse
_APART = 5.0  # chi-square of their difference over the near inputs, at least, is this many nats
_STEPS = 15
_SOFT = 0.3  # steep units hide where else they might be
_POOL = 20  # inputs to choose a telling one from


def find_rivals(
    fitted: Fitted, rough: Fitted, X: Floats, y: Floats, near: Floats, noise: Noise, g: Activation,
    rng: np.random.Generator, n_draws: int,
) -> list[Fitted]:  # fmt: skip
    """Return fits of other modes, best first, from draws about the student's first guess and from gentler slopes.

    Levers that were asked too early leave several places for a unit, each with a narrow cone of its own. O(n_draws)
    short joint fits.
    """
    values, vectors = np.linalg.eigh(rough.covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    starts = [moved(rough, _WIDER * root @ rng.standard_normal(len(root))) for _ in range(n_draws)]
    soft = fitted.theta._replace(A=_SOFT * fitted.theta.A, b=_SOFT * fitted.theta.b)
    rivals: list[Fitted] = []
    for start in [soft, *starts]:
        other = fit_jointly(start, X, y, noise, g, most=_STEPS, enough=0.05)
        if other.loss < fitted.loss + _CLOSE and all(_apart(other, one, near, noise, g) for one in [fitted, *rivals]):
            rivals.append(other)
    return sorted(rivals, key=lambda one: one.loss)


def _apart(one: Fitted, other: Fitted, near: Floats, noise: Noise, g: Activation) -> bool:
    gaps = predict(one.theta, near, g) - predict(other.theta, near, g)
    return bool(0.5 * float(gaps @ gaps) / noise.sd**2 > _APART)


def telling_points(
    one: Fitted, other: Fitted, radius: float, n: int, g: Activation, rng: np.random.Generator
) -> Floats:
    """Return n random inputs, shape (n, d), at which the two networks differ most."""
    pool = radius * rng.standard_normal((_POOL * n, one.theta.A.shape[1]))
    gaps = np.abs(predict(one.theta, pool, g) - predict(other.theta, pool, g))
    return np.asarray(pool[np.argsort(-gaps)[:n]])
