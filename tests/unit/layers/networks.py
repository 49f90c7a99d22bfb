"""Small networks with several hidden layers, and what the first steps of their method make of them."""

from typing import NamedTuple

import numpy as np

import gradsift as gs
from gradsift.activations import get_activation
from gradsift.reading.layers.crossings import find_planes
from gradsift.reading.layers.hyperplanes import FirstLayer, Plane, no_planes
from gradsift.reading.ledger import Ledger

TANH = get_activation("tanh")
RADIUS = 2e4


def random_net(d=5, widths=(6, 3), seed=0, activation="tanh"):
    norms = [(1.0, 3.0), *[1.5] * (len(widths) - 1)]
    return gs.simulate.random_network(d, widths, row_norms=norms, activation=activation, rng=seed)


def layers_of(net):
    """Return weights and offsets as arrays that may be changed."""
    return [(W.copy(), b.copy()) for W, b in net.layers]


def ledger_of(function, d, **options):
    return Ledger(gs.Oracle(function, d, **options))


class Found(NamedTuple):
    first: FirstLayer
    ledger: Ledger


def planes_of(function, d, seed=0, **options):
    """Return the hyperplanes found on far circles, and the ledger."""
    ledger = ledger_of(function, d, **options)
    return Found(find_planes(ledger, no_planes(d, 60.0), RADIUS, np.random.default_rng(seed)), ledger)


def plane_at(normal, level, width=2.0):
    """Return the plane <normal, x> = level."""
    normal = np.asarray(normal, dtype=float) / np.linalg.norm(normal)
    return Plane(normal, level * normal, width, width, np.arange(0))


def planes_at(normals, levels, margin):
    first = no_planes(len(normals[0]), margin)
    return first.joined([plane_at(n, level) for n, level in zip(normals, levels)])


def aligned(net, first):
    """Return the network with the units of its first layer in the order and with the signs of the planes found."""
    match = gs.match_units(net.layers[0].weights, first.normals)
    return net.reordered(0, match.order, match.signs)


def rotation(d, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]
