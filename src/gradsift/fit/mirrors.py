"""Each unit in a frame along its own direction: a reflection turns the unit into the first axis.

Along a unit the rows settle its slope, across it its direction, and after lever queries the two differ by many orders
of magnitude; in these coordinates they are different columns. The local coordinates of a network are those of its
layout by unit, with every unit's vector reflected.
"""

from __future__ import annotations

import numpy as np

from ..checking import Floats
from .layout import Parameters

__all__ = ["mirrors_of", "moved_by", "reflect"]


def mirrors_of(A: Floats) -> Floats:
    """Return the reflection vector of each row, (k, d): Householder, away from cancellation."""
    v = A / np.linalg.norm(A, axis=1, keepdims=True)
    v[:, 0] += np.where(v[:, 0] < 0, -1.0, 1.0)
    return np.asarray(v / np.linalg.norm(v, axis=1, keepdims=True))


def reflect(rows: Floats, v: Floats) -> Floats:
    """Return the rows reflected; its own inverse."""
    return np.asarray(rows - np.outer(2 * (rows @ v), v))


def moved_by(theta: Parameters, mirrors: Floats, step: Floats) -> Parameters:
    """Return the parameters a step away, in local coordinates."""
    change = theta.layout.unpack(step)
    turned = change.A - 2 * np.einsum("kd,kd->k", change.A, mirrors)[:, None] * mirrors
    linear = None if theta.linear is None or change.linear is None else theta.linear + change.linear
    return Parameters(theta.A + turned, theta.u + change.u, theta.b + change.b, theta.c + change.c, linear)
