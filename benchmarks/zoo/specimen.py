"""One network of the zoo: what is inside, and the box that hides it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import gradsift as gs

__all__ = ["Specimen", "comparable", "exact_box"]


class Specimen(NamedTuple):
    """A released or trained network.

    Attributes
    ----------
    name : str
    truth : Network
        What the box computes before its link; of a softmax, with outputs that add up to zero.
    box : callable
        Returns a fresh oracle: the network as its owners run it.
    single : bool
        Answers are in single precision.
    """

    name: str
    truth: gs.Network
    box: Callable[[], gs.Oracle]
    single: bool = False


def exact_box(network: gs.Network) -> Callable[[], gs.Oracle]:
    """Return the box that computes the network in double precision."""
    return lambda: gs.Oracle(network.predict, network.n_features)


def comparable(network: gs.Network) -> gs.Network:
    """Return the same function in the form in which networks are compared.

    A logistic unit is half a tanh unit of half the slope and a constant; a ReLU unit has a direction and no length; an
    upper unit that no input moves is part of a constant.
    """
    if network.activation == "logistic":
        return comparable(_as_tanh(network))
    if network.activation == "relu" and len(network.widths) == 1:
        (W, b), (V, c) = network.layers
        size = np.linalg.norm(W, axis=1)
        return gs.Network([(W / size[:, None], b / size), (V * size, c)], "relu", network.linear)
    return _without_still_units(network) if network.activation == "tanh" else network


def _as_tanh(network: gs.Network) -> gs.Network:
    layers, half, constant = [], 1.0, 0.0
    for weights, offsets in network.layers[:-1]:
        layers.append((0.5 * half * weights, 0.5 * (offsets + constant * weights.sum(axis=1))))
        half, constant = 0.5, 0.5  # what this layer hands on is (1 + tanh)/2
    weights, offsets = network.layers[-1]
    return gs.Network([*layers, (0.5 * weights, offsets + 0.5 * weights.sum(axis=1))], "tanh", network.linear)


def _without_still_units(network: gs.Network) -> gs.Network:
    """Leave upper units out whose argument exceeds 17 whatever the layer below does: tanh of it is one in doubles."""
    layers = [(W.copy(), b.copy()) for W, b in network.layers]
    for i in range(1, len(layers) - 1):
        (W, b), (V, c) = layers[i], layers[i + 1]
        still = np.abs(b) - np.abs(W).sum(axis=1) > 17
        layers[i] = (W[~still], b[~still])
        layers[i + 1] = (V[:, ~still], c + V[:, still] @ np.sign(b[still]))
    return gs.Network(layers, "tanh", network.linear)
