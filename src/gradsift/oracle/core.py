"""A callable behind a counter and a budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checking import Floats, at_least, finite_matrix
from ..errors import BudgetSpent

__all__ = ["Oracle"]


class Oracle:
    """A function ``(n, d) -> (n,)`` that is asked sparingly.

    Parameters
    ----------
    function : callable
    n_features : int
    max_queries : int, optional
        A batch that would exceed it raises :class:`~gradsift.errors.BudgetSpent` before anything is asked.
    batch_size : int, optional
        Most rows handed to `function` at once.

    Attributes
    ----------
    n_queries : int
        Rows asked so far.
    """

    def __init__(
        self,
        function: Callable[[Floats], ArrayLike],
        n_features: int,
        *,
        max_queries: int | None = None,
        batch_size: int | None = None,
    ) -> None:
        if not callable(function):
            raise TypeError(f"function must be callable, got {type(function).__name__}.")
        at_least("n_features", n_features, 1)
        for name, value in (("max_queries", max_queries), ("batch_size", batch_size)):
            if value is not None:
                at_least(name, value, 1)
        self.function, self.n_features = function, int(n_features)
        self.max_queries, self.batch_size = max_queries, batch_size
        self.n_queries = 0

    def __repr__(self) -> str:
        return f"Oracle(n_features={self.n_features}, n_queries={self.n_queries})"

    def __call__(self, X: ArrayLike) -> Floats:
        """Ask for the values at the rows of X, shape (n,)."""
        rows = finite_matrix("X", X, self.n_features)
        if self.max_queries is not None and self.n_queries + len(rows) > self.max_queries:
            raise BudgetSpent(
                f"{self.n_queries} of {self.max_queries} queries are spent and the next step needs {len(rows)}: "
                "raise max_queries or ask for less."
            )
        step = self.batch_size or len(rows)
        parts = [self._ask(rows[start : start + step]) for start in range(0, len(rows), step)]
        return np.concatenate(parts)

    def _ask(self, rows: Floats) -> Floats:
        reply: Any = np.asarray(self.function(rows))
        self.n_queries += len(rows)
        if reply.dtype.kind not in "biuf":
            raise TypeError(f"The oracle must return real numbers, got dtype {reply.dtype}.")
        if reply.shape == (len(rows), 1):
            reply = reply[:, 0]
        if reply.shape != (len(rows),):
            raise ValueError(
                f"The oracle must return {len(rows)} values for {len(rows)} rows, got shape {reply.shape}."
            )
        bad = ~np.isfinite(reply)
        if bad.any():
            raise ValueError(
                f"The oracle must return finite values, but {int(bad.sum())} of {len(rows)} are NaN or inf."
            )
        return np.asarray(reply, dtype=np.float64)
