"""Unit vectors, subspaces and mirror images: normalising, matching up to order and sign, turning units round."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from .activations import Activation, get_activation
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
    # The signs of R make Q Haar distributed: QR alone prefers a sign.
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
    n_surplus: int

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


def subspace_angle(first: Floats, second: Floats) -> float:
    """Return the largest principal angle, in radians, between two row spaces of equal dimension."""
    a, b = np.linalg.qr(first.T)[0], np.linalg.qr(second.T)[0]
    outside = b - a @ (a.T @ b)  # sines are accurate for small angles, cosines are not
    return float(np.arcsin(np.clip(np.linalg.norm(outside, 2), 0.0, 1.0)))


_MOST_BY_LATTICE = 100  # vectors; the reduction takes seconds there
_PRECISION = 1e6  # of the lattice's coordinates: more digits cost time, fewer allow chance
_LEFT_OVER = 1 / _PRECISION  # what may be left of the target, over the typical length of a vector
_LOVASZ = 0.99
_MIRROR_POINTS = np.linspace(0.1, 6.1, 25)


def mirror_slope(activation: Activation) -> float | None:
    """Return s with ``f(z) - f(-z) = s z`` for all z, None if there is none or f has limits.

    A unit ``u f(z)`` is then the same as ``u f(-z)`` with a linear term ``u s z``.
    """
    return _mirror_slope(activation) if activation is not get_activation(activation.name) else _by_name(activation.name)


@cache
def _by_name(name: str) -> float | None:
    return _mirror_slope(get_activation(name))


def _mirror_slope(f: Activation) -> float | None:
    slope = f.left.slope + f.right.slope
    if f.saturates:
        return None
    off = np.abs(f.value(_MIRROR_POINTS) - f.value(-_MIRROR_POINTS) - slope * _MIRROR_POINTS).max()
    return float(slope) if off < 1e-12 else None


def choose_terms(vectors: Floats, target: Floats, fits: float = _LEFT_OVER) -> NDArray[np.bool_] | None:
    """Return which of the vectors add up to the target; None if no choice does.

    Parameters
    ----------
    vectors : (k, d) array
    target : (d,) array
    fits : float
        What may be left over, as a share of the typical length of a vector.

    Notes
    -----
    Least squares for independent vectors, O(k^2 d); else lattice reduction, tenths of a second for 32 vectors in
    dimension 10 and seconds for 64 in dimension 50. More than 100 dependent vectors are not tried.
    """
    k, d = vectors.shape
    size = float(np.sqrt((vectors**2).sum(axis=1).mean()))
    if np.linalg.norm(target) <= fits * size:
        return np.zeros(k, dtype=np.bool_)
    # Independent vectors: sum_i t_i v_i = target has one solution, which must be zeros and ones.
    if k <= d:
        guess = np.linalg.lstsq(vectors.T, target, rcond=None)[0] > 0.5
        return guess if _is_close(guess, vectors, target, fits * size) else None
    if k > _MOST_BY_LATTICE:
        return None
    scale = 2 * _PRECISION / size
    # Subset sum as a short vector: rows (2 e_i, s v_i) and (1, ..., 1, s target), where a solution is all of size one.
    basis = np.zeros((k + 1, k + d))
    basis[:k, :k] = 2 * np.eye(k)
    basis[:k, k:] = scale * vectors
    basis[k, :k], basis[k, k:] = 1.0, scale * target
    for row in _short_basis(basis):
        for guess in (row[:k] > 0, row[:k] < 0):
            if _is_close(guess, vectors, target, fits * size):
                return np.asarray(guess)
    return None


def _is_close(guess: NDArray[np.bool_], vectors: Floats, target: Floats, room: float) -> bool:
    return bool(np.linalg.norm(vectors[guess].sum(axis=0) - target) <= room * np.sqrt(1 + guess.sum()))


def _short_basis(basis: Floats) -> Floats:
    """Return an LLL-reduced basis of the lattice spanned by the rows, in floating point."""
    basis = basis.copy()
    n = len(basis)
    triangle = np.asarray(
        np.linalg.qr(basis.T, mode="r")
    ).T  # row i: coordinates of basis row i along the orthogonalised ones
    row, budget = 1, 400 * n * n
    while row < n and budget > 0:
        budget -= 1
        _take_off(basis, triangle, row, row - 1)
        below, beside = float(triangle[row, row - 1]), float(triangle[row, row])
        # Lovasz's condition: the row is long enough once its predecessor is taken off; else the two change places.
        if below**2 + beside**2 >= _LOVASZ * float(triangle[row - 1, row - 1]) ** 2:
            for other in range(row - 2, -1, -1):
                _take_off(basis, triangle, row, other)
            row += 1
            continue
        basis[[row - 1, row]] = basis[[row, row - 1]]
        triangle[[row - 1, row]] = triangle[[row, row - 1]]
        length = float(np.hypot(below, beside))  # a rotation makes it a triangle again
        cosine, sine = below / length, beside / length
        left, right = triangle[row - 1 :, row - 1].copy(), triangle[row - 1 :, row].copy()
        triangle[row - 1 :, row - 1] = cosine * left + sine * right
        triangle[row - 1 :, row] = cosine * right - sine * left
        row = max(row - 1, 1)
    return basis


def _take_off(basis: Floats, triangle: Floats, row: int, other: int) -> None:
    """Take off a row what it has in common with an earlier one."""
    times = round(float(triangle[row, other]) / float(triangle[other, other]))
    if times:
        basis[row] -= times * basis[other]
        triangle[row, : other + 1] -= times * triangle[other, : other + 1]
