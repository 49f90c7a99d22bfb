"""Gradients of the regression function at chosen points: value oracle, kernel, local linear, projected."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import Floats, as_generator, at_least, finite_matrix, whole
from ...geometry import orthonormal_rows
from ...oracle import Oracle
from ...progress import report
from ...sources import Rows, Source, Summary, as_source
from .. import implements
from .kernel import WORKING_MEMORY, GradientEstimates, KernelSummary, joined, points_at_once

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


def _draw_gaussian(rng: np.random.Generator, n: int, d: int) -> Floats:
    return rng.standard_normal((n, d))


@implements("voestimate")
def _mean_estimate(z: Floats, y: Floats) -> _Local:
    return _mean_of(z * y[:, None])  # voestimate


def _draw_pairs(rng: np.random.Generator, n: int, d: int) -> Floats:
    return _mirrored(rng.standard_normal((n // 2, d)), n)


def _draw_orthogonal(rng: np.random.Generator, n: int, d: int) -> Floats:
    pairs = n // 2
    frames = [orthonormal_rows(d, d, rng) for _ in range(-(-pairs // d))]
    lengths = np.sqrt(rng.chisquare(d, pairs))  # each step is still N(0, I) by itself
    return _mirrored(np.concatenate(frames)[:pairs] * lengths[:, None], n)


def _mirrored(half: Floats, n: int) -> Floats:
    still = np.zeros((n - 2 * len(half), half.shape[1]))  # an odd query out is asked at the point itself
    return np.concatenate((half, -half, still))


def _pair_estimate(z: Floats, y: Floats) -> _Local:
    pairs = len(z) // 2
    return _mean_of(z[:pairs] * (0.5 * (y[:pairs] - y[pairs : 2 * pairs]))[:, None])


def _plane_estimate(z: Floats, y: Floats) -> _Local:
    design = np.column_stack((np.ones(len(z)), z))
    # Least squares by QR: the normal equations would square the condition number of the steps.
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
    "gaussian": _Design(_draw_gaussian, _mean_estimate, lambda d: 2),
    "antithetic": _Design(_draw_pairs, _pair_estimate, lambda d: 4),
    "orthogonal": _Design(_draw_orthogonal, _pair_estimate, lambda d: 4),
    "least_squares": _Design(_draw_gaussian, _plane_estimate, lambda d: d + 2),
}


@dataclass(frozen=True)
class KernelGradients:
    """Estimate gradients from rows x ~ N(0, I) by eq. ``eq:Slope``.

    Parameters
    ----------
    working_memory : float
        Most MiB beside the rows and the result, whatever their number.
    precision : {"full", "tf32"}
        "tf32" trades accuracy (1e-4 to 4e-4 instead of 1e-6) for speed where the rows are float32 CUDA tensors;
        elsewhere it changes nothing.

    Notes
    -----
    The support at a point xi is about ``n exp(-|xi|^2)`` for standard Gaussian rows: look at it before trusting an
    estimate. For rows N(mu, S) the result is S times the smoothed gradient.
    """

    working_memory: float = WORKING_MEMORY
    precision: str = "full"

    @implements("eq:Slope")
    def estimate(self, source: Any, points: ArrayLike, rng: Any = None) -> GradientEstimates:
        """Read the rows once per :func:`points_at_once` points; O(m n d) flops. `rng` is not used."""
        at_least("working_memory", self.working_memory, 0.1)
        rows = as_source(source)
        xi = finite_matrix("points", points, rows.n_features)
        group = points_at_once(rows.n_features, self.working_memory)
        parts = [
            rows.reduce(KernelSummary(xi[i : i + group], self.working_memory, self.precision))
            for i in range(0, len(xi), group)
        ]
        return joined(parts)


class LocalState(NamedTuple):
    gram: Floats  # (m, d + 1, d + 1): weighted products of (1, x - point)
    moment: Floats  # (m, d + 1): with y
    y_square: Floats  # (m,)
    mass2: Floats  # (m,)


class LocalLinearSummary(Summary[LocalState, GradientEstimates]):
    """Weighted least squares at each point, weights ``exp(-|x - point|^2 / (2 bandwidth^2))``."""

    def __init__(self, points: Floats, bandwidth: float, ridge: float, y_reference: float = 0.0) -> None:
        self.points, self.bandwidth, self.ridge, self.y_reference = points, bandwidth, ridge, y_reference

    def block_rows(self, n_features: int) -> int:
        return 4096

    def chunk(self, rows: Rows) -> LocalState:
        parts = [self._at(point, rows) for point in self.points]
        return LocalState(*(np.stack([part[field] for part in parts]) for field in range(4)))

    def _at(self, point: Floats, rows: Rows) -> tuple[Floats, Floats, Any, Any]:
        steps = np.column_stack((np.ones(len(rows.X)), rows.X - point))  # (rows, d + 1)
        distance = np.einsum("ij,ij->i", steps[:, 1:], steps[:, 1:])
        weight = np.exp(-0.5 * distance / self.bandwidth**2)
        if rows.weight is not None:
            weight *= rows.weight
        weighted = steps * weight[:, None]
        y = rows.y - self.y_reference  # the plane has an intercept, so only the residuals' rounding feels this
        return weighted.T @ steps, weighted.T @ y, weight @ y**2, weight @ weight

    def merge(self, left: LocalState, right: LocalState) -> LocalState:
        return LocalState(*(a + b for a, b in zip(left, right)))

    def finalize(self, state: LocalState) -> GradientEstimates:
        m, p = state.moment.shape
        values, errors = np.zeros((m, p - 1)), np.full((m, p - 1), np.inf)
        mass = state.gram[:, 0, 0]
        support = np.where(state.mass2 > 0, mass**2 / np.where(state.mass2 > 0, state.mass2, 1.0), 0.0)
        penalty = self.ridge * self.bandwidth**2 * np.diag(np.r_[0.0, np.ones(p - 1)])
        # Weighted least squares at each point, its mass divided out so that the ridge means the same everywhere. The
        # residual comes from the moments alone: y'Wy - 2 b'X'Wy + b'X'WXb, since rows are read once.
        for i in np.flatnonzero(support > 1):
            inverse = np.linalg.pinv(state.gram[i] / mass[i] + penalty, hermitian=True)
            plane = inverse @ state.moment[i] / mass[i]
            left_over = state.y_square[i] / mass[i] - 2 * plane @ state.moment[i] / mass[i]
            left_over += plane @ state.gram[i] @ plane / mass[i]
            values[i] = plane[1:]
            spread = max(float(left_over), 0.0) * np.diag(inverse)[1:] / support[i]
            errors[i] = np.sqrt(np.maximum(spread, 0.0))
        return GradientEstimates(values, support, errors)


@dataclass(frozen=True)
class LocalLinearGradients:
    """Estimate gradients by local linear regression, whatever the distribution of the rows.

    Parameters
    ----------
    bandwidth : float
        Standard deviation of the Gaussian window around each point.
    ridge : float
        Relative to the window's variance; keeps a point with few rows from inventing a slope.

    Notes
    -----
    O(m n d^2) flops, O(m d^2) memory. Not in the paper's theorems; the paper names it as an alternative.
    A point that no row is near has support 0, gradient 0 and infinite standard errors.
    """

    bandwidth: float = 1.0
    ridge: float = 1e-3

    def estimate(self, source: Any, points: ArrayLike, rng: Any = None) -> GradientEstimates:
        """Read the rows once. `rng` is not used."""
        at_least("bandwidth", self.bandwidth, 0, strict=True)
        at_least("ridge", self.ridge, 0)
        rows = as_source(source)
        xi = finite_matrix("points", points, rows.n_features)
        reference = float(rows.take(np.arange(1)).y[0])
        return rows.reduce(LocalLinearSummary(xi, self.bandwidth, self.ridge, reference))


State = TypeVar("State")
Result = TypeVar("Result")


class ProjectedSummary(Summary[State, Result]):
    """Another summary, seen through coordinates in a subspace."""

    def __init__(self, inner: Summary[State, Result], components: Floats) -> None:
        self.inner, self.components = inner, components

    def block_rows(self, n_features: int) -> int:
        k = len(self.components)
        return max(1, self.inner.block_rows(k) * k // n_features)  # the unprojected block takes memory, too

    def chunk(self, rows: Rows) -> State:
        return self.inner.chunk(rows._replace(X=rows.X @ self.components.T))

    def chunk_on_device(self, rows: Any) -> State:
        components = rows.X.new_tensor(self.components)
        return self.inner.chunk_on_device(rows._replace(X=rows.X @ components.T))

    def merge(self, left: State, right: State) -> State:
        return self.inner.merge(left, right)

    def finalize(self, state: State) -> Result:
        return self.inner.finalize(state)


@dataclass(frozen=True)
class ProjectedGradients:
    """Estimate gradients inside a subspace by eq. ``projectedestimate``.

    Parameters
    ----------
    subspace : (k, d) array or estimator with ``fit_source``
        Orthonormal rows: all rows of the table go into the gradients. An estimator such as
        :class:`~gradsift.SpectralMirror`: it is fitted on the first rows, and the others go into the gradients.
    subspace_share : float in (0, 1)
        Share of the rows (the paper's n1 / n) that an estimator gets.
    working_memory : float
        Most MiB that temporaries may take.
    """

    subspace: Any
    subspace_share: float = 0.5
    working_memory: float = WORKING_MEMORY

    @implements("projectedestimate")
    def estimate(self, source: Any, points: ArrayLike, rng: Any = None) -> GradientEstimates:
        """Read the rows once (and once per half of the subspace's rows). `rng` is not used."""
        at_least("working_memory", self.working_memory, 0.1)
        rows = as_source(source)
        xi = finite_matrix("points", points, rows.n_features)
        components, rest = self._split(rows)
        within = xi @ components.T  # the estimate depends on xi through its projection only
        group = points_at_once(len(components), self.working_memory)
        parts = [
            rest.reduce(ProjectedSummary(KernelSummary(within[i : i + group], self.working_memory), components))
            for i in range(0, len(within), group)
        ]
        inside = joined(parts)
        # Variances of the k coordinates, taken as independent, add up in each of the d coordinates.
        spread = np.sqrt(inside.standard_errors**2 @ components**2)
        return GradientEstimates(inside.values @ components, inside.support, spread)

    def _split(self, rows: Source) -> tuple[Floats, Source]:
        if not hasattr(self.subspace, "fit_source"):
            components = finite_matrix("subspace", self.subspace, rows.n_features)
            if np.abs(components @ components.T - np.eye(len(components))).max() > 1e-8:
                raise ValueError("subspace must have orthonormal rows, but they are not.")
            return components, rows
        first, rest = split_rows(rows, self.subspace_share)
        fitted = copy.copy(self.subspace).fit_source(first)  # the caller's own stays as it was
        return np.asarray(fitted.components_), rest


def split_rows(rows: Source, share: float) -> tuple[Source, Source]:
    """Split the rows n1 | n2: the first `share` of them for the subspace, the rest for the gradients."""
    n1 = round(share * rows.n_rows) if 0 < share < 1 else 0
    if not 0 < n1 < rows.n_rows:
        raise ValueError(f"subspace_share must lie in (0, 1) and leave rows on both sides, got {share!r}.")
    return rows.rows(0, n1), rows.rows(n1, rows.n_rows)
