"""From kinks to the public model: which way units point, and whether a linear term is needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...model import SigmoidCombination
from .kink_net import KinkNet

__all__ = ["model_of"]

_NOTHING = 1e-7  # of the longest jump: a linear term below is rounding


def model_of(net: KinkNet) -> tuple[SigmoidCombination, NDArray[np.intp]]:
    """Return the model without a linear term if there is one, else the canonical one; and the order of its units.

    Units whose rest is even may point either way (:meth:`gradsift.SigmoidCombination.plain`).
    """
    shape = net.shape
    w = np.sign(net.w) * np.linalg.norm(net.jumps, axis=1) if shape.sharp else net.w
    forward = net.turns > 0
    weights = w / shape.gain
    rows = net.jumps / w[:, None] * net.turns[:, None]
    offsets = net.q / w * net.turns + shape.corner
    # A unit seen from the other side: relu(t) = relu(-t) + t.
    linear = net.g + net.jumps[~forward].sum(axis=0) - shape.slope * (weights[:, None] * rows).sum(axis=0)
    intercept = net.c + net.q[~forward].sum() - float(weights @ (shape.slope * offsets + shape.level))
    if np.linalg.norm(linear) < _NOTHING * np.linalg.norm(net.jumps, axis=1).max(initial=0.0):
        linear = np.zeros_like(linear)
    model = SigmoidCombination(rows, weights, 1.0, offsets, float(intercept), shape.activation, linear)
    order = np.argsort(-np.abs(weights), kind="stable")
    return model.plain() or model.canonical(), order
