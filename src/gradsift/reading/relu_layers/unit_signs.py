"""On which side the units of a layer are active, and the slope of leaky ones below their kinks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

from ...arguments import Floats
from ...geometry import choose_terms
from ...tuned import MOST_STEPS, TRIES
from .box import Box, SlopeCell, gradients_within
from .feature_map import FeatureMap
from .next_layer import NextLayer

_ALL_TRIED = TRIES**2  # units whose signs are all tried
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


def signs_from_cells(phi: FeatureMap, layer: NextLayer, known: Signs, box: Box, points: Floats) -> Signs:
    """Read signs that are open from gradients elsewhere, where the layer's rows are independent; r + 2 answers each.

    A unit has a share of the gradient on its active side only; votes for both sides leave its sign open.
    """
    votes = np.zeros((2, layer.k))
    for x in points:
        here = phi.at(x)
        rows = layer.rows @ here.jacobian
        left, spread, right = np.linalg.svd(rows, full_matrices=False)
        if layer.k > rows.shape[1] or spread[-1] < 1e-6 * spread[0]:
            continue
        z = layer.rows @ here.features + layer.offsets
        room = min(here.room(), float((np.abs(z) / np.linalg.norm(rows, axis=1)).min()))
        value = float(box.ask(x[None], "signs")[0])
        slopes = gradients_within(box, [SlopeCell(x, value, 0.1 * room)], [right], "signs")
        if slopes.sound[0]:
            c = np.abs(left @ (right @ slopes.gradients[0] / spread))
            votes[(z > 0).astype(np.intp), np.arange(layer.k)] += c > _OFF * c.max(initial=0.0)
    decided = (votes > 0).sum(axis=0) == 1
    voted = np.where(decided, np.where(votes[1] > 0, 1.0, -1.0), 0.0)
    return known._replace(signs=np.where(known.signs == 0, voted, known.signs))


class SignsByRows(NamedTuple):
    """Signs, and which rows of the next layer agree with them, (n,)."""

    signs: Signs
    agree: NDArray[np.bool_]


def signs_from_rows(rows: Floats, weights: Floats, rng: np.random.Generator) -> SignsByRows | None:
    """Read the signs of a layer from rows of the next one over ``(|z|, h)``: ``G_j = V_j diag(rho s) W``.

    ``relu(s z) = (|z| + s z) / 2``, so that each unit of the next layer shows what it takes of z twice: in V, and
    through W in G. Least squares over a few rows give all s at once, rho is (1 + a) / (1 - a) for leaky units of slope
    a. None while there are too few rows, or these do not agree.

    Parameters
    ----------
    rows : (n, k + m) array
    weights : (k, m) array
        W of the layer.
    """
    k, m = weights.shape
    if len(rows) * m < k + m:
        return None
    V, G = rows[:, :k], rows[:, k:]
    # Row j gives m equations sum_l V_jl W_l t_l = G_j. False rows agree with no others: the largest set of rows that
    # agree is looked for from random small ones.
    design = V[:, :, None] * weights[None]  # (n, k, m)
    lengths = np.linalg.norm(rows, axis=1)
    n_needed = -(-(k + 1) // m)
    found: Any = np.zeros(k)
    agree = np.zeros(len(rows), dtype=bool)
    for number in range(MOST_STEPS):
        chosen = np.arange(len(rows)) if not number else rng.permutation(len(rows))[:n_needed]
        for _ in range(2):  # a fit to the rows that agree with the first one is better
            A = design[chosen].transpose(0, 2, 1).reshape(-1, k)
            guess = np.asarray(np.linalg.lstsq(A, G[chosen].ravel(), rcond=1e-12)[0])
            met = np.linalg.norm(np.einsum("nkm,k->nm", design, guess) - G, axis=1) < _OFF * lengths
            if met.sum() < n_needed:
                break
            chosen = np.flatnonzero(met)
        if met.sum() > agree.sum():
            found, agree = guess, met
        if agree.all():
            break
    rho = float(np.median(np.abs(found)))
    uneven = float(np.abs(np.abs(found) / rho - 1).max()) if rho else np.inf
    if agree.sum() * m < k + m or uneven > np.sqrt(_OFF):
        return None
    slope = (rho - 1) / (rho + 1)
    return SignsByRows(Signs(np.sign(found), slope if slope > _OFF else 0.0), np.asarray(agree))


def signs_from_linear_term(alpha: Floats, rows: Floats, gamma: Floats, slope: float = 0.0) -> tuple[Signs, Floats]:
    """Read the signs of the last layer from its linear term: ``gamma = rho sum s_j alpha_j row_j`` and what is left.

    ``v relu(s z) = v (|z| + s z) / 2``, so that the units of the last layer leave this linear term beside alpha |z|;
    rho is (1 + a) / (1 - a) for leaky units of slope a, which is known. What is left over is made by units that are
    always active.
    """
    vectors = (1 + slope) / (1 - slope) * alpha[:, None] * rows
    size = float(np.linalg.norm(vectors)) + 1e-300
    k, m = rows.shape
    if k <= m:
        found = np.linalg.lstsq(vectors.T, gamma, rcond=1e-10)[0]
        rest = gamma - found @ vectors
        if np.abs(np.abs(found) - 1).max(initial=0.0) < 1e-3 and np.linalg.norm(rest) < 1e-5 * size:
            return Signs(np.sign(found), slope), np.zeros(m)
    chosen = choose_terms(2 * vectors, gamma + vectors.sum(axis=0), 1e-5)
    if chosen is not None:
        return Signs(np.where(chosen, 1.0, -1.0), slope), np.zeros(m)
    return _with_rest(vectors, gamma, slope)


def _with_rest(vectors: Floats, gamma: Floats, slope: float) -> tuple[Signs, Floats]:
    """Return the signs that leave a term with entries of one sign, or nearly: units that are always active make it.

    Features of ReLU units are never negative, so that rows of one sign are always active. All signs are tried where
    they are few; else one after the other is turned.
    """
    k = len(vectors)
    if k <= _ALL_TRIED:
        tried = 1.0 - 2.0 * ((np.arange(2**k)[:, None] >> np.arange(k)) & 1)  # (2^k, k)
        signs = tried[int(np.argmin(_two_sides(gamma - tried @ vectors)))]
        return Signs(signs, slope), np.asarray(gamma - signs @ vectors)
    signs = np.sign(np.linalg.lstsq(vectors.T, gamma, rcond=1e-10)[0])
    signs[signs == 0] = 1.0
    for _ in range(k):
        turned = signs * (1.0 - 2.0 * np.eye(k))
        costs = _two_sides(gamma - turned @ vectors)
        if costs.min() >= _two_sides(gamma - signs @ vectors):
            break
        signs = turned[int(np.argmin(costs))]
    return Signs(signs, slope), np.asarray(gamma - signs @ vectors)


def _two_sides(rest: Floats) -> Floats:
    """Return the share of each row that is of the rarer sign."""
    up, down = np.maximum(rest, 0.0).sum(axis=-1), np.maximum(-rest, 0.0).sum(axis=-1)
    return np.asarray(np.minimum(up, down) / (up + down + 1e-300))


_MET = 1e-5  # of an answer's size: the joint fit has to reach rounding from there


@dataclass(frozen=True)
class LastLayer:
    """``f = alpha |z| + gamma phi + c`` as it fits the answers best.

    Attributes
    ----------
    alpha, gamma : (k,) and (m,) arrays
    constant : float
    misses : (n,) array
        Of each answer looked at, over its size.
    X : (n, d) array
    rows : (k, m) array
        Of the layer.
    slope : float
        Of a unit below its kink.
    """

    alpha: Floats
    gamma: Floats
    constant: float
    misses: Floats
    X: Floats
    rows: Floats
    slope: float

    @property
    def met(self) -> NDArray[np.bool_]:
        """Which answers it explains."""
        return self.misses < _MET

    @property
    def share(self) -> float:
        """Share of the answers that it explains."""
        return float(self.met.mean())

    @property
    def fits(self) -> bool:
        """Whether it explains all."""
        return bool(self.met.all())

    @cached_property
    def _signs_with_rest(self) -> tuple[Signs, Floats]:
        return signs_from_linear_term(self.alpha, self.rows, self.gamma, self.slope)

    @property
    def signs(self) -> Signs:
        """On which side the units are active."""
        return self._signs_with_rest[0]

    @property
    def rest(self) -> Floats:
        """What units that are always active add: a term linear in the features, (m,)."""
        return self._signs_with_rest[1]

    @property
    def is_plain(self) -> bool:
        """Whether there is no such term."""
        return not self.rest.any()


def fit_last_layer(box: Box, phi: FeatureMap, layer: NextLayer) -> LastLayer:
    """Fit the output to all answers by least absolute misses; no new queries, O(n (k + m)^2) flops a round."""
    design, right, X = _equations(box, phi, layer, box.anchors(40 * (layer.k + layer.rows.shape[1] + 1)))
    scale = np.linalg.norm(design, axis=0)
    scale[scale == 0] = 1.0
    weights = np.ones(len(X))
    found, misses = np.zeros(design.shape[1]), np.abs(right)
    for _ in range(TRIES**2):  # reweighting leads to the least sum of absolute misses
        found = lstsq(design / scale * weights[:, None], right * weights, cond=1e-12)[0] / scale
        misses = np.abs(design @ found - right)
        if misses.max() < 1e-3 * _MET:
            break
        weights = 1 / np.sqrt(np.maximum(misses, 1e-4 * _MET))
    if misses.max() < _MET:
        # What explains the answers on lines must explain all others, too.
        design, right, X = _equations(box, phi, layer, np.arange(box.ledger.n_stored))
        misses = np.abs(design @ found - right)
    k = layer.k
    return LastLayer(found[:k], found[k:-1], float(found[-1]), misses, X, layer.rows, phi.slope)


def _equations(box: Box, phi: FeatureMap, layer: NextLayer, rows: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
    """Return the design (n, k + m + 1), the answers (n,), both over the answers' sizes, and the inputs (n, d)."""
    X, y = box.ledger.X[rows], box.ledger.y[rows]
    features = phi.features(X)
    z = features @ layer.rows.T + layer.offsets
    sizes = np.linalg.norm(X, axis=1) * box.slope + np.median(np.abs(y - np.median(y))) + 1e-300
    return np.column_stack([np.abs(z), features, np.ones(len(X))]) / sizes[:, None], y / sizes, X
