"""How far each direction may be off: cones that hold the truth with a stated probability."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from ..activations import Activation
from ..arguments import Floats
from ..likelihood import Noise
from .covariance import Fitted, half_angles
from .jacobian import predict
from .joint import fit_jointly

LEVELS = (0.99, 0.95, 0.999)  # of the cones that end a campaign, of the error bounds, and of the surest claim


def cones(fitted: Fitted, level: float = LEVELS[0]) -> Floats:
    """Return (k,) half-angles that hold all true directions at once with probability `level`.

    The scale of an angle goes like 1 / (u sqrt(|a|)): the replies on a unit's slope are a share 1 / |a| of all, and
    each tells u |a| times the angle. Where u sqrt(|a|) is overestimated the cone is too narrow, so that it is widened
    by the quantile of its own error.
    """
    k, d = fitted.theta.A.shape
    if d < 2:
        return np.zeros(k)
    tail = 1 - (1 - level) / k
    spectra = np.array([np.maximum(np.linalg.eigvalsh(fitted.tangent(unit)), 0) for unit in range(k)])
    return np.asarray(half_angles(spectra, tail) * np.exp(ndtri(tail) * _scale_errors(fitted)))


def _scale_errors(fitted: Fitted) -> Floats:
    """Return the standard error of ``log u + log|a| / 2`` for each unit."""
    theta, C = fitted.theta, fitted.covariance
    layout = theta.layout
    errors = np.empty(layout.n_units)
    for unit in range(layout.n_units):
        at = [layout.a(unit).start, layout.weights.start + unit]
        along = theta.A[unit] - 2 * (theta.A[unit] @ fitted.mirrors[unit]) * fitted.mirrors[unit]
        weights = np.array([0.5 / along[0], 1 / theta.u[unit]])
        errors[unit] = np.sqrt(max(float(weights @ C[np.ix_(at, at)] @ weights), 0.0))
    return np.asarray(np.minimum(errors, 2.0))


class Widening(NamedTuple):
    """Factors by which cones must widen: `stop` those of 99%, `report` those of 95%, `surely` those of 99.9%."""

    stop: float
    report: float
    surely: float


def calibrate(
    fitted: Fitted, X: Floats, noise: Noise, g: Activation, rng: np.random.Generator, n_draws: int = 16,
    settle: Callable[[Fitted, Floats], Fitted] = lambda again, y: again,
) -> Widening:  # fmt: skip
    """Return the factors by which cones must widen to hold what they promise: a studentised parametric bootstrap.

    New answers are drawn from the fitted network at the same points and fitted again, noise included; a factor is
    the quantile of the largest error over its cone, from a Gaussian with the mean and spread of the draws, and for the
    surest claim from Student's distribution, since so high a quantile of a few draws is itself uncertain. Few replies
    per unknown make slopes too steep and noise too small, and this is what it mends. `settle` is what was done to the
    fit after fitting, for a fit and its answers. `n_draws` joint fits.
    """
    truth = fitted.theta
    r = predict(truth, X, g)
    freedom = max(len(X) - len(fitted.information), 1)
    ratios = np.empty((len(LEVELS), n_draws))
    for draw in range(n_draws):
        answers = noise.draw(r, rng)
        again = settle(fit_jointly(truth, X, answers, noise, g), answers)
        errors = _angles(again.theta.A, truth.A)
        if not noise.labels:
            errors = errors / (np.sqrt((again.residuals**2).sum() / freedom) / noise.sd)
        ratios[:, draw] = [(errors / np.maximum(cones(again, level), 1e-300)).max() for level in LEVELS]
    surely = np.sqrt(1 + 1 / n_draws) * stdtrit(n_draws - 1, LEVELS[2])
    quantiles = np.append(ndtri(LEVELS[:2]), surely)
    return Widening(*np.maximum(1.0, ratios.mean(axis=1) + quantiles * ratios.std(axis=1, ddof=1)).tolist())


def _angles(A: Floats, B: Floats) -> Floats:
    """Return the distances between the directions of matching rows."""
    a, b = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (A, B))
    return np.asarray(np.linalg.norm(a - b, axis=1))
