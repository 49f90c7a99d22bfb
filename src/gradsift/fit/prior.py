"""Gaussian priors: weak ones that keep a search from growing a spike unit (huge slope, tiny weight), and ridges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..checking import Floats
from .layout import Family, Parameters

__all__ = ["NO_PRIOR", "Prior"]


@dataclass(frozen=True)
class Prior:
    """Independent Gaussians, in the coordinates of the fit (rows and target of unit scale).

    Attributes
    ----------
    arguments : float or (d,) array
        Standard deviation of the entries of A, one for all columns or one for each.
    weights : float
        Standard deviation of the weights; not used on the simplex.
    homogeneity : float
        Standard deviation of a unit's log-slope about the mean log-slope of all units.
    offsets : float
        Standard deviation of the offsets.
    least_variance : float
        Added to the noise's variance: without it, what passes through all rows beats every prior. By default only a
        floor for exact fits, below which there is nothing left to gain.
    """

    arguments: float | Floats = 8.0
    weights: float = 3.0
    homogeneity: float = 0.5
    offsets: float = 8.0
    least_variance: float = 1e-28

    def value(self, theta: Parameters, family: Family) -> float:
        """Return minus the log-density, up to a constant."""
        total = 0.5 * float(((theta.A / self.arguments) ** 2).sum() + ((theta.b / self.offsets) ** 2).sum())
        if not family.labels:
            total += 0.5 * float((theta.u**2).sum()) / self.weights**2
        if family.slopes == "each" and np.isfinite(self.homogeneity):
            total += 0.5 * float((_log_slope_gaps(theta.A) ** 2).sum()) / self.homogeneity**2
        return total

    def gradient(self, theta: Parameters, family: Family) -> Floats:
        """Return the gradient of :meth:`value` in the flat parameters."""
        A = theta.A / self.arguments**2
        if family.slopes == "each" and np.isfinite(self.homogeneity):
            A = A + theta.A * (_log_slope_gaps(theta.A) / (self.homogeneity**2 * _squares(theta.A)))[:, None]
        u = np.zeros_like(theta.u) if family.labels else theta.u / self.weights**2
        return family.pack(Parameters(A, u, theta.b / self.offsets**2, 0.0))

    def curvature(self, theta: Parameters, family: Family) -> Floats:
        """Return a positive semidefinite stand-in for the Hessian, (size, size)."""
        k, d = theta.A.shape
        b = np.full(k, 1 / self.offsets**2)
        A = np.broadcast_to(np.asarray(self.arguments, dtype=np.float64) ** -2, (k, d))
        u = np.zeros(k) if family.labels else np.full(k, 1 / self.weights**2)
        H = np.diag(family.pack(Parameters(A, u, b, 0.0)))
        if family.slopes == "each" and np.isfinite(self.homogeneity):
            radial = theta.A / _squares(theta.A)[:, None]  # d log|a| / da
            for unit in range(k):
                block = family.layout(k, d).a(unit)
                H[block, block] += np.outer(radial[unit], radial[unit]) / self.homogeneity**2
        return H


NO_PRIOR = Prior(np.inf, np.inf, np.inf, np.inf)


def _squares(A: Floats) -> Floats:
    return np.asarray(np.maximum((A * A).sum(axis=1), 1e-12))


def _log_slope_gaps(A: Floats) -> Floats:
    logs = 0.5 * np.log(_squares(A))
    return np.asarray(logs - logs.mean())
