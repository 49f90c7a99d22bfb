"""The span of the units, from second moments of mirrored answers (SpectralMirror of Sun, Ioannidis and Montanari)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ...arguments import Floats
from ...errors import NotIdentifiable
from ...sources import ArraySource, Rows, Source, Summary
from .. import implements


class MirrorState(NamedTuple):
    mass: float
    second: Floats  # (d, d): sum of z g g^T
    square: float  # sum of z^2


class MirrorSummary(Summary[MirrorState, MirrorState]):
    """``mean z g g^T`` with ``z = y sgn<r, x>`` and g the whitened row. O(n d^2) flops, O(d^2) memory."""

    def __init__(self, reflector: Floats, mean: Floats, whitener: Floats) -> None:
        self.reflector, self.mean, self.whitener = reflector, mean, whitener

    def chunk(self, rows: Rows) -> MirrorState:
        mirrored = rows.y * np.sign(rows.X @ self.reflector)
        weight = mirrored if rows.weight is None else mirrored * rows.weight
        mass = float(len(rows.y)) if rows.weight is None else float(rows.weight.sum())
        white = (rows.X - self.mean) @ self.whitener
        return MirrorState(mass, (white * weight[:, None]).T @ white, float(weight @ mirrored))

    def chunk_on_device(self, rows: Any) -> MirrorState:
        x, y = rows.X.double(), rows.y.double()
        mirrored = y * (x @ x.new_tensor(self.reflector)).sign()
        weight = mirrored if rows.weight is None else mirrored * rows.weight.double()
        mass = float(len(y)) if rows.weight is None else float(rows.weight.double().sum())
        white = (x - x.new_tensor(self.mean)) @ x.new_tensor(self.whitener)
        second = (white * weight[:, None]).T @ white
        return MirrorState(mass, second.cpu().numpy(), float(weight @ mirrored))

    def merge(self, left: MirrorState, right: MirrorState) -> MirrorState:
        return MirrorState(left.mass + right.mass, left.second + right.second, left.square + right.square)

    def finalize(self, state: MirrorState) -> MirrorState:
        return MirrorState(state.mass, state.second / state.mass, state.square / state.mass)


def _standard_frame(covariance: Floats) -> Floats:
    """Return B with B'SB = I: S^(-1/2) up to a rotation, which no eigenvalue and no span notices.

    Columns are brought to unit variance first, so that their units of measurement do not decide what is singular.
    """
    spread = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(spread, spread))
    if values[0] <= 1e-12 * values[-1]:
        raise ValueError("X must not have linearly dependent columns, but its correlation matrix is singular.")
    return np.asarray((vectors / np.sqrt(values)) / spread[:, None])


class SpectralMirror(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Estimate the span of the units from rows N(mu, S) and answers.

    The first half of the rows gives mean, covariance and the mean direction r; the second half gives the second
    moment of the whitened rows weighted by ``y sgn<r, x>``. Its eigenvectors whose eigenvalues lie furthest from
    the median eigenvalue, mapped back by ``S^(-1/2)``, span the units (theorem ``sunthm``). Positive weights are
    what the theorem asks for; signed ones work as well because the sigmoid is odd.

    Parameters
    ----------
    n_components : int, optional
        Dimension of the span; None counts the eigenvalues outside the range that pure noise would fill.

    Attributes
    ----------
    components_ : (n_components, d) array
        Orthonormal rows.
    eigenvalues_ : (d,) array
        All of them, furthest from the median first.
    noise_edge_ : float
        Distance from the median that noise alone reaches.
    reflector_ : (d,) array
        The mean direction r.
    n_features_in_ : int

    Notes
    -----
    One pass over each half; O(n d^2 + d^3) flops, O(d^2) memory beside one block of rows.
    """

    def __init__(self, n_components: int | None = None) -> None:
        self.n_components = n_components

    def fit(self, X: ArrayLike, y: ArrayLike) -> SpectralMirror:
        """Fit on arrays (or frames) of shapes (n, d) and (n,)."""
        rows, target = validate_data(self, X, y, dtype=[np.float64, np.float32], y_numeric=True, ensure_min_samples=4)
        return self.fit_source(ArraySource(rows, target))

    @implements("sunthm")
    def fit_source(self, source: Source) -> SpectralMirror:
        """Fit on any source of rows."""
        d, half = source.n_features, source.n_rows // 2
        k = self.n_components
        if k is not None and not (isinstance(k, (int, np.integer)) and 1 <= k <= d):
            raise ValueError(f"n_components must be None or between 1 and {d}, got {k!r}.")
        # First half: mean, covariance, mean direction.
        moments = source.rows(0, half).require_spread()
        whitener = _standard_frame(moments.covariance)
        # S^{-1} times the covariance of x and y: for Gaussian rows the mean gradient, a combination of all units.
        reflector = whitener @ (whitener.T @ moments.cross)
        # Second half: mirrored second moment in whitened coordinates.
        mirror = source.rows(half, source.n_rows).reduce(MirrorSummary(reflector, moments.mean, whitener))
        # Across the span z g g' has the same mean in every direction: these eigenvalues lie about the median, and those
        # of the span stand off on either side.
        eigenvalues, eigenvectors = np.linalg.eigh(mirror.second)
        distance = np.abs(eigenvalues - np.median(eigenvalues))
        order = np.argsort(-distance, kind="stable")
        ratio = d / mirror.mass
        # Spectral norm of a mean of z g g^T with z independent of g, plus a quarter for finite size.
        self.noise_edge_ = float(1.25 * np.sqrt(mirror.square) * (2 * np.sqrt(ratio) + ratio))
        if k is None:
            k = int(np.sum(distance > self.noise_edge_))
            if k == 0:
                raise NotIdentifiable(
                    f"No eigenvalue stands out: the furthest lies {distance.max():.3g} from the median and noise alone "
                    f"reaches {self.noise_edge_:.3g} with {source.n_rows} rows; use more rows or give n_components."
                )
        self.components_: Floats = np.linalg.qr(whitener @ eigenvectors[:, order[:k]])[0].T
        self.eigenvalues_: Floats = eigenvalues[order]
        self.reflector_: Floats = reflector
        self.n_features_in_ = d
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Return the coordinates of the rows in the subspace, shape (n, n_components)."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return np.asarray(rows @ self.components_.T)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
