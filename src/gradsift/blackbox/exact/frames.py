"""A random plane and the orthonormal directions across it, held as two reflections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...checking import Floats

__all__ = ["PlaneFrame", "frame_through"]


@dataclass(frozen=True)
class PlaneFrame:
    """An orthonormal basis of R^d whose first two vectors span the plane; O(d) memory, O(d) to apply to a row.

    Attributes
    ----------
    plane : (2, d) array
        First two basis vectors, orthonormal.
    mirrors : (2, d) array
        Unit vectors of two Householder reflections whose product maps the axes to the basis.
    """

    plane: Floats
    mirrors: Floats

    def on_circle(self, radius: float | Floats, angles: Floats) -> Floats:
        """Return the points of the plane at these polar coordinates, shape (n, d)."""
        flat = np.stack([np.cos(angles), np.sin(angles)], axis=1) * np.reshape(radius, (-1, 1))
        return np.asarray(flat @ self.plane)

    def coordinates(self, rows: Floats) -> Floats:
        """Return the coordinates of the rows in the basis, shape (n, d)."""
        first, second = self.mirrors
        rows = rows - np.outer(rows @ first, 2 * first)
        return np.asarray(rows - np.outer(rows @ second, 2 * second))

    def from_coordinates(self, rows: Floats) -> Floats:
        """Inverse of :meth:`coordinates`."""
        first, second = self.mirrors
        rows = rows - np.outer(rows @ second, 2 * second)
        return np.asarray(rows - np.outer(rows @ first, 2 * first))

    def across(self, indices: NDArray[np.intp]) -> Floats:
        """Return basis vectors number 2 + index, which are orthogonal to the plane; shape (n, d)."""
        axes = np.zeros((len(indices), self.plane.shape[1]))
        axes[np.arange(len(indices)), indices + 2] = 1.0
        return self.from_coordinates(axes)


def _mirror(vector: Floats, axis: int) -> Floats:
    """Return the unit vector of the reflection that maps `axis` to `vector` (of length one)."""
    away = -vector.copy()
    away[axis] += 1.0
    length = float(np.linalg.norm(away))
    if length < 1e-8:  # already there: reflect along an axis that changes nothing of interest
        return np.zeros_like(vector)
    return np.asarray(away / length)


def frame_through(first: Floats, second: Floats) -> PlaneFrame:
    """Return a frame whose plane is spanned by two orthonormal vectors."""
    outer = _mirror(first, 0)
    seen = second - 2 * outer * float(outer @ second)  # second, as seen before the outer reflection
    seen[0] = 0.0
    inner = _mirror(seen / np.linalg.norm(seen), 1)
    return PlaneFrame(np.stack([first, second]), np.stack([outer, inner]))
