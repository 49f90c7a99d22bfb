"""Is the layer above the known ones the last? All answers so far are a linear function of its units then."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lstsq

from ...arguments import Floats
from .box import Box
from .feature_map import FeatureMap
from .next_layer import NextLayer

_ROUNDS = 15  # of reweighting, towards the least sum of absolute misses


class LastLayer(NamedTuple):
    """``f = alpha |z| + gamma phi + c`` as it fits the answers best.

    Attributes
    ----------
    alpha, gamma : (k,) and (m,) arrays
    constant : float
    misses : (n,) array
        Of each answer looked at, over its size.
    X : (n, d) array
    """

    alpha: Floats
    gamma: Floats
    constant: float
    misses: Floats
    X: Floats

    @property
    def share(self) -> float:
        """Share of the answers that it explains."""
        return float((self.misses < 1e-6).mean())


def fit_last_layer(box: Box, phi: FeatureMap, layer: NextLayer) -> LastLayer:
    """Fit the output to all answers by least absolute misses; no new queries, O(n (k + m)^2) flops a round."""
    rows = box.anchors(40 * (layer.k + layer.rows.shape[1] + 1))
    X, y = box.ledger.X[rows], box.ledger.y[rows]
    features = phi.features(X)
    z = features @ layer.rows.T + layer.offsets
    sizes = np.linalg.norm(X, axis=1) * box.slope + np.median(np.abs(y - np.median(y))) + 1e-300
    design = np.column_stack([np.abs(z), features, np.ones(len(X))]) / sizes[:, None]
    scale = np.linalg.norm(design, axis=0)
    scale[scale == 0] = 1.0
    design, right = design / scale, y / sizes
    weights = np.ones(len(X))
    found = np.zeros(design.shape[1])
    for _ in range(_ROUNDS):
        found = lstsq(design * weights[:, None], right * weights, cond=1e-12)[0]
        misses = np.abs(design @ found - right)
        if misses.max() < 1e-8:
            break
        weights = 1 / np.sqrt(np.maximum(misses, 1e-9))
    found = found / scale
    k = layer.k
    return LastLayer(found[:k], found[k:-1], float(found[-1]), misses, X)
