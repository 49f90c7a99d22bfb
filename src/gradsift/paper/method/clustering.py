"""k-means for directions: rows of length one, compared by their angle, with room for outliers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ...arguments import Floats, as_generator, whole
from ...geometry import normalize_rows


class _Run(NamedTuple):
    centers: Floats  # (k, d)
    labels: NDArray[np.intp]  # (n,), -1: left out
    score: float  # mean cosine of the rows that are kept
    n_iter: int


class DirectionalKMeans(ClusterMixin, BaseEstimator):
    """Cluster directions by cosine; a share of the worst fitting rows can be left out.

    Parameters
    ----------
    n_clusters : int
    trim : float in [0, 1)
        Share of rows that may be spurious; they get label -1 and do not pull on the centres.
    n_init : int
        Restarts, each from a k-means++ seeding; the best mean cosine wins.
    max_iter : int
    random_state : int, RandomState or None

    Attributes
    ----------
    cluster_centers_ : (n_clusters, d) array of unit rows
    labels_ : (n,) int array
        -1 marks rows that were left out.
    score_ : float
        Mean cosine between kept rows and their centres.
    n_iter_ : int
    n_features_in_ : int

    Notes
    -----
    Directions, not axes: a row and its opposite are far apart. That is right for gradients, which lie in the cone
    of sign(weight) times unit, so an opposite candidate is noise. O(n_init max_iter n k d) flops.
    """

    def __init__(
        self, n_clusters: int = 8, *, trim: float = 0.0, n_init: int = 20, max_iter: int = 100, random_state: Any = None
    ) -> None:
        self.n_clusters = n_clusters
        self.trim = trim
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> DirectionalKMeans:
        """Cluster the rows of X, shape (n, d); their lengths do not matter."""
        rows = normalize_rows(validate_data(self, X, dtype=np.float64))
        if not 0 <= self.trim < 1:
            raise ValueError(f"trim must lie in [0, 1), got {self.trim!r}.")
        for name in ("n_clusters", "n_init", "max_iter"):
            whole(name, getattr(self, name))
        keep = len(rows) - int(self.trim * len(rows))
        if self.n_clusters > keep:
            raise ValueError(f"n_clusters must be between 1 and the {keep} rows kept, got {self.n_clusters!r}.")
        rng = as_generator(check_random_state(self.random_state))
        runs = (_run(rows, int(self.n_clusters), keep, int(self.max_iter), rng) for _ in range(int(self.n_init)))
        best = max(runs, key=lambda run: run.score)
        self.cluster_centers_, self.labels_, self.score_, self.n_iter_ = best
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Return the index of the centre nearest in angle, shape (n,)."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        return np.asarray(np.argmax(rows @ self.cluster_centers_.T, axis=1))


def _run(rows: Floats, k: int, keep: int, max_iter: int, rng: np.random.Generator) -> _Run:
    centers = _seed(rows, k, rng)
    labels = np.full(len(rows), -2, dtype=np.intp)
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        cosines = rows @ centers.T  # (n, k)
        nearest = np.argmax(cosines, axis=1)
        fit = cosines[np.arange(len(rows)), nearest]
        new = np.full(len(rows), -1, dtype=np.intp)
        # Trimmed k-means: only the best fitting rows move the centres, so that a share `trim` of outliers does not.
        kept = np.argpartition(-fit, keep - 1)[:keep]
        new[kept] = nearest[kept]
        for empty in np.setdiff1d(np.arange(k), new[kept]):
            # An empty cluster restarts at the worst fitting row of a cluster that can spare it.
            crowded = kept[np.bincount(new[kept], minlength=k)[new[kept]] > 1]
            new[crowded[np.argmin(fit[crowded])]] = empty
        if np.array_equal(new, labels):
            break
        labels = new
        centers = np.stack([_mean_direction(rows[labels == j]) for j in range(k)])
    score = float(np.sum(rows * centers[labels], axis=1)[labels >= 0].mean())
    return _Run(centers, labels, score, n_iter)


def _mean_direction(rows: Floats) -> Floats:
    """Return the normalised sum; where rows cancel or are zero, the first row (or axis) with a direction stands in."""
    for total in (rows.sum(axis=0), *rows, np.eye(rows.shape[1])[0]):
        length = float(np.linalg.norm(total))
        if length > 1e-12 * len(rows):
            break
    return np.asarray(total / length)


def _seed(rows: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Draw k rows, each with probability proportional to its squared distance from those drawn before."""
    chosen = [int(rng.integers(len(rows)))]
    distance = np.full(len(rows), np.inf)
    for _ in range(k - 1):
        # k-means++: |a - b|^2 = 2 - 2 <a, b> for unit rows, and rounding may make it negative.
        distance = np.minimum(distance, np.maximum(2 - 2 * rows @ rows[chosen[-1]], 0.0))
        total = float(distance.sum())
        share = distance / total if total > 0 else None
        chosen.append(int(rng.choice(len(rows), p=share)))
    return rows[chosen]
