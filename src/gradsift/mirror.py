"""A unit and its mirror image: where they differ by a linear term only, and how to choose so that none is left."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from .activations import Activation, get_activation
from .arguments import Floats

_MOST_BY_LATTICE = 100  # vectors; the reduction takes seconds there
_PRECISION = 1e6  # of the lattice's coordinates: more digits cost time, fewer allow chance
_LEFT_OVER = 1e-6  # what may be left of the target, over the typical length of a vector
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


def turns_to_cancel(vectors: Floats, target: Floats, fits: float = _LEFT_OVER) -> NDArray[np.bool_] | None:
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
    if k <= d:
        guess = np.linalg.lstsq(vectors.T, target, rcond=None)[0] > 0.5
        return guess if _cancels(guess, vectors, target, fits * size) else None
    if k > _MOST_BY_LATTICE:
        return None
    scale = 2 * _PRECISION / size
    basis = np.zeros((k + 1, k + d))
    basis[:k, :k] = 2 * np.eye(k)
    basis[:k, k:] = scale * vectors
    basis[k, :k], basis[k, k:] = 1.0, scale * target
    for row in _reduced(basis):
        for guess in (row[:k] > 0, row[:k] < 0):
            if _cancels(guess, vectors, target, fits * size):
                return np.asarray(guess)
    return None


def _cancels(guess: NDArray[np.bool_], vectors: Floats, target: Floats, room: float) -> bool:
    return bool(np.linalg.norm(vectors[guess].sum(axis=0) - target) <= room * np.sqrt(1 + guess.sum()))


def _reduced(basis: Floats) -> Floats:
    """Return an LLL-reduced basis of the lattice spanned by the rows, in floating point."""
    basis = basis.copy()
    n = len(basis)
    triangle = np.asarray(
        np.linalg.qr(basis.T, mode="r")
    ).T  # row i: coordinates of basis row i along the orthogonalised ones
    row, budget = 1, 400 * n * n
    while row < n and budget > 0:
        budget -= 1
        _shorten(basis, triangle, row, row - 1)
        below, beside = float(triangle[row, row - 1]), float(triangle[row, row])
        if below**2 + beside**2 >= _LOVASZ * float(triangle[row - 1, row - 1]) ** 2:
            for other in range(row - 2, -1, -1):
                _shorten(basis, triangle, row, other)
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


def _shorten(basis: Floats, triangle: Floats, row: int, other: int) -> None:
    """Take off a row what it has in common with an earlier one."""
    times = round(float(triangle[row, other]) / float(triangle[other, other]))
    if times:
        basis[row] -= times * basis[other]
        triangle[row, : other + 1] -= times * triangle[other, : other + 1]
