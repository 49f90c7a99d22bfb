"""How sure the parameters are: what a fit leaves behind, and its covariance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.special import gammaincinv

from ..activations import Activation
from ..arguments import Floats
from ..likelihood import Noise
from .jacobian import value_jacobian
from .parameters import Parameters


@dataclass(frozen=True)
class Fitted:
    """The most likely parameters and how sure they are.

    Attributes
    ----------
    theta : Parameters
    mirrors : (k, d) array
        Reflection vectors: ``x - 2 (x v) v`` has the unit along its first axis.
    information : (P, P) array
        Of the local coordinates: the layout by unit with all vectors reflected.
    loss : float
    residuals : (n,) array
    """

    theta: Parameters
    mirrors: Floats
    information: Floats
    loss: float
    residuals: Floats

    @cached_property
    def covariance(self) -> Floats:
        """(P, P) of the local coordinates."""
        return covariance_of(self.information)

    def block(self, unit: int) -> Floats:
        """(d + 1, d + 1) covariance of one unit's reflected a and its offset."""
        part = self.theta.layout.own(unit)
        return self.covariance[part, part]

    def tangent(self, unit: int) -> Floats:
        """(d - 1, d - 1) covariance of one unit's direction."""
        d = self.theta.A.shape[1]
        return np.asarray(self.block(unit)[1:d, 1:d] / (self.theta.A[unit] @ self.theta.A[unit]))

    @property
    def angles(self) -> Floats:
        """(k,) root mean square errors of the directions, in radians."""
        return np.array([np.sqrt(np.trace(self.tangent(unit))) for unit in range(len(self.theta.u))])

    def studentised(self, X: Floats, noise: Noise, g: Activation) -> Floats:
        """(n,) residuals at the rows X of the fit over their standard deviations: fitting makes residuals smaller."""
        J = value_jacobian(self.theta, X, g, self.mirrors)
        sd = noise.sd * noise.relative
        leverage = np.einsum("np,np->n", J @ self.covariance, J) / sd**2
        return np.asarray(self.residuals / (sd * np.sqrt(np.maximum(1 - leverage, 0.05))))


def covariance_of(information: Floats) -> Floats:
    """Invert an information matrix in its own scale: by its Cholesky factor, or by its eigenvectors where it is nearly
    singular; directions without information get a variance that looks infinite."""
    scale, factor = _factor(information)
    if factor is not None:
        return np.asarray(cho_solve((factor, True), np.eye(len(factor))) * scale[:, None] * scale)
    values, vectors = np.linalg.eigh(information * scale[:, None] * scale)
    inverse = (vectors / np.maximum(values, 1e-15)) @ vectors.T
    return np.asarray(inverse * scale[:, None] * scale)


def covariance_root(information: Floats) -> Floats:
    """Return a matrix that, times its transpose, is :func:`covariance_of` the same information."""
    scale, factor = _factor(information)
    if factor is not None:
        return np.asarray(solve_triangular(factor, np.diag(scale), lower=True, check_finite=False).T)
    values, vectors = np.linalg.eigh(information * scale[:, None] * scale)
    return np.asarray(scale[:, None] * vectors / np.sqrt(np.maximum(values, 1e-15)))


def _factor(information: Floats) -> tuple[Floats, Floats | None]:
    """Return what scales a matrix to a diagonal of ones, and the lower Cholesky factor of that; None if it is nearly
    singular."""
    scale = 1 / np.sqrt(np.maximum(np.diag(information), 1e-30))  # what no row tells stays finite
    try:
        factor = cho_factor(information * scale[:, None] * scale, lower=True, check_finite=False)[0]
    except (LinAlgError, ValueError):
        return scale, None
    return scale, factor if float(np.diag(factor).min(initial=1.0)) > 1e-5 else None


def half_angles(spectra: Floats, level: Any) -> Floats:
    """Return (k,) half-angles, in radians, that hold a direction with probability `level`.

    A squared angle is a weighted sum of chi-squares, whose quantile is taken from the scaled chi-square of equal mean
    and variance (Satterthwaite).

    Parameters
    ----------
    spectra : (k, m) array
        Eigenvalues of the covariance of each direction, at least zero.
    """
    total, squares = spectra.sum(axis=1), np.maximum((spectra**2).sum(axis=1), 1e-300)
    freedom = np.maximum(total**2 / squares, 1e-3)
    return np.asarray(np.sqrt(squares / np.maximum(total, 1e-300) * 2 * gammaincinv(0.5 * freedom, level)))
