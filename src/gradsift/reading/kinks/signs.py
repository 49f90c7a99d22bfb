"""From kinks to the public model: which way units point, and whether a linear term is needed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...model import SigmoidCombination
from .kink_network import KinkNet
from .settings import GRAIN, SIGNS
from .shape import shape_of


def model_of(net: KinkNet, *, leaky_too: bool = False) -> tuple[SigmoidCombination, NDArray[np.intp]]:
    """Return the model without a linear term if there is one, else the canonical one; and the order of its units.

    Units whose rest is even may point either way (:meth:`gradsift.SigmoidCombination.plain`).

    Parameters
    ----------
    leaky_too : bool
        Where ReLU units need a linear term, see whether leaky ones need none.
    """
    model, order = _model(net)
    if leaky_too and net.shape.name == "relu" and model.has_linear_term:
        leaky, _ = _model(replace(net, shape=shape_of("leaky_relu")))
        model = model if leaky.has_linear_term else leaky
    return model, order


def _model(net: KinkNet) -> tuple[SigmoidCombination, NDArray[np.intp]]:
    shape = net.shape
    w = np.sign(net.w) * np.linalg.norm(net.jumps, axis=1) if shape.sharp else net.w
    forward = net.turns > 0
    weights = w / shape.gain
    rows = net.jumps / w[:, None] * net.turns[:, None]
    offsets = net.q / w * net.turns + shape.corner
    # A unit seen from the other side: relu(t) = relu(-t) + t.
    linear = net.g + net.jumps[~forward].sum(axis=0) - shape.slope * (weights[:, None] * rows).sum(axis=0)
    intercept = net.c + net.q[~forward].sum() - float(weights @ (shape.slope * offsets + shape.level))
    nothing = GRAIN.cancel if net.grain.single else SIGNS.nothing
    if np.linalg.norm(linear) < nothing * np.linalg.norm(net.jumps, axis=1).max(initial=0.0):
        linear = np.zeros_like(linear)
    model = SigmoidCombination(rows, weights, 1.0, offsets, float(intercept), shape.activation, linear)
    order = np.argsort(-np.abs(weights), kind="stable")
    plain = model.plain(GRAIN.cancel) if net.grain.single else model.plain()
    return plain or model.canonical(), order
