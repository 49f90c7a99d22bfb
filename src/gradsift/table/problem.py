"""The rows of one search, in memory and in a frame, with what every stage asks of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..checking import Floats
from ..fit import Family, NormalEquations, Parameters, Prior, Refined, refine
from ..sources import ArraySource, Rows, Source
from ..sources.moments import MomentSummary
from .batch import BatchLoss
from .frame import Frame, frame_of

__all__ = ["MAX_ROWS", "TableProblem", "prepare"]

MAX_ROWS = 20_000  # a search looks at no more; the rest of the rows only polish what it found
_CANONICAL = 50_000  # numbers: tables up to this size are sorted first


@dataclass(frozen=True)
class TableProblem:
    """What to fit, and the rows to search on.

    Attributes
    ----------
    rows : Rows
        In the frame, in random order, so that the first m are a fair sample.
    family : Family
    frame : Frame
    prior : Prior
    linear_share : float
        Share of the target's variance that a linear fit explains (an optimist's signal-to-noise ratio).
    n_rows : int
        Of the whole source.
    """

    rows: Rows
    family: Family
    frame: Frame
    prior: Prior
    linear_share: float
    n_rows: int

    @property
    def n_features(self) -> int:
        """Dimension of the frame."""
        return int(self.rows.X.shape[1])

    @property
    def mass(self) -> float:
        """Total weight of the rows."""
        return float(len(self.rows.y) if self.rows.weight is None else self.rows.weight.sum())

    def first(self, m: int) -> Rows:
        """Return the first m rows."""
        X, y, weight = self.rows
        return Rows(X[:m], y[:m], None if weight is None else weight[:m])

    def batch(self, n_units: int, m: int) -> BatchLoss:
        """Return the race's objective on the first m rows."""
        return BatchLoss(self.first(m), self.family, n_units)

    def polish(self, theta: Parameters, *, tolerance: float = 1e-4, max_iterations: int = 30) -> Refined:
        """Run Levenberg-Marquardt on all rows of the search."""
        source = ArraySource(*self.rows)
        return refine(
            lambda point, curvature: source.reduce(NormalEquations(self.family, point, curvature=curvature)),
            self.family,
            theta,
            prior=self.prior,
            metric=self.frame.metric,
            tolerance=tolerance,
            max_iterations=max_iterations,
        )


def prepare(source: Source, family: Family, rng: np.random.Generator, prior: Prior | None = None) -> TableProblem:
    """Draw at most :data:`MAX_ROWS` rows and put them in the frame of the source's moments."""
    rows = source.subsample(MAX_ROWS, rng)
    if rows.X.size <= _CANONICAL:
        # Sorted and with equal rows merged: then order, repetition and integer weights give the same bits.
        rows = _canonical(rows)
        summary = MomentSummary()
        moments = summary.finalize(summary.chunk(rows))
    else:
        moments = source.moments
    frame = frame_of(moments, family)
    order = rng.permutation(len(rows.y))
    weight = None if rows.weight is None else rows.weight[order]
    framed = frame.rows(Rows(rows.X[order], rows.y[order], weight))
    share = _linear_share(moments.covariance, moments.cross, moments.y_variance)
    return TableProblem(framed, family, frame, prior or Prior(), share, source.n_rows)


def _canonical(rows: Rows) -> Rows:
    table = np.column_stack((rows.X, rows.y))
    weight = np.ones(len(table)) if rows.weight is None else rows.weight
    unique, inverse = np.unique(table[weight > 0], axis=0, return_inverse=True)
    merged: Floats = np.bincount(inverse.ravel(), weights=weight[weight > 0]).astype(np.float64)
    X = np.ascontiguousarray(unique[:, :-1])
    return Rows(X, unique[:, -1].copy(), None if (merged == 1).all() else merged)


def _linear_share(covariance: Floats, cross: Floats, y_variance: float) -> float:
    spread = np.sqrt(np.maximum(np.diag(covariance), np.finfo(np.float64).tiny))
    y_spread = np.sqrt(y_variance) if y_variance > 0 else 1.0
    correlation = covariance / spread[:, None] / spread
    r = cross / spread / y_spread
    explained = float(r @ np.linalg.lstsq(correlation, r, rcond=1e-10)[0])
    return float(np.clip(explained, 0.02, 0.98))
