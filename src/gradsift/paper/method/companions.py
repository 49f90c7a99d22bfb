"""Companions of the spectral mirror: two other ways to find the span of the units from rows alone.

``HermiteSubspace`` needs Gaussian rows and then holds for many units, where the mirror fades. ``GradientSubspace``
asks nothing of the rows but needs few dimensions (local fits).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ...arguments import Floats
from ...errors import NotIdentifiable
from ...sources import ArraySource, Moments, Rows, Source, Summary


class _Subspace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What both share: options, projection, tags."""

    components_: Floats

    def _dimension(self, n_features: int) -> int:
        k = self.n_components
        if not (isinstance(k, (int, np.integer)) and 1 <= k <= n_features):
            raise ValueError(f"n_components must be between 1 and {n_features}, got {k!r}.")
        return int(k)

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


class HermiteState(NamedTuple):
    mass: float
    third: Floats  # (d, d, d): sum of t g g g, t the standardised target
    first: Floats  # (d,): sum of t g
    fourth: Floats  # (d,): sum of g^4, to judge whether the rows are Gaussian


class HermiteSummary(Summary[HermiteState, HermiteState]):
    """Third-order moments of whitened rows with the target. O(n d^3) flops, O(d^3) memory."""

    def __init__(self, moments: Moments, whitener: Floats) -> None:
        self.moments, self.whitener = moments, whitener

    def block_rows(self, n_features: int) -> int:
        return int(np.clip(2_000_000 // n_features**2, 64, 4096))

    def chunk(self, rows: Rows) -> HermiteState:
        white = (rows.X - self.moments.mean) @ self.whitener
        weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
        target = weight * (rows.y - self.moments.y_mean)
        n, d = white.shape
        pairs = (white[:, :, None] * white[:, None, :]).reshape(n, d * d)
        third = ((white * target[:, None]).T @ pairs).reshape(d, d, d)
        return HermiteState(float(weight.sum()), third, target @ white, weight @ white**4)

    def merge(self, left: HermiteState, right: HermiteState) -> HermiteState:
        return HermiteState(
            left.mass + right.mass, left.third + right.third, left.first + right.first, left.fourth + right.fourth
        )

    def finalize(self, state: HermiteState) -> HermiteState:
        mass = state.mass
        return HermiteState(mass, state.third / mass, state.first / mass, state.fourth / mass)


class HermiteSubspace(_Subspace):
    """The span of the units from the third-order Hermite tensor ``E y He_3(x)`` of Gaussian rows.

    For Gaussian rows the tensor is ``sum_l c_l w_l w_l w_l`` in whitened coordinates; its leading singular space
    (HOSVD), sharpened by a few orthogonal iterations (HOOI), is the span. For other rows it is not, so clearly
    non-Gaussian ones are refused: use :class:`SpectralMirror` there.

    Parameters
    ----------
    n_components : int
    n_iterations : int
        HOOI sweeps after the HOSVD.

    Attributes
    ----------
    components_ : (n_components, d) array
        Orthonormal rows.
    eigenvalues_ : (d,) array
        Singular values of the unfolded tensor, largest first.
    excess_kurtosis_ : float
        Largest, in absolute value, over the whitened coordinates; zero for Gaussian rows.
    """

    def __init__(self, n_components: int = 1, n_iterations: int = 20) -> None:
        self.n_components = n_components
        self.n_iterations = n_iterations

    def fit(self, X: ArrayLike, y: ArrayLike) -> HermiteSubspace:
        """Fit on arrays (or frames) of shapes (n, d) and (n,)."""
        rows, target = validate_data(self, X, y, dtype=[np.float64, np.float32], y_numeric=True, ensure_min_samples=2)
        return self.fit_source(ArraySource(rows, target))

    def fit_source(self, source: Source) -> HermiteSubspace:
        """Fit on any source of rows. Two passes; O(n d^3) flops, O(d^3) memory."""
        k = self._dimension(source.n_features)
        whitener = _whitener(source)
        state = source.reduce(HermiteSummary(source.moments, whitener))
        self._refuse_other_rows(state)
        tensor = _hermite(state)
        d = source.n_features
        left, values, _ = np.linalg.svd(tensor.reshape(d, d * d), full_matrices=False)
        frame = left[:, :k]
        for _ in range(self.n_iterations):  # HOOI: look only at the part of the tensor inside the present span
            inside = np.einsum("abc,bi,cj->aij", tensor, frame, frame, optimize=True)
            frame = np.linalg.svd(inside.reshape(d, k * k), full_matrices=False)[0][:, :k]
        self.components_ = np.linalg.qr(whitener @ frame)[0].T
        self.eigenvalues_: Floats = values
        self.n_features_in_ = d
        return self

    def _refuse_other_rows(self, state: HermiteState) -> None:
        excess = state.fourth - 3
        worst = int(np.argmax(np.abs(excess)))
        self.excess_kurtosis_ = float(excess[worst])
        # Sampling error of a Gaussian's kurtosis is sqrt(24 / n); small true deviations do little harm.
        if abs(self.excess_kurtosis_) > max(0.25, 6 * np.sqrt(24 / state.mass)):
            raise NotIdentifiable(
                f"HermiteSubspace needs Gaussian rows, but a whitened coordinate has excess kurtosis "
                f"{self.excess_kurtosis_:.2g} ({state.mass:.0f} rows); use SpectralMirror."
            )


def _hermite(state: HermiteState) -> Floats:
    """Return E y He_3(g): the third moment less what the first implies."""
    tensor = state.third.copy()
    each = np.arange(len(state.first))
    tensor[:, each, each] -= state.first[:, None]
    tensor[each, :, each] -= state.first
    tensor[each, each, :] -= state.first
    return tensor


class GradientSubspace(_Subspace):
    """The span of the units from the average gradient outer product ``E grad r(x) grad r(x)'``.

    Gradients come from local linear fits around sampled rows; after each sweep distances are measured mostly inside
    the span found so far, so that neighbourhoods grow along it instead of in all directions.

    Parameters
    ----------
    n_components : int
    n_points : int
        Rows at which gradients are estimated.
    n_sweeps : int
    random_state : int, RandomState or None

    Attributes
    ----------
    components_ : (n_components, d) array
        Orthonormal rows.
    eigenvalues_ : (d,) array
        Of the average gradient outer product in whitened coordinates, largest first.
    """

    def __init__(self, n_components: int = 1, n_points: int = 200, n_sweeps: int = 4, random_state: Any = None) -> None:
        self.n_components = n_components
        self.n_points = n_points
        self.n_sweeps = n_sweeps
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> GradientSubspace:
        """Fit on arrays (or frames) of shapes (n, d) and (n,). O(n_sweeps n_points n d^2) flops."""
        rows, target = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        source = ArraySource(rows, target)
        k = self._dimension(source.n_features)
        whitener = _whitener(source)
        white = (rows - source.moments.mean) @ whitener
        rng = check_random_state(self.random_state)
        points = white[rng.permutation(len(white))[: self.n_points]]
        d = source.n_features
        metric = np.eye(d)
        for sweep in range(max(1, self.n_sweeps)):
            gradients = _local_gradients(white, target, points, metric, share=_share(len(white), d, sweep))
            values, vectors = np.linalg.eigh(gradients.T @ gradients / len(points))
            weight = np.sqrt(np.maximum(values, 0) / max(float(values[-1]), 1e-300))
            metric = (vectors * np.maximum(weight, 0.5 ** (sweep + 1))) @ vectors.T
        order = np.argsort(-values, kind="stable")
        self.components_ = np.linalg.qr(whitener @ vectors[:, order[:k]])[0].T
        self.eigenvalues_: Floats = values[order]
        return self


def _share(n: int, d: int, sweep: int) -> float:
    """Return the share of the rows in a neighbourhood: enough to fit a plane, fewer as the metric sharpens."""
    return float(np.clip(max(8 * (d + 1) / n, 0.25 * 0.6**sweep), 0.0, 1.0))


def _local_gradients(white: Floats, y: Floats, points: Floats, metric: Floats, share: float) -> Floats:
    """Return slopes (m, d) of linear fits weighted by a kernel that reaches the given share of the rows."""
    moved, centers = white @ metric, points @ metric
    squares = (moved**2).sum(axis=1)
    gradients = np.empty_like(points)
    d = white.shape[1]
    for i, center in enumerate(centers):
        distance = np.maximum(squares - 2 * moved @ center + center @ center, 0.0)
        count = min(len(y), max(int(share * len(y)), d + 2))
        near = np.argpartition(distance, count - 1)[:count]
        kernel = np.maximum(1 - distance[near] / max(float(distance[near].max()), 1e-300), 0.0)
        design = np.column_stack((np.ones(count), white[near] - points[i]))
        weighted = design * kernel[:, None]
        gram = weighted.T @ design
        gram[np.diag_indices_from(gram)] += 1e-6 * max(float(kernel.sum()), 1e-12)
        gradients[i] = np.linalg.solve(gram, weighted.T @ y[near])[1:]
    return gradients


def _whitener(source: Source) -> Floats:
    """Return S^(-1/2), or refuse rows without spread."""
    values, vectors = np.linalg.eigh(source.require_spread().covariance)
    if values[0] <= 1e-12 * values[-1]:
        raise ValueError("X must not have linearly dependent columns, but its covariance is singular.")
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T)
