"""Means and covariances of the rows, mergeable and safe against large offsets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..checking import Floats
from .summary import Rows, Summary

__all__ = ["MomentSummary", "Moments"]


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

    def chunk(self, rows: Rows) -> MomentState:
        n, d = rows.X.shape
        both = np.empty((d + 1, n))  # a variable per line: means and differences then run along memory
        if rows.weight is None:
            X = np.ascontiguousarray(rows.X.T)  # no copy where it comes column by column
            mean = np.append(X.mean(axis=1), rows.y.mean())
            np.subtract(X, mean[:d, None], out=both[:d])
            np.subtract(rows.y, mean[d], out=both[d])
            return MomentState(n, float(n), mean, both @ both.T)
        both[:d], both[d] = rows.X.T, rows.y
        mass = float(rows.weight.sum())
        mean = both @ rows.weight / mass if mass > 0 else both.mean(axis=1)
        both -= mean[:, None]
        return MomentState(n, mass, mean, (both * rows.weight) @ both.T)

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
