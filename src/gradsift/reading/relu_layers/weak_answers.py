"""Answers where a fitted network would still be foretold badly, asked and fitted, until all parameters are known."""

from __future__ import annotations

import numpy as np

from ...arguments import Floats
from ...certificate import DEEP_KINKS
from ...fit.design import independent_rows
from ...tuned import SCATTER, TRIES
from .box import Box
from .deep_fit import Deep, DeepFit, fit_deep, jacobian_of, pass_through
from .settings import RELU_LAYERS

RADII = (0.3, 1.0, 5.0, 50.0)  # of inputs that are foretold, over the typical distance of a hyperplane


def fit_with_weakest(box: Box, net: Deep, scale: float) -> DeepFit:
    """Fit all layers to all answers; ask up to 20 + k more where they tell most of what is open, and fit again."""
    fit = fit_deep(net, box.ledger.X, box.ledger.y, RELU_LAYERS.spacing)
    for _ in range(TRIES):
        if fit.bound <= 0.1 * DEEP_KINKS.error_bound or fit.worst > 1e3:
            break
        pool = candidates(box, 40 * (SCATTER + sum(len(b) for _, b in net.layers)), scale)
        wanted = SCATTER + sum(len(b) for _, b in net.layers)
        box.ask(_most_telling(fit, pool, wanted), "weakest answers")
        fit = fit_deep(fit.net, box.ledger.X, box.ledger.y, RELU_LAYERS.spacing)
    return fit


def candidates(box: Box, n: int, scale: float) -> Floats:
    """Return n random inputs at several distances from the origin, (n, d)."""
    radii = scale * np.array(RADII)[np.arange(n) % len(RADII)]
    return np.asarray(radii[:, None] * box.rng.standard_normal((n, box.d)))


def _most_telling(fit: DeepFit, X: Floats, n: int) -> Floats:
    """Return the n rows of X that tell most of what the answers so far leave open, each beside the others."""
    if not np.isfinite(fit.root).all():
        return X[:n]
    passed = pass_through(fit.net, X)
    rows = (jacobian_of(fit.net, passed, fit.free) / passed.rounding[:, None]) @ fit.root
    return np.asarray(X[independent_rows(rows, n)])
