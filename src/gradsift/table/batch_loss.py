"""Mean loss and gradient of many students at once, in float32: the inner loop of the race."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..fit import Family, Layout, Parameters
from ..likelihood import CERTAINTY
from ..sources import Rows

Singles = NDArray[np.float32]

_ONE, _LOG_2 = np.float32(1 + CERTAINTY.single), np.float32(np.log(2))  # a little more than one: no label is impossible
_CACHE = 98_304  # numbers per temporary (float32): two of them fit in a megabyte of L2 beside the rows


class BatchLoss:
    """The objective of R students with k units each on the same rows.

    A student is a flat row ``[A (k, d + offset), weights (k), intercept?]``; weights on the simplex are the softmax of
    the stored numbers. Rows are kept transposed and in blocks, so that one evaluation is, per block, one matrix
    product (R k, d)(d, block), the sigmoid, and one product back.

    Parameters
    ----------
    rows : Rows
        In the coordinates of a frame.
    family : Family
    n_units : int
    ridge : float or (d,) array
        Adds ``ridge / (2 mass) a^2`` to the mean loss, for each entry a of A.

    Attributes
    ----------
    layout : Layout
        Where a student's parameters sit in its flat row.
    """

    def __init__(self, rows: Rows, family: Family, n_units: int, ridge: Any = 0.04) -> None:
        self.family, self.n_units = family, n_units
        X = rows.X.astype(np.float32)
        if family.offsets:
            X = np.column_stack((X, np.ones(len(X), np.float32)))
        self.X = np.ascontiguousarray(X)
        self.XT = np.ascontiguousarray(X.T)
        self.y = rows.y.astype(np.float32)
        self.weight = None if rows.weight is None else (rows.weight / rows.weight.mean()).astype(np.float32)
        mass = float(len(self.y)) if rows.weight is None else float(rows.weight.sum())
        self.ridge: Any = np.asarray(ridge / max(mass, 1.0), dtype=np.float32)
        self.layout = Layout(n_units, rows.X.shape[1], family.offsets, family.intercept)

    @property
    def width(self) -> int:
        """Length of one student's flat row."""
        return self.layout.size

    def __call__(self, students: Singles) -> tuple[NDArray[np.float64], Singles]:
        """Return the mean losses (R,) and gradients (R, P). O(R k d n) flops, temporaries of one block."""
        R, k, q, n = len(students), self.n_units, self.X.shape[1], len(self.y)
        units, weights = self.layout.units, self.layout.weights
        A = np.ascontiguousarray(students[:, units]).reshape(R * k, q)
        u = _softmax(students[:, weights]) if self.family.simplex else students[:, weights]
        c = students[:, -1:] if self.family.intercept else None
        losses = np.zeros(R)
        gradient = np.zeros((R, self.width), np.float32)
        gA, gu = np.zeros((R * k, q), np.float32), gradient[:, weights]
        size = min(n, max(256, _CACHE // (R * k)))
        space: Any = np.empty((2, R * k, size), np.float32)
        for start in range(0, n, size):
            block = slice(start, min(start + size, n))
            z, slope = space[:, :, : block.stop - start]
            np.matmul(A, self.XT[:, block], out=z)
            values, slope = self._activate(z, slope)
            stacked = values.reshape(R, k, -1)
            r = np.matmul(u[:, None, :], stacked)[:, 0]
            if c is not None:
                r += c
            loss, e = self._residual(r, block)
            losses += loss
            if c is not None:
                gradient[:, -1] += e.sum(axis=1)
            gu += np.matmul(stacked, e[:, :, None])[..., 0]
            back = slope.reshape(R, k, -1)
            back *= e[:, None, :]
            gA += slope @ self.X[block]
        by_unit = gA.reshape(R, k, q)
        by_unit *= u[:, :, None]
        if self.family.simplex:
            gu[...] = u * (gu - (u * gu).sum(axis=1, keepdims=True))
        gradient[:, units] = gA.reshape(R, -1)
        gradient /= np.float32(n)
        inputs = A.reshape(R, k, q)[:, :, : self.layout.n_features]
        pull = self.ridge * inputs
        losses = losses / n + 0.5 * np.einsum("rkd,rkd->r", pull, inputs)
        gradient[:, units].reshape(R, k, q)[:, :, : self.layout.n_features] += pull
        return losses, gradient

    def _activate(self, z: Any, slope: Any) -> tuple[Singles, Singles]:
        """Return f(z) and f'(z), which overwrite both arguments."""
        f = self.family.activation
        if f.single is not None:
            f.single(z, slope)
        elif f.derivative_of_value is None or not isinstance(f.value, np.ufunc):
            slope[...] = f.derivative(z)
            z[...] = f.value(z)
        else:  # in place: new temporaries would cost as much as the hyperbolic tangent itself
            f.value(z, out=z)
            f.derivative_of_value(z, out=slope)
        return z, slope

    def _residual(self, r: Singles, block: slice) -> tuple[NDArray[np.float64], Singles]:
        """Return the summed losses (R,) and their derivatives in r (R, block)."""
        y = self.y[block]
        if self.family.labels and not self.family.simplex:
            t = r * y
            e = -y * expit(-t)
            loss = np.logaddexp(np.float32(0), -t)
        elif self.family.labels:
            p = r * y  # at least -1
            p += _ONE  # twice the probability of the label seen
            e = -y / p
            loss = np.subtract(_LOG_2, np.log(p, out=p), out=p)
        else:
            e = r - y
            loss = np.float32(0.5) * e * e
        if self.weight is not None:
            loss *= self.weight[block]
            e *= self.weight[block]
        return loss.sum(axis=1).astype(np.float64), e

    def pack(self, students: list[Parameters]) -> Singles:
        """Return the flat rows of some students."""
        if self.family.simplex:
            students = [theta._replace(u=np.log(np.maximum(theta.u, 1e-6))) for theta in students]
        return np.array([self.layout.pack(theta) for theta in students], dtype=np.float32)

    def unpack(self, student: Singles) -> Parameters:
        """Return one flat row as parameters, in float64."""
        theta = self.layout.unpack(student.astype(np.float64))
        return theta._replace(u=_softmax(theta.u[None])[0]) if self.family.simplex else theta


def _softmax(stored: Any) -> Any:
    e = np.exp(stored - stored.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
