"""The one record that every gradient estimator returns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from numpy.typing import ArrayLike

from ..checking import Floats
from ..geometry import row_lengths

__all__ = ["GradientEstimates", "GradientEstimator"]


@dataclass(frozen=True)
class GradientEstimates:
    """Gradients of the regression function, estimated at m points.

    Attributes
    ----------
    values : (m, d) array
    support : (m,) array
        Effective number of samples behind each estimate.
    standard_errors : (m, d) array
        Of each coordinate.
    """

    values: Floats
    support: Floats
    standard_errors: Floats

    @cached_property
    def norms(self) -> Floats:
        """Euclidean lengths, shape (m,)."""
        return row_lengths(self.values)


@runtime_checkable
class GradientEstimator(Protocol):
    """Anything with this method can stand behind :func:`gradsift.generate_candidates`."""

    def estimate(self, source: Any, points: ArrayLike, rng: Any = None) -> GradientEstimates:
        """Estimate the gradient at each row of `points`."""
        ...
