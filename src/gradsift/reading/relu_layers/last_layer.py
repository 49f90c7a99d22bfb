"""Is the layer above the known ones the last? All answers so far are a linear function of its units then."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

from ...arguments import Floats
from ...tuned import TRIES
from .box import Box
from .feature_map import FeatureMap
from .next_layer import NextLayer
from .unit_signs import Signs, signs_from_linear_term

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
    def _signs_and_rest(self) -> tuple[Signs, Floats]:
        return signs_from_linear_term(self.alpha, self.rows, self.gamma, self.slope)

    @property
    def signs(self) -> Signs:
        """On which side the units are active."""
        return self._signs_and_rest[0]

    @property
    def rest(self) -> Floats:
        """What units that are always active add: a term linear in the features, (m,)."""
        return self._signs_and_rest[1]

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
