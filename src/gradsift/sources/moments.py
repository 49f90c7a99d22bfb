"""Means and covariances of the rows, mergeable and safe against large offsets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arguments import Floats
from .summary import SMALL_PRODUCT, Rows, Summary

_NEAR_ZERO = 3.0  # standard deviations: means this close to zero may be taken off afterwards, for one digit
_LINES = 4  # of a product, so that blocks of many rows make small ones (out_of_core: 30 ns a row instead of 55)
_MANY_VARIABLES = 150  # variables, from which on small products no longer pay


class MomentState(NamedTuple):
    n_rows: int
    mass: float
    mean: Floats  # (d + 1,): x, then y
    scatter: Floats  # (d + 1, d + 1): weighted sum of squares about the mean


@dataclass(frozen=True)
class Moments:
    """Moments of (x, y) over all rows.

    Attributes
    ----------
    n_rows : int
    mass : float
        Total weight; the number of rows when they all weigh one.
    mean : (d,) array
    covariance : (d, d) array
    cross : (d,) array
        Covariance of x with y.
    y_mean, y_variance : float
    """

    n_rows: int
    mass: float
    mean: Floats
    covariance: Floats
    cross: Floats
    y_mean: float
    y_variance: float


class MomentSummary(Summary[MomentState, Moments]):
    """First and second moments in one pass. O(n d^2) flops, O(d^2) memory beside one block."""

    any_layout = True

    def block_rows(self, n_features: int) -> int:
        return max(256, SMALL_PRODUCT // (_LINES * max(1, n_features)))

    def chunk(self, rows: Rows) -> MomentState:
        n, d = rows.X.shape
        X = np.ascontiguousarray(rows.X.T)  # a variable per line; no copy where it comes so
        if rows.weight is not None:
            return _weighted(X, rows.y, rows.weight)
        mean, y_mean = X.mean(axis=1), rows.y.mean()
        scatter = np.empty((d + 1, d + 1))
        scatter[:d, :d] = _squares(X) - n * np.outer(mean, mean)
        if (n * mean**2 > _NEAR_ZERO**2 * np.diag(scatter)[:d]).any():  # this difference has lost digits
            X = X - mean[:, None]
            scatter[:d, :d] = _squares(X)
        y = rows.y - y_mean
        scatter[d, :d] = scatter[:d, d] = X @ y
        scatter[d, d] = y @ y
        return MomentState(n, float(n), np.append(mean, y_mean), scatter)

    def chunk_on_device(self, rows: Any) -> MomentState:
        x, y = rows.X.double(), rows.y.double()
        both = x.new_empty((len(y), x.shape[1] + 1))
        both[:, :-1], both[:, -1] = x, y
        weight = None if rows.weight is None else rows.weight.double()
        mass = float(len(y)) if weight is None else float(weight.sum())
        mean = both.mean(dim=0) if weight is None or mass == 0 else weight @ both / mass
        both -= mean
        weighted = both if weight is None else both * weight[:, None]
        return MomentState(len(y), mass, mean.cpu().numpy(), (weighted.T @ both).cpu().numpy())

    def merge(self, left: MomentState, right: MomentState) -> MomentState:
        mass = left.mass + right.mass
        gap = right.mean - left.mean
        share = right.mass / mass if mass > 0 else 0.5
        scatter = left.scatter + right.scatter + np.outer(gap, gap) * (left.mass * share)
        return MomentState(left.n_rows + right.n_rows, mass, left.mean + gap * share, scatter)

    def finalize(self, state: MomentState) -> Moments:
        if state.mass == 0:
            raise ValueError("sample_weight must not be all 0.")
        covariance = state.scatter / state.mass
        return Moments(
            n_rows=state.n_rows,
            mass=state.mass,
            mean=state.mean[:-1],
            covariance=covariance[:-1, :-1],
            cross=covariance[:-1, -1],
            y_mean=float(state.mean[-1]),
            y_variance=float(covariance[-1, -1]),
        )


def _squares(X: Floats) -> Floats:
    """Return ``X @ X.T``."""
    if len(X) > _MANY_VARIABLES:
        return np.asarray(X @ X.T)
    squares = np.empty((len(X), len(X)))
    for i in range(0, len(X), _LINES):
        squares[i : i + _LINES, i:] = X[i : i + _LINES] @ X[i:].T
    return np.triu(squares) + np.triu(squares, 1).T


def _weighted(X: Floats, y: Floats, weight: Floats) -> MomentState:
    both = np.vstack((X, y))
    mass = float(weight.sum())
    mean = both @ weight / mass if mass > 0 else both.mean(axis=1)
    both -= mean[:, None]
    return MomentState(len(y), mass, mean, (both * weight) @ both.T)
