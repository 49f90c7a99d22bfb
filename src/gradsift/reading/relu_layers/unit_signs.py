"""On which side the units of a layer are active, and the slope of leaky ones below their kinks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arguments import Floats
from ...geometry import choose_terms
from .feature_map import FeatureMap
from .next_layer import NextLayer

_OFF = 1e-4  # of the larger share of a gradient, below which a unit adds nothing on that side


class Signs(NamedTuple):
    """Signs of the units, (k,), zero where unknown, and the slope below the kinks (0 for ReLU)."""

    signs: Floats
    slope: float

    @property
    def known(self) -> bool:
        """Whether all of them are known."""
        return bool(len(self.signs)) and bool(self.signs.all())


def signs_from_gradients(phi: FeatureMap, layer: NextLayer) -> Signs:
    """Read signs from the gradients beside kinks, where the layer's rows are independent; no queries.

    A gradient is a sum of these rows, ``sum c_l a_l``: of the unit that switches, c is zero on one side for ReLU, and
    the ratio of both is the slope of leaky units.
    """
    signs, sizes = np.zeros(layer.k), np.zeros(layer.k)
    ratios: list[float] = []
    for side in layer.sides:
        rows = layer.rows @ phi.at(side.point).jacobian  # (k, d)
        left, spread, right = np.linalg.svd(rows, full_matrices=False)
        if layer.k > rows.shape[1] or spread[-1] < 1e-6 * spread[0]:
            continue
        # rows' c = gradient, by least squares, for both sides at once.
        c = left @ ((right @ np.stack([side.before, side.after], axis=1)) / spread[:, None])
        below, above = np.abs(c[side.unit])
        small, large = min(below, above), max(below, above)
        rises = float(rows[side.unit] @ side.way) > 0
        if large / spread[0] <= 0:
            continue
        quality = large * float(spread[-1] / spread[0])
        if quality > sizes[side.unit]:
            sizes[side.unit] = quality
            signs[side.unit] = 1.0 if (above > below) == rises else -1.0
        ratios.append(small / large)
    slope = float(np.median(ratios)) if ratios else 0.0
    return Signs(signs, slope if slope > _OFF else 0.0)


def signs_from_linear_term(alpha: Floats, rows: Floats, gamma: Floats) -> tuple[Signs, Floats]:
    """Read the signs of the last layer from its linear term: ``gamma = rho sum s_j alpha_j row_j`` and what is left.

    ``v relu(s z) = v (|z| + s z) / 2``, so that the units of the last layer leave this linear term beside alpha |z|;
    rho is (1 + a) / (1 - a) for leaky units of slope a. What is left over is made by units that are always active.
    """
    vectors = alpha[:, None] * rows
    size = float(np.linalg.norm(vectors)) + 1e-300
    k, m = rows.shape
    if k <= m:
        found = np.linalg.lstsq(vectors.T, gamma, rcond=1e-10)[0]
        rho = float(np.median(np.abs(found))) if k else 1.0
        rest = gamma - found @ vectors
        even = np.abs(np.abs(found) - rho).max(initial=0.0) < 1e-3 * rho
        if even and np.linalg.norm(rest) < 1e-5 * size:
            rho = 1.0 if abs(rho - 1) < 1e-5 else rho
            return Signs(np.sign(found), (rho - 1) / (rho + 1)), np.zeros(m)
    chosen = choose_terms(2 * vectors, gamma + vectors.sum(axis=0), 1e-5)
    if chosen is not None:
        return Signs(np.where(chosen, 1.0, -1.0), 0.0), np.zeros(m)
    return _with_rest(vectors, gamma)


def _with_rest(vectors: Floats, gamma: Floats) -> tuple[Signs, Floats]:
    """Return the signs that leave least of a linear term, by descent: units that are always active make the rest."""
    k = len(vectors)
    signs = np.sign(np.linalg.lstsq(vectors.T, gamma, rcond=1e-10)[0]) if k else np.empty(0)
    signs[signs == 0] = 1.0

    def cost(s: Floats) -> float:
        # Rows with entries of one sign are always active where features are positive: these are the commonest.
        rest = gamma - s @ vectors
        return min(float(np.abs(rest[rest > 0]).sum()), float(np.abs(rest[rest < 0]).sum())) / (np.abs(rest).sum() + 1e-300)

    for _ in range(k):
        flips = [cost(np.where(np.arange(k) == i, -signs, signs)) for i in range(k)]
        if not k or min(flips) >= cost(signs):
            break
        signs[int(np.argmin(flips))] *= -1
    return Signs(signs, 0.0), np.asarray(gamma - signs @ vectors)
