"""Gradients from a table after projecting its rows on a low-dimensional subspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..checking import Floats, finite_matrix
from ..paper import implements
from ..sources import Rows, Source, Summary, as_source
from .estimates import GradientEstimates
from .kernel_summary import KernelSummary

__all__ = ["ProjectedGradients"]

State = TypeVar("State")
Result = TypeVar("Result")


class ProjectedSummary(Summary[State, Result]):
    """Another summary, seen through coordinates in a subspace."""

    def __init__(self, inner: Summary[State, Result], components: Floats) -> None:
        self.inner, self.components = inner, components

    def block_rows(self, n_features: int) -> int:
        return self.inner.block_rows(len(self.components))

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
        rows = as_source(source)
        xi = finite_matrix("points", points, rows.n_features)
        components, rest = self._split(rows)
        inner = KernelSummary(xi @ components.T, self.working_memory)  # depends on xi through its projection only
        inside = rest.reduce(ProjectedSummary(inner, components))
        spread = np.sqrt(inside.standard_errors**2 @ components**2)
        return GradientEstimates(inside.values @ components, inside.support, spread)

    def _split(self, rows: Source) -> tuple[Floats, Source]:
        if not hasattr(self.subspace, "fit_source"):
            components = finite_matrix("subspace", self.subspace, rows.n_features)
            if np.abs(components @ components.T - np.eye(len(components))).max() > 1e-8:
                raise ValueError("subspace must have orthonormal rows, but they are not.")
            return components, rows
        if not 0 < self.subspace_share < 1:
            raise ValueError(f"subspace_share must lie in (0, 1), got {self.subspace_share!r}.")
        n1 = round(self.subspace_share * rows.n_rows)
        self.subspace.fit_source(rows.rows(0, n1))
        return np.asarray(self.subspace.components_), rows.rows(n1, rows.n_rows)
