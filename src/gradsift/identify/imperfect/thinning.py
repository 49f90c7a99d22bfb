"""Is every unit needed? Leave out each one, merge the closest pair, fit again, and compare."""

from __future__ import annotations

import numpy as np

from ...activations import Activation
from ...checking import Floats
from ...geometry import normalize_rows
from ...refine import Parameters
from .fit import Fitted, Noise, fit_jointly

__all__ = ["simpler"]


def simpler(fitted: Fitted, X: Floats, y: Floats, noise: Noise, g: Activation, margin: float = 10.0) -> Fitted | None:
    """Return a network with one unit less that BIC likes about as well, or None.

    k + 1 joint fits.
    """
    k, d = fitted.theta.A.shape
    if k < 2:
        return None
    starts = [_without(fitted.theta, unit) for unit in range(k)]
    starts.append(_merged(fitted.theta))
    best = min((fit_jointly(start, X, y, noise, g) for start in starts), key=lambda other: other.loss)
    price = (d + 2) * float(np.log(len(y))) + margin
    return best if 2 * (best.loss - fitted.loss) < price else None


def _without(theta: Parameters, unit: int) -> Parameters:
    keep = np.arange(len(theta.u)) != unit
    return Parameters(theta.A[keep], theta.u[keep], theta.b[keep], theta.c)


def _merged(theta: Parameters) -> Parameters:
    """Return the network with the two units that are most nearly parallel made one."""
    units = normalize_rows(theta.A)
    cosines = units @ units.T
    closeness = np.abs(cosines) - 2 * np.eye(len(units))
    i, j = np.unravel_index(int(np.argmax(closeness)), closeness.shape)
    sign = 1.0 if cosines[i, j] > 0 else -1.0
    share = abs(theta.u[i]) / (abs(theta.u[i]) + abs(theta.u[j]))
    A, u, b = theta.A.copy(), theta.u.copy(), theta.b.copy()
    A[i] = share * A[i] + (1 - share) * sign * A[j]
    b[i] = share * b[i] + (1 - share) * sign * b[j]
    u[i] += sign * u[j]
    return _without(Parameters(A, u, b, theta.c), int(j))
