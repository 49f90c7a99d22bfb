"""A random plane and the orthonormal directions across it, held as two reflections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arguments import Floats
from .device_arrays import IN_MEMORY, Array, Arrays


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

    plane: Array
    mirrors: Array

    def beside(self, xp: Arrays) -> PlaneFrame:
        """Return the same frame among these arrays."""
        return PlaneFrame(xp.put(self.plane), xp.put(self.mirrors))

    def on_circle(self, radius: float | Floats, angles: Floats) -> Floats:
        """Return the points of the plane at these polar coordinates, shape (n, d)."""
        return np.asarray(circle_points(radius, angles) @ self.plane)

    def to_frame(self, rows: Array) -> Array:
        """Return the coordinates of the rows in the basis, shape (n, d)."""
        first, second = self.mirrors
        return _mirrored(_mirrored(rows, first), second)

    def from_frame(self, rows: Array) -> Array:
        """Inverse of :meth:`to_frame`."""
        first, second = self.mirrors
        return _mirrored(_mirrored(rows, second), first)

    def across(self, indices: NDArray[np.intp]) -> Floats:
        """Return basis vectors number 2 + index, which are orthogonal to the plane; shape (n, d)."""
        axes = np.zeros((len(indices), self.plane.shape[1]))
        axes[np.arange(len(indices)), indices + 2] = 1.0
        return np.asarray(self.from_frame(axes))

    def step_from(self, bases: Array, who: Array, indices: Array, steps: Array, xp: Arrays = IN_MEMORY) -> Array:
        """Return ``bases[who] + steps * across(indices)``, shape (n, d), in three passes over it.

        A basis vector is an axis with some of the two mirrors in it.
        """
        first, second = self.mirrors
        # (I - 2 p p')(I - 2 q q') e_j = e_j - 2 q_j q - (2 p_j - 4 q_j <p, q>) p with p the first mirror and q the
        # second.
        in_second = 2 * steps * second[indices + 2]
        in_first = 2 * steps * first[indices + 2] - 2 * in_second * (first @ second)
        rows = bases[who]
        rows -= xp.stack([in_first, in_second]).T @ self.mirrors
        rows[xp.numbers(len(rows)), indices + 2] += steps
        return rows


def circle_points(radius: float | Floats, angles: Floats) -> Floats:
    """Return the coordinates in their plane of points at these polar ones, shape (n, 2)."""
    return np.asarray(np.stack([np.cos(angles), np.sin(angles)], axis=1) * np.reshape(radius, (-1, 1)))


def _mirrored(rows: Array, mirror: Array) -> Array:
    return rows - (rows @ mirror)[:, None] * (2 * mirror)


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
    # The outer reflection maps axis 0 to `first`; the inner one maps axis 1 to what `second` is before it, and keeps
    # axis 0.
    outer = _mirror(first, 0)
    seen = second - 2 * outer * float(outer @ second)  # second, as seen before the outer reflection
    seen[0] = 0.0
    inner = _mirror(seen / np.linalg.norm(seen), 1)
    return PlaneFrame(np.stack([first, second]), np.stack([outer, inner]))
