"""Unit vectors and subspaces: normalising, matching up to order and sign, principal angles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from .arguments import Floats, finite_matrix


def row_lengths(rows: Floats) -> Floats:
    """Return the Euclidean lengths of the rows, shape (n,), also where squares would overflow or underflow."""
    scale = np.abs(rows).max(axis=1, initial=0.0)
    scale[scale == 0] = 1.0
    return np.asarray(scale * np.linalg.norm(rows / scale[:, None], axis=1))


def normalize_rows(rows: Floats) -> Floats:
    """Return the rows scaled to length one; a zero row stays zero."""
    scale = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)  # first by the largest entry: squares may overflow
    scale[scale == 0] = 1.0
    rows = rows / scale
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    norms[norms == 0] = 1.0
    return np.asarray(rows / norms)


def orthonormal_rows(n_rows: int, n_columns: int, rng: np.random.Generator) -> Floats:
    """Return `n_rows` orthonormal rows drawn uniformly (Haar) in dimension `n_columns` >= `n_rows`."""
    q, r = np.linalg.qr(rng.standard_normal((n_columns, n_rows)))
    return np.ascontiguousarray((q * np.sign(np.diag(r))).T)


@dataclass(frozen=True)
class UnitMatch:
    """How found units pair with true ones.

    Attributes
    ----------
    order : (k_truth,) int array
        ``found[order[i]]`` is matched to ``truth[i]``; -1 where nothing was left to match.
    signs : (k_truth,) array
        +1 or -1: the sign to give the found unit (0 where unmatched).
    errors : (k_truth,) array
        Euclidean distance between the signed unit and the true one (inf where unmatched).
    n_surplus : int
        Found units that no true one is left for.
    """

    order: NDArray[np.intp]
    signs: Floats
    errors: Floats
    n_surplus: int = 0

    @property
    def max_error(self) -> float:
        """Largest distance; inf when the two sets differ in size."""
        return float("inf") if self.n_surplus else float(self.errors.max())


def match_units(found: ArrayLike, truth: ArrayLike) -> UnitMatch:
    """Pair unit vectors by the Hungarian method, up to permutation and sign.

    Parameters
    ----------
    found, truth : (k, d) and (k', d) arrays
        Rows of any positive length; only their directions count.

    Notes
    -----
    O(k k' d + k^3) flops.
    """
    a: Any = finite_matrix("found", found)
    b: Any = finite_matrix("truth", truth, a.shape[1])
    for name, rows in (("found", a), ("truth", b)):
        if not rows.any(axis=1).all():
            raise ValueError(f"{name} must have a direction in every row, but one is zero.")
    a, b = normalize_rows(a), normalize_rows(b)
    # Distances, not 1 - |cosine|: a cosine cannot tell angles below 1e-8 apart.
    plus = np.linalg.norm(b[:, None] - a[None], axis=2)  # (k', k)
    minus = np.linalg.norm(b[:, None] + a[None], axis=2)
    distance = np.minimum(plus, minus)
    rows, columns = linear_sum_assignment(distance)
    order = np.full(len(b), -1, dtype=np.intp)
    signs, errors = np.zeros(len(b)), np.full(len(b), np.inf)
    order[rows] = columns
    signs[rows] = np.where(plus[rows, columns] <= minus[rows, columns], 1.0, -1.0)
    errors[rows] = distance[rows, columns]
    return UnitMatch(order, signs, errors, n_surplus=max(0, len(a) - len(b)))


def largest_principal_angle(first: Floats, second: Floats) -> float:
    """Return the largest principal angle, in radians, between two row spaces of equal dimension."""
    a, b = np.linalg.qr(first.T)[0], np.linalg.qr(second.T)[0]
    outside = b - a @ (a.T @ b)  # sines are accurate for small angles, cosines are not
    return float(np.arcsin(np.clip(np.linalg.norm(outside, 2), 0.0, 1.0)))
