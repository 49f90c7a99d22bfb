"""The one record that every gradient estimator returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import Floats
from ...geometry import row_lengths


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


def concatenate(parts: Sequence[GradientEstimates]) -> GradientEstimates:
    """Join the estimates at several groups of points."""
    if len(parts) == 1:
        return parts[0]
    return GradientEstimates(
        values=np.concatenate([p.values for p in parts]),
        support=np.concatenate([p.support for p in parts]),
        standard_errors=np.concatenate([p.standard_errors for p in parts]),
    )


@runtime_checkable
class GradientEstimator(Protocol):
    """Anything with this method can stand behind :func:`gradsift.generate_candidates`."""

    def estimate(self, source: Any, points: ArrayLike, rng: Any = None) -> GradientEstimates:
        """Estimate the gradient at each row of `points`."""
        ...
