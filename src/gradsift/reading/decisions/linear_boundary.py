"""Classifiers without hidden units: every face of the boundary is a piece of a hyperplane."""

from __future__ import annotations

import numpy as np

from ...activations import Activation
from ...certificate import DECIDED
from ...tuned import TRIES
from .boundary import Crossings, Decider, joined
from .decision_fit import DecisionLayer, FittedLayer, joint_fit, linear_layer, sharpened
from .settings import DecisionPolicy
from .sigmoid_boundary import usual_crossings

_TWO_SCALES = (1.0, 8.0)  # of boundary points, in usual inputs; guess


def read_linear(
    decider: Decider, f: Activation, policy: DecisionPolicy, accuracy: float, scale: float, rng: np.random.Generator
) -> tuple[FittedLayer, Crossings] | None:
    """Return the linear term that decides as the box does, and all crossings; None where none does."""
    d, m = decider.n_features, 1 if len(decider.values) == 2 else len(decider.values)
    n = -(-(max(m - 1, 1) * (d + 1) + TRIES) // len(_TWO_SCALES))
    parts = [usual_crossings(decider, n, policy.first_width, rng, size * scale) for size in _TWO_SCALES]
    at = joined([part for part in parts if part is not None])
    if len(decider.values) != max(m, 2):  # another class came to light
        return None
    fit = joint_fit(linear_layer(at, np.empty((0, d)), np.empty(0), m), at, f)
    if fit.worst > DECIDED.residuals:
        return None
    fit, at = sharpened(fit, at, f, decider, policy, accuracy, rng, scale=scale)
    return (fit, at) if fit.worst < DECIDED.residuals else None


def as_units(layer: DecisionLayer) -> DecisionLayer:
    """Return a layer with one unit that decides as linear outputs do: along a single one, whose slope does not matter,
    or of weight zero beside several."""
    if len(layer.b) or layer.linear is None:
        return layer
    if len(layer.c) > 1:
        first = layer.linear[:1] / np.linalg.norm(layer.linear[0])
        return layer._replace(A=first, b=np.zeros(1), U=np.zeros((len(layer.c), 1)))
    return DecisionLayer(layer.linear, layer.c, np.ones((1, 1)), np.zeros(1))
