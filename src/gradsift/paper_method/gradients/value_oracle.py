"""Gradients of a function that can be asked anywhere: average replies around each point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...checking import Floats, as_generator, finite_matrix, whole
from ...geometry import orthonormal_rows
from ...oracle import Oracle
from ...paper import implements
from ...progress import report
from .estimates import GradientEstimates

__all__ = ["OracleGradients"]

_BLOCK_ENTRIES = 4_000_000  # queries are sent in groups of points of about 32 MB


class _Local(NamedTuple):
    value: Floats  # (d,)
    standard_error: Floats  # (d,)


@dataclass(frozen=True)
class OracleGradients:
    """Estimate gradients from queries around each point.

    Parameters
    ----------
    n_queries_per_point : int
        The paper's n0; every design asks exactly this many.
    design : {"gaussian", "antithetic", "orthogonal", "least_squares"}
        "gaussian" is eq. ``voestimate``, literally: the mean of (x - xi) y over x ~ N(xi, I). "antithetic" asks
        at xi + z and xi - z, which removes the value of the function from the noise. "orthogonal" also makes
        the z orthogonal in groups of d. "least_squares" fits a plane to Gaussian queries. All of them estimate
        the same smoothed gradient (eq. ``population``); least squares up to O(1/n0).
    """

    n_queries_per_point: int = 1000
    design: str = "gaussian"

    def estimate(self, source: Oracle, points: ArrayLike, rng: Any = None) -> GradientEstimates:
        """Ask ``len(points) * n_queries_per_point`` times; O(m n0 d) flops.

        Memory for about 4 million coordinates and their replies at once (130 MB), or for one point's queries.

        Each point has its own random stream, so the numbers at point 17 do not depend on the other points.
        """
        if not isinstance(source, Oracle):
            raise TypeError(f"source must be an Oracle, got {type(source).__name__}; tables need KernelGradients.")
        whole("n_queries_per_point", self.n_queries_per_point, 2)
        if self.design not in _DESIGNS:
            raise ValueError(f"design must be one of {', '.join(_DESIGNS)}, got {self.design!r}.")
        design, n, d = _DESIGNS[self.design], int(self.n_queries_per_point), source.n_features
        if design.needs(d) > n:
            raise ValueError(
                f"n_queries_per_point must be at least {design.needs(d)} for design={self.design!r} "
                f"in dimension {d}, got {n}."
            )
        xi = finite_matrix("points", points, d)
        streams = as_generator(rng).spawn(len(xi))
        group = max(1, _BLOCK_ENTRIES // (n * d))
        parts: list[_Local] = []
        for first in range(0, len(xi), group):
            some = range(first, min(first + group, len(xi)))
            steps = [design.draw(streams[i], n, d) for i in some]
            replies = source(np.concatenate([xi[i] + z for i, z in zip(some, steps)]))
            if replies.ndim != 1:
                raise ValueError(
                    f"source must have one output, got {replies.shape[1]}; take source.projected(direction)."
                )
            report("gradients", some.stop, len(xi))
            parts += [design.combine(z, y) for z, y in zip(steps, replies.reshape(len(steps), n))]
        return GradientEstimates(
            values=np.stack([p.value for p in parts]),
            support=np.full(len(xi), float(n)),
            standard_errors=np.stack([p.standard_error for p in parts]),
        )


def _mean_of(terms: Floats) -> _Local:
    return _Local(terms.mean(axis=0), terms.std(axis=0, ddof=1) / np.sqrt(len(terms)))


# Designs: how the steps z around a point are drawn, and how replies at xi + z become a gradient.


def _gaussian(rng: np.random.Generator, n: int, d: int) -> Floats:
    return rng.standard_normal((n, d))


@implements("voestimate")
def _correlate(z: Floats, y: Floats) -> _Local:
    return _mean_of(z * y[:, None])  # voestimate


def _antithetic(rng: np.random.Generator, n: int, d: int) -> Floats:
    return _mirrored(rng.standard_normal((n // 2, d)), n)


def _orthogonal(rng: np.random.Generator, n: int, d: int) -> Floats:
    pairs = n // 2
    frames = [orthonormal_rows(d, d, rng) for _ in range(-(-pairs // d))]
    lengths = np.sqrt(rng.chisquare(d, pairs))  # each step is still N(0, I) by itself
    return _mirrored(np.concatenate(frames)[:pairs] * lengths[:, None], n)


def _mirrored(half: Floats, n: int) -> Floats:
    still = np.zeros((n - 2 * len(half), half.shape[1]))  # an odd query out is asked at the point itself
    return np.concatenate((half, -half, still))


def _difference(z: Floats, y: Floats) -> _Local:
    pairs = len(z) // 2
    return _mean_of(z[:pairs] * (0.5 * (y[:pairs] - y[pairs : 2 * pairs]))[:, None])


def _plane(z: Floats, y: Floats) -> _Local:
    design = np.column_stack((np.ones(len(z)), z))
    q, r = np.linalg.qr(design)
    solution = np.linalg.solve(r, q.T @ y)
    freedom = max(1, len(y) - design.shape[1])
    scatter = float(np.sum((y - design @ solution) ** 2)) / freedom
    inverse = np.linalg.inv(r)
    return _Local(solution[1:], np.sqrt(scatter * np.sum(inverse[1:] ** 2, axis=1)))


class _Design(NamedTuple):
    draw: Callable[[np.random.Generator, int, int], Floats]
    combine: Callable[[Floats, Floats], _Local]
    needs: Callable[[int], int]


_DESIGNS = {
    "gaussian": _Design(_gaussian, _correlate, lambda d: 2),
    "antithetic": _Design(_antithetic, _difference, lambda d: 4),
    "orthogonal": _Design(_orthogonal, _difference, lambda d: 4),
    "least_squares": _Design(_gaussian, _plane, lambda d: d + 2),
}
