"""Moves between networks of different sizes: drop, merge, split, add, and starts with units to spare."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import Floats
from ..geometry import normalize_rows
from ..sources import Rows
from .parameters import Family, Parameters


def without(theta: Parameters, unit: int) -> Parameters:
    """Return the network without one unit."""
    keep = np.arange(len(theta.u)) != unit
    return theta._replace(A=theta.A[keep], u=theta.u[keep], b=theta.b[keep])


def with_units(theta: Parameters, A: Floats, u: Any, b: Any) -> Parameters:
    """Return the network with more units: A (m, d) or (d,), u and b (m,) or numbers."""
    return theta._replace(A=np.vstack([theta.A, A]), u=np.append(theta.u, u), b=np.append(theta.b, b))


def nearest_pair(theta: Parameters) -> tuple[int, int]:
    """Return the numbers of the two units that are most nearly parallel."""
    units = normalize_rows(theta.A)
    closeness = np.abs(units @ units.T) - 2 * np.eye(len(units))
    i, j = np.unravel_index(int(np.argmax(closeness)), closeness.shape)
    return int(i), int(j)


def merged(theta: Parameters, i: int, j: int) -> Parameters:
    """Return the network with two units made one, in the place of the first."""
    sign = 1.0 if theta.A[i] @ theta.A[j] > 0 else -1.0
    share = abs(theta.u[i]) / (abs(theta.u[i]) + abs(theta.u[j]))
    A, u, b = theta.A.copy(), theta.u.copy(), theta.b.copy()
    A[i] = share * A[i] + (1 - share) * sign * A[j]
    b[i] = share * b[i] + (1 - share) * sign * b[j]
    u[i] += sign * u[j]
    return without(theta._replace(A=A, u=u, b=b), j)


def split(theta: Parameters, unit: int, v: Floats) -> Parameters:
    """Return the network with one unit made two of half its weight, ``a + v`` in its place and ``a - v`` at the end."""
    A, u = theta.A.copy(), theta.u.copy()
    A[unit] += v
    u[unit] *= 0.5
    return with_units(theta._replace(A=A, u=u), theta.A[unit] - v, 0.5 * float(theta.u[unit]), float(theta.b[unit]))


def turned(theta: Parameters, unit: int, carrier: int | None) -> Parameters:
    """Return the network with one unit that grows turned round: ``f(z)`` becomes ``f(-z)``, which lacks a line.

    Another unit, if any, carries the line: where it is active it does so exactly.
    """
    A, u, b = theta.A.copy(), theta.u.copy(), theta.b.copy()
    if carrier is not None:
        jump = u[carrier] * A[carrier] + u[unit] * A[unit]
        weight = float(np.linalg.norm(jump)) / max(float(np.linalg.norm(A[carrier])), 1e-300)
        if weight > 0:
            weight = weight if jump @ A[carrier] > 0 else -weight
            b[carrier] = (u[carrier] * b[carrier] + u[unit] * b[unit]) / weight
            A[carrier], u[carrier] = jump / weight, weight
    A[unit], b[unit] = -A[unit], -b[unit]
    return theta._replace(A=A, u=u, b=b)


def bending_direction(rows: Any, bend: Any) -> Any:
    """Return the direction (d,) along which residuals curve most: the extreme eigenvector of ``sum bend x x'``.

    A unit that stands for two nearly parallel ones leaves residuals that bend across it; with ``bend = residual f''``
    this is the direction along which it would split.
    """
    values, vectors = np.linalg.eigh((rows * bend[:, None]).T @ rows)
    return vectors[:, int(np.argmax(np.abs(values)))]


def removal_prices(gram: Floats, cross: Floats) -> Floats:
    """Return what leaving each feature out costs once the other weights are refitted, twice in squares.

    Parameters
    ----------
    gram, cross : (m, m) and (m,) arrays
        Products of the features with each other and with the target.
    """
    inverse = np.linalg.inv(gram)
    return np.asarray((inverse @ cross) ** 2 / np.diag(inverse))


def prune(theta: Parameters, family: Family, rows: Rows, n_units: int) -> Parameters:
    """Drop units one at a time, each time the one whose loss a refit of the other weights mends best."""
    values = family.activation.value(rows.X @ theta.A.T + theta.b)  # (rows, k)
    r = values @ theta.u + theta.c
    y, information = family.rough.working(r, rows.y) - theta.c, family.rough.precision(r)
    if rows.weight is not None:
        information = information * rows.weight
    gram = (values * information[:, None]).T @ values
    gram[np.diag_indices_from(gram)] += 1e-6 * information.sum()  # twins are common among spare units
    cross = values.T @ (information * y)
    kept = np.arange(len(theta.u))
    while len(kept) > n_units:
        kept = np.delete(kept, np.argmin(removal_prices(gram[np.ix_(kept, kept)], cross[kept])))
    u: Floats = np.asarray(np.linalg.solve(gram[np.ix_(kept, kept)], cross[kept]))
    if family.simplex:
        u = np.maximum(u, 0.2 / n_units)
        u = u / u.sum()
    return theta._replace(A=theta.A[kept], u=u, b=theta.b[kept])


def glorot_starts(
    family: Family, n_units: int, n_features: int, n_starts: int, scale: float, rng: np.random.Generator
) -> list[Parameters]:
    """Draw random students whose arguments have variance about ``scale^2 2 d / (d + k)``."""
    spread = scale * np.sqrt(2 / (n_features + n_units))
    starts = []
    for _ in range(n_starts):
        A = spread * rng.standard_normal((n_units, n_features))
        u = rng.standard_normal(n_units) * np.sqrt(2 / (n_units + 1))
        b = 0.5 * rng.standard_normal(n_units) if family.offsets else np.zeros(n_units)
        starts.append(Parameters(A, np.full(n_units, 1 / n_units) if family.simplex else u, b, 0.0))
    return starts
