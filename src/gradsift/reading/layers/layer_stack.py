"""Layers over an odd sigmoid: values, derivatives by every parameter, and the same as a network of the user's kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...network import Network
from ..odd_form import Link

# (W (out, in), b (out,)) of every layer, the output with one row last.
Layers = list[tuple[Floats, Floats]]


@dataclass(frozen=True)
class Passed:
    """What happened at n rows on the way through.

    Attributes
    ----------
    inputs : list of (n, k) arrays
        Into each layer; the rows themselves first.
    values : (n,) array
    slopes : list of (n, k) arrays
        Derivative of the value by the argument of each hidden unit, layer by layer.
    """

    inputs: list[Floats]
    values: Floats
    slopes: list[Floats]


def pass_through(layers: Layers, X: Floats, g: Activation) -> Passed:
    """Return values and derivatives at the rows of X; O(n parameters) flops."""
    inputs, bends = [X], []
    for weights, offsets in layers[:-1]:
        arguments = inputs[-1] @ weights.T + offsets
        inputs.append(np.asarray(g.value(arguments)))
        bends.append(g.derivative(arguments))
    (last,), (constant,) = layers[-1]
    slopes: list[Floats] = []
    back = np.broadcast_to(last, inputs[-1].shape)
    for number in range(len(layers) - 2, -1, -1):
        slopes.append(np.asarray(back * bends[number]))
        back = slopes[-1] @ layers[number][0]
    return Passed(inputs, np.asarray(inputs[-1] @ last + constant), slopes[::-1])


def jacobian(passed: Passed) -> Floats:
    """Return the derivatives by all parameters, shape (n, p), in the order of `to_vector`."""
    n = len(passed.values)
    blocks = []
    for inputs, slopes in zip(passed.inputs, passed.slopes):
        blocks += [(slopes[:, :, None] * inputs[:, None, :]).reshape(n, -1), slopes]
    return np.concatenate([*blocks, passed.inputs[-1], np.ones((n, 1), passed.values.dtype)], axis=1)


def to_vector(layers: Layers) -> Floats:
    """Return all parameters in one vector: W by rows, then b, layer after layer."""
    return np.concatenate([part.ravel() for layer in layers for part in layer])


def with_vector(layers: Layers, vector: Floats) -> Layers:
    """Return layers of the same shape with these parameters."""
    found, at = [], 0
    for weights, offsets in layers:
        W = vector[at : at + weights.size].reshape(weights.shape)
        at += weights.size
        found.append((W, vector[at : at + offsets.size]))
        at += offsets.size
    return found


def canonical(layers: Layers) -> Layers:
    """Return the layers in the order and with the signs of a canonical network, so that errors go with its units."""
    found = list(layers)
    for number in reversed(range(len(layers) - 1)):
        (W, b), (V, c) = found[number], found[number + 1]
        signs = np.where(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])] < 0, -1.0, 1.0)
        order = np.argsort(-np.linalg.norm(V, axis=0), kind="stable")
        found[number] = (signs[order, None] * W[order], signs[order] * b[order])
        found[number + 1] = (V[:, order] * signs[order], c)
    return found


def to_network(layers: Layers, link: Link) -> Network:
    """Return layers over the odd sigmoid as a canonical network of the activation asked for."""
    found = []
    for number, (weights, offsets) in enumerate(layers):
        W, b = weights, offsets
        if number:  # g(z) = (f - center) / gain
            b = b - W.sum(axis=1) * link.form.center / link.gain
            W = W / link.gain
        if number < len(layers) - 1:
            W, b = W / link.stretch, b / link.stretch
        found.append((W, b))
    return Network(found, link.activation).canonical()
