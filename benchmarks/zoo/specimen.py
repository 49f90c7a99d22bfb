"""One network of the zoo: what is inside, and the box that hides it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import gradsift as gs
from gradsift.activations import get_activation

__all__ = ["Specimen", "comparable", "exact_box", "without_dead", "without_resting"]


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
    return without_dead(network) if network.activation == "tanh" and len(network.widths) > 1 else network


def _as_tanh(network: gs.Network) -> gs.Network:
    layers, half, constant = [], 1.0, 0.0
    for weights, offsets in network.layers[:-1]:
        layers.append((0.5 * half * weights, 0.5 * (offsets + constant * weights.sum(axis=1))))
        half, constant = 0.5, 0.5  # what this layer hands on is (1 + tanh)/2
    weights, offsets = network.layers[-1]
    return gs.Network([*layers, (0.5 * weights, offsets + 0.5 * weights.sum(axis=1))], "tanh", network.linear)


def without_dead(network: gs.Network) -> gs.Network:
    """Return the network without units of upper layers that no answer shows: over many inputs near and far, what they
    contribute to the layer above changes by less than the rounding there."""
    X = np.random.default_rng(971).standard_normal((20_000, network.n_features))
    X = np.concatenate([X, 1e6 * X])
    layers = [(W.copy(), b.copy()) for W, b in network.layers]
    value = get_activation(network.activation).value
    for i in range(1, len(layers) - 1):
        (W, b), (V, c) = layers[i], layers[i + 1]
        active = value(network.arguments(X)[i])
        sizes = np.abs(V).sum(axis=1) + np.abs(c)
        dead = (np.ptp(active, axis=0) * np.abs(V) < 4 * np.finfo(float).eps * sizes[:, None]).all(axis=0)
        layers[i] = (W[~dead], b[~dead])
        layers[i + 1] = (V[:, ~dead], c + V[:, dead] @ active[0, dead])
    return gs.Network(layers, network.activation, network.linear)


def without_resting(network: gs.Network, units: list[int] | int) -> gs.Network:
    """Return the network without some units of its last hidden layer, whose value at rest moves into the constant.

    `units` are their numbers, or how many: then those whose value changes least over many inputs near and far.
    """
    X = np.random.default_rng(971).standard_normal((20_000, network.n_features))
    active = get_activation(network.activation).value(network.arguments(np.concatenate([X, 1e6 * X]))[-1])
    if isinstance(units, int):
        units = [int(u) for u in np.argsort(np.ptp(active, axis=0))[:units]]
    *below, (W, b), (V, c) = network.layers
    kept = np.delete(np.arange(len(b)), units)
    last = (V[:, kept], c + V[:, units] @ np.round(active[0, units]))
    return gs.Network([*below, (W[kept], b[kept]), last], network.activation, network.linear)
