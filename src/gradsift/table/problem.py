"""The rows of one search, in memory and in a frame, with what every stage asks of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import Floats
from ..certificate import TABLE
from ..fit import Family, NormalEquations, Parameters, Prior, Refined, polish
from ..runtime import MAX_ROWS
from ..sources import ArraySource, Rows, Source
from ..sources.source import MomentSummary
from .frame import Frame, frame_of
from .lbfgs import BatchLoss
from .options import TableOptions, final_prior, search_prior, weight_scale

SMALL_TABLE = 100_000  # numbers: tables up to this size are sorted first, and looked at harder


class AllRows(NamedTuple):
    """Rows in the frame as they came, none merged with its equals; what errors are summed over."""

    rows: Rows
    groups: NDArray[np.intp] | None


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
        Of the search; `last_prior` is that of the fit which is handed back.
    last_prior : Prior
    linear_share : float
        Share of the target's variance that a linear fit explains (an optimist's signal-to-noise ratio).
    n_rows : int
        Of the whole source.
    observed : AllRows
    choices : TableOptions
    """

    rows: Rows
    family: Family
    frame: Frame
    prior: Prior
    last_prior: Prior
    linear_share: float
    n_rows: int
    observed: AllRows
    choices: TableOptions

    def with_ridge(self, alpha: float) -> TableProblem:
        """Return the problem with a ridge of that precision."""
        choices, frame = replace(self.choices, alpha=alpha), self.frame
        return replace(self, choices=choices, prior=search_prior(alpha, frame), last_prior=final_prior(alpha, frame))

    def on(self, rows: Rows) -> TableProblem:
        """Return the problem on some of the rows."""
        return replace(self, rows=rows)

    def room(self) -> int:
        """Return for how many units there are rows enough to tell parameters apart from noise; it may be none."""
        family, d = self.family, self.n_features
        most = self.mass / TABLE.rows_per_parameter
        per_unit = family.n_parameters(2, d) - family.n_parameters(1, d)
        return max(0, 1 + int((most - family.n_parameters(1, d)) // max(per_unit, 1)))

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
        return self.rows.take(slice(m))

    def batch(self, n_units: int, m: int) -> BatchLoss:
        """Return the race's objective on the first m rows."""
        if self.choices.alpha == 0:
            return BatchLoss(self.first(m), self.family, n_units)
        noise = 1.0 if self.family.labels else 1 - self.linear_share  # a prior is in nats, a mean loss in squares
        share = min(m, len(self.rows.y)) / len(self.rows.y)
        precision = np.broadcast_to(self.prior.products, self.n_features)  # as if weights were one
        return BatchLoss(self.first(m), self.family, n_units, 0.04 + share * noise * precision)

    def objective(self, theta: Parameters) -> float:
        """Return what a polish would lower: nats on all rows of the search, with its prior."""
        return self.polish(theta, max_iterations=0).objective

    def curvature(self, theta: Parameters) -> Floats:
        """Return the Gauss-Newton matrix of the rows of the search at a point."""
        matrix = ArraySource(*self.rows).reduce(NormalEquations(self.family, theta)).curvature
        assert matrix is not None  # asked for by default
        return matrix

    def polish(
        self,
        theta: Parameters,
        *,
        tolerance: float = 1e-4,
        max_iterations: int = 30,
        prior: Prior | None = None,
        curvature: Floats | None = None,
    ) -> Refined:
        """Run Levenberg-Marquardt on all rows of the search; what an earlier polish left near by saves a pass."""
        source = ArraySource(*self.rows)
        return polish(
            lambda point, curvature: source.reduce(NormalEquations(self.family, point, curvature=curvature)),
            self.family,
            theta,
            prior=self.prior if prior is None else prior,
            metric=self.frame.metric,
            curvature=curvature,
            tolerance=tolerance,
            max_iterations=max_iterations,
        )


def prepare(
    source: Source, family: Family, rng: np.random.Generator, choices: TableOptions | None = None
) -> TableProblem:
    """Draw at most :data:`~gradsift.runtime.MAX_ROWS` rows and put them in the frame of the source's moments."""
    choices = choices or TableOptions()
    n = source.n_rows
    drawn = np.arange(n) if n <= MAX_ROWS else np.sort(rng.choice(n, MAX_ROWS, replace=False))
    rows = source.take(drawn)
    groups = None if choices.groups is None else choices.groups[drawn]
    scale = weight_scale(source, choices.weights)
    raw = rows if rows.X.size <= SMALL_TABLE else None
    if raw is not None:
        # Sorted and with equal rows merged: then order, repetition and integer weights give the same bits.
        rows = _canonical(rows)
        summary = MomentSummary()
        moments = summary.finalize(summary.chunk(rows))
        needed = TABLE.rows_per_parameter * family.n_parameters(1, rows.X.shape[1])
        if rows.weight is not None and max(1.0, scale) * float(rows.weight.sum()) < needed:
            scale = 1 / float(rows.weight.mean())  # so few rows are regularised, for which weights are relative
    else:
        moments = source.moments
    frame = frame_of(moments, family, scale)
    order = rng.permutation(len(rows.y))
    weight = None if rows.weight is None else rows.weight[order]
    framed = frame.rows(Rows(rows.X[order], rows.y[order], weight))
    # How much a line explains is the cheapest guess of signal over noise, and says how many rows a search needs.
    share = _linear_share(moments.covariance, moments.cross, moments.y_variance)
    alpha = 0.0 if isinstance(choices.alpha, str) else choices.alpha
    if raw is None:  # none was merged with its equals
        observed = AllRows(framed, None if groups is None else groups[order])
    else:
        observed = AllRows(frame.rows(raw), groups)
    return TableProblem(
        framed, family, frame, search_prior(alpha, frame), final_prior(alpha, frame), share, n, observed,
        replace(choices, alpha=alpha),
    )  # fmt: skip


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
    # R^2 = r' C^-1 r for correlations r of the columns with y; least squares where columns repeat others.
    correlation = covariance / spread[:, None] / spread
    r = cross / spread / y_spread
    explained = float(r @ np.linalg.lstsq(correlation, r, rcond=1e-10)[0])
    return float(np.clip(explained, 0.02, 0.98))
