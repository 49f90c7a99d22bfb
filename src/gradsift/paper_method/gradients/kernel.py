"""Gradients from a table with Gaussian rows: an exponentially weighted covariance of x and y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from ...checking import at_least, finite_matrix
from ...paper import implements
from ...sources import as_source
from .estimates import GradientEstimates, concatenate
from .kernel_summary import KernelSummary, points_at_once

__all__ = ["KernelGradients"]


@dataclass(frozen=True)
class KernelGradients:
    """Estimate gradients from rows x ~ N(0, I) by eq. ``eq:Slope``.

    Parameters
    ----------
    working_memory : float
        Most MiB beside the rows and the result, whatever their number.
    precision : {"full", "tf32"}
        "tf32" trades accuracy (1e-4 to 4e-4 instead of 1e-6) for speed where the rows are float32 CUDA tensors;
        elsewhere it changes nothing.

    Notes
    -----
    The support at a point xi is about ``n exp(-|xi|^2)`` for standard Gaussian rows: look at it before trusting an
    estimate. For rows N(mu, S) the result is S times the smoothed gradient.
    """

    working_memory: float = 64.0
    precision: str = "full"

    @implements("eq:Slope")
    def estimate(self, source: Any, points: ArrayLike, rng: Any = None) -> GradientEstimates:
        """Read the rows once per :func:`points_at_once` points; O(m n d) flops. `rng` is not used."""
        at_least("working_memory", self.working_memory, 0.1)
        rows = as_source(source)
        xi = finite_matrix("points", points, rows.n_features)
        group = points_at_once(rows.n_features, self.working_memory)
        parts = [
            rows.reduce(KernelSummary(xi[i : i + group], self.working_memory, self.precision))
            for i in range(0, len(xi), group)
        ]
        return concatenate(parts)
