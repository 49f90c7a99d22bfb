"""Gradients from a table with rows of any distribution: a plane fitted to the rows near each point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...checking import Floats, at_least, finite_matrix
from ...sources import Rows, Summary, as_source
from .estimates import GradientEstimates

__all__ = ["LocalLinearGradients"]


class LocalState(NamedTuple):
    gram: Floats  # (m, d + 1, d + 1): weighted products of (1, x - point)
    moment: Floats  # (m, d + 1): with y
    y_square: Floats  # (m,)
    mass2: Floats  # (m,)


class LocalLinearSummary(Summary[LocalState, GradientEstimates]):
    """Weighted least squares at each point, weights ``exp(-|x - point|^2 / (2 bandwidth^2))``."""

    def __init__(self, points: Floats, bandwidth: float, ridge: float, y_reference: float = 0.0) -> None:
        self.points, self.bandwidth, self.ridge, self.y_reference = points, bandwidth, ridge, y_reference

    def block_rows(self, n_features: int) -> int:
        return 4096

    def chunk(self, rows: Rows) -> LocalState:
        parts = [self._at(point, rows) for point in self.points]
        return LocalState(*(np.stack([part[field] for part in parts]) for field in range(4)))

    def _at(self, point: Floats, rows: Rows) -> tuple[Floats, Floats, Any, Any]:
        steps = np.column_stack((np.ones(len(rows.X)), rows.X - point))  # (rows, d + 1)
        distance = np.einsum("ij,ij->i", steps[:, 1:], steps[:, 1:])
        weight = np.exp(-0.5 * distance / self.bandwidth**2)
        if rows.weight is not None:
            weight *= rows.weight
        weighted = steps * weight[:, None]
        y = rows.y - self.y_reference  # the plane has an intercept, so only the residuals' rounding feels this
        return weighted.T @ steps, weighted.T @ y, weight @ y**2, weight @ weight

    def merge(self, left: LocalState, right: LocalState) -> LocalState:
        return LocalState(*(a + b for a, b in zip(left, right)))

    def finalize(self, state: LocalState) -> GradientEstimates:
        m, p = state.moment.shape
        values, errors = np.zeros((m, p - 1)), np.full((m, p - 1), np.inf)
        mass = state.gram[:, 0, 0]
        support = np.where(state.mass2 > 0, mass**2 / np.where(state.mass2 > 0, state.mass2, 1.0), 0.0)
        penalty = self.ridge * self.bandwidth**2 * np.diag(np.r_[0.0, np.ones(p - 1)])
        for i in np.flatnonzero(support > 1):
            inverse = np.linalg.pinv(state.gram[i] / mass[i] + penalty, hermitian=True)
            plane = inverse @ state.moment[i] / mass[i]
            left_over = state.y_square[i] / mass[i] - 2 * plane @ state.moment[i] / mass[i]
            left_over += plane @ state.gram[i] @ plane / mass[i]
            values[i] = plane[1:]
            spread = max(float(left_over), 0.0) * np.diag(inverse)[1:] / support[i]
            errors[i] = np.sqrt(np.maximum(spread, 0.0))
        return GradientEstimates(values, support, errors)


@dataclass(frozen=True)
class LocalLinearGradients:
    """Estimate gradients by local linear regression, whatever the distribution of the rows.

    Parameters
    ----------
    bandwidth : float
        Standard deviation of the Gaussian window around each point.
    ridge : float
        Relative to the window's variance; keeps a point with few rows from inventing a slope.

    Notes
    -----
    O(m n d^2) flops, O(m d^2) memory. Not in the paper's theorems; the paper names it as an alternative.
    A point that no row is near has support 0, gradient 0 and infinite standard errors.
    """

    bandwidth: float = 1.0
    ridge: float = 1e-3

    def estimate(self, source: Any, points: ArrayLike, rng: Any = None) -> GradientEstimates:
        """Read the rows once. `rng` is not used."""
        at_least("bandwidth", self.bandwidth, 0, strict=True)
        at_least("ridge", self.ridge, 0)
        rows = as_source(source)
        xi = finite_matrix("points", points, rows.n_features)
        reference = float(rows.take(np.arange(1)).y[0])
        return rows.reduce(LocalLinearSummary(xi, self.bandwidth, self.ridge, reference))
