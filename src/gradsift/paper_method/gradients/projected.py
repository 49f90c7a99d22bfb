"""Gradients from a table after projecting its rows on a low-dimensional subspace."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ...checking import Floats, at_least, finite_matrix
from ...paper import implements
from ...sources import Rows, Source, Summary, as_source
from .estimates import GradientEstimates, concatenate
from .kernel_summary import KernelSummary, points_at_once

__all__ = ["ProjectedGradients", "split_rows"]

State = TypeVar("State")
Result = TypeVar("Result")


class ProjectedSummary(Summary[State, Result]):
    """Another summary, seen through coordinates in a subspace."""

    def __init__(self, inner: Summary[State, Result], components: Floats) -> None:
        self.inner, self.components = inner, components

    def block_rows(self, n_features: int) -> int:
        k = len(self.components)
        return max(1, self.inner.block_rows(k) * k // n_features)  # the unprojected block takes memory, too

    def chunk(self, rows: Rows) -> State:
        return self.inner.chunk(rows._replace(X=rows.X @ self.components.T))

    def chunk_on_device(self, rows: Any) -> State:
        components = rows.X.new_tensor(self.components)
        return self.inner.chunk_on_device(rows._replace(X=rows.X @ components.T))

    def merge(self, left: State, right: State) -> State:
        return self.inner.merge(left, right)

    def finalize(self, state: State) -> Result:
        return self.inner.finalize(state)


@dataclass(frozen=True)
class ProjectedGradients:
    """Estimate gradients inside a subspace by eq. ``projectedestimate``.

    Parameters
    ----------
    subspace : (k, d) array or estimator with ``fit_source``
        Orthonormal rows: all rows of the table go into the gradients. An estimator such as
        :class:`~gradsift.SpectralMirror`: it is fitted on the first rows, and the others go into the gradients.
    subspace_share : float in (0, 1)
        Share of the rows (the paper's n1 / n) that an estimator gets.
    working_memory : float
        Most MiB that temporaries may take.
    """

    subspace: Any
    subspace_share: float = 0.5
    working_memory: float = 64.0

    @implements("projectedestimate")
    def estimate(self, source: Any, points: ArrayLike, rng: Any = None) -> GradientEstimates:
        """Read the rows once (and once per half of the subspace's rows). `rng` is not used."""
        at_least("working_memory", self.working_memory, 0.1)
        rows = as_source(source)
        xi = finite_matrix("points", points, rows.n_features)
        components, rest = self._split(rows)
        within = xi @ components.T  # the estimate depends on xi through its projection only
        group = points_at_once(len(components), self.working_memory)
        parts = [
            rest.reduce(ProjectedSummary(KernelSummary(within[i : i + group], self.working_memory), components))
            for i in range(0, len(within), group)
        ]
        inside = concatenate(parts)
        spread = np.sqrt(inside.standard_errors**2 @ components**2)
        return GradientEstimates(inside.values @ components, inside.support, spread)

    def _split(self, rows: Source) -> tuple[Floats, Source]:
        if not hasattr(self.subspace, "fit_source"):
            components = finite_matrix("subspace", self.subspace, rows.n_features)
            if np.abs(components @ components.T - np.eye(len(components))).max() > 1e-8:
                raise ValueError("subspace must have orthonormal rows, but they are not.")
            return components, rows
        first, rest = split_rows(rows, self.subspace_share)
        fitted = copy.copy(self.subspace).fit_source(first)  # the caller's own stays as it was
        return np.asarray(fitted.components_), rest


def split_rows(rows: Source, share: float) -> tuple[Source, Source]:
    """Split the rows n1 | n2: the first `share` of them for the subspace, the rest for the gradients."""
    n1 = round(share * rows.n_rows) if 0 < share < 1 else 0
    if not 0 < n1 < rows.n_rows:
        raise ValueError(f"subspace_share must lie in (0, 1) and leave rows on both sides, got {share!r}.")
    return rows.rows(0, n1), rows.rows(n1, rows.n_rows)
