"""Local coordinates: how a constraint (common or known slope, weights on the simplex) enters a Gauss-Newton step.

Normal equations are always summed in the flat parameters of :class:`Family`; a constraint is then the chain rule with
the tangent matrix G here (H -> G'HG, g -> G'g) and a retraction back onto the constraint.
"""

from __future__ import annotations

import numpy as np

from ..checking import Floats
from .layout import Family, Parameters

__all__ = ["Chart"]


class Chart:
    """Coordinates about a point of a family.

    Parameters
    ----------
    family : Family
    metric : (d, d) array, optional
        The slope of unit a is ``sqrt(a' metric a)``; identity by default. Needed when the fit runs in whitened
        coordinates but slopes are meant in the coordinates of the user.
    """

    def __init__(self, family: Family, metric: Floats | None = None) -> None:
        self.family, self.metric = family, metric

    @property
    def constrained(self) -> bool:
        return self.family.slopes != "each" or self.family.simplex

    def slopes(self, A: Floats) -> Floats:
        """Return the slopes (k,) of the rows of A."""
        return np.asarray(np.sqrt(np.einsum("kd,kd->k", A, self._times_metric(A))))

    def project(self, theta: Parameters) -> Parameters:
        """Return the nearest sensible member of the family: slopes equalised, weights on the simplex."""
        A, u, b = theta.A, theta.u, theta.b
        if self.family.simplex:
            sign = np.where(u < 0, -1.0, 1.0)
            u, A, b = np.abs(u) / max(np.abs(u).sum(), 1e-300), A * sign[:, None], b * sign
        if self.family.slopes != "each":
            lengths = np.maximum(self.slopes(A), 1e-300)
            common = self.family.slopes
            wanted = float(np.exp(np.log(lengths).mean())) if common == "common" else float(common)
            A = A * (wanted / lengths)[:, None]
        return Parameters(
            A, u, b if self.family.offsets else np.zeros_like(b), theta.c if self.family.intercept else 0.0
        )

    def tangent(self, theta: Parameters) -> Floats:
        """Return G (size, q): the change of the flat parameters per local coordinate."""
        k, d = theta.A.shape
        size = self.family.size(k, d)
        if not self.constrained:
            return np.eye(size)
        columns = [self._unit_columns(theta, size), self._weight_columns(theta, size)]
        rest = np.eye(size)[:, self.family.layout(k, d).weights.stop :]
        return np.hstack([*columns, rest])

    def retract(self, theta: Parameters, step: Floats) -> Parameters:
        """Move by flat step ``G @ local`` and return onto the constraint."""
        k, d = theta.A.shape
        moved = self.family.unpack(self.family.pack(theta) + step, k, d)
        if self.family.simplex:
            change = step[self.family.layout(k, d).weights] / np.maximum(theta.u, 1e-12)
            u = theta.u * np.exp(np.clip(change, -3.0, 3.0))  # stays positive; equal to first order
            moved = moved._replace(u=u / u.sum())
        return moved if self.family.slopes == "each" else self.project(moved)

    def _times_metric(self, A: Floats) -> Floats:
        return A if self.metric is None else np.asarray(A @ self.metric)

    def _unit_columns(self, theta: Parameters, size: int) -> Floats:
        k, d = theta.A.shape
        layout = self.family.layout(k, d)
        if self.family.slopes == "each":
            return np.eye(size)[:, layout.units]
        normals = self._times_metric(theta.A)
        G = np.zeros((size, k * (d - 1)))
        for unit in range(k):
            frame = np.linalg.qr(normals[unit][:, None], mode="complete")[0][:, 1:]  # (d, d - 1)
            G[layout.a(unit), unit * (d - 1) : (unit + 1) * (d - 1)] = frame
        if self.family.slopes != "common":
            return G
        longer = np.zeros((size, 1))
        longer[layout.units, 0] = theta.A.ravel() / max(float(np.linalg.norm(theta.A)), 1e-300)
        return np.hstack([G, longer])

    def _weight_columns(self, theta: Parameters, size: int) -> Floats:
        k = len(theta.u)
        weights = self.family.layout(*theta.A.shape).weights
        if not self.family.simplex:
            return np.eye(size)[:, weights]
        # On the simplex: relative changes u * eta with mean zero under u keep the sum.
        G = np.zeros((size, max(k - 1, 0)))
        if k > 1:
            spread = np.diag(theta.u) - np.outer(theta.u, theta.u)
            G[weights] = np.linalg.svd(spread)[0][:, : k - 1]
        return G
