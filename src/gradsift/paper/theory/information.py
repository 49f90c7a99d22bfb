"""How many rows any unbiased method needs: the Cramer-Rao bound of a reference model.

Computed from the activation alone, so that it is a yardstick for the algorithms and not one of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...arguments import Floats
from .constants import Problem

MOST_UNITS = 40  # N k^4 flops; a second or two at this size


def reference_units(k: int, kappa: float) -> Floats:
    """Unit rows (k, k) with equal angles and smallest singular value `kappa`: the Gram matrix is a I + (1 - a) 1 1'.

    Its smallest eigenvalue is a = kappa^2, k - 1 times over.
    """
    a = kappa**2 if k > 1 else 1.0
    return np.asarray(np.linalg.cholesky(a * np.eye(k) + (1 - a) * np.ones((k, k))), dtype=np.float64)


@dataclass(frozen=True)
class CramerRao:
    """Least mean squared error of directions, per row.

    Attributes
    ----------
    variance : float
        n times the least mean squared Euclidean error of the direction that is hardest to find.
    n_draws : int
        Quasi-random draws behind it.
    """

    variance: float
    n_draws: int

    def rows(self, rms: float) -> float:
        """Rows at which the root mean squared error can be `rms`."""
        return self.variance / rms**2


def cramer_rao(problem: Problem, n_draws: int = 16_384) -> CramerRao:
    """Bound the direction error for standard Gaussian rows and responses -M or M with mean r(x).

    The reference model has equal weights u0 and equally inclined units of smallest singular value kappa; slopes are
    known and weights are not, as in the paper. Directions across the span decouple from the rest, so the dimension
    d costs nothing. O(n_draws k^4) flops, for k <= 40.
    """
    k = problem.k
    if k > MOST_UNITS:
        raise ValueError(f"The Cramer-Rao bound is computed for k <= {MOST_UNITS}, got k = {k}.")
    from scipy.stats import qmc

    X = qmc.MultivariateNormalQMC(np.zeros(k), rng=np.random.default_rng(0)).random(n_draws)  # (N, k), in the span
    try:
        units = reference_units(k, problem.kappa)
    except np.linalg.LinAlgError:
        return CramerRao(math.inf, n_draws)  # units that double precision cannot tell apart
    f = np.tanh(problem.beta * X @ units.T)  # (N, k)
    r = problem.u0 * f.sum(axis=1)
    active = problem.u0 * problem.beta * (1 - f**2)  # d r / d <w_l, x>
    # +-M labels with mean r have information 1/(M^2 - r^2); M^2 = (k u0)^2 is reached only at infinity.
    root = 1 / np.sqrt(problem.M**2 - r**2)
    across = (active * root[:, None]).T @ (active * root[:, None]) / n_draws  # (k, k), per direction out of the span
    tangents = [np.linalg.svd(unit[None])[2][1:] for unit in units]  # (k - 1, k) each
    columns = [active[:, [i]] * (X @ tangents[i].T) for i in range(k)]
    J = np.hstack([*columns, f]) * root[:, None]  # (N, k (k - 1) + k)
    try:
        covariance, inverse = np.linalg.inv(J.T @ J / n_draws), np.linalg.inv(across)
    except np.linalg.LinAlgError:
        return CramerRao(math.inf, n_draws)
    inside = np.diag(covariance)[: k * (k - 1)].reshape(k, -1).sum(axis=1) if k > 1 else np.zeros(1)
    total = inside + (problem.d - k) * np.diag(inverse)
    return CramerRao(float(total.max()) if math.isfinite(total.max()) else math.inf, n_draws)
