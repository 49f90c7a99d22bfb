"""Networks of kinks with parameters that are known, what they do along a segment in closed form, and their ledgers."""

from __future__ import annotations

import numpy as np

import gradsift as gs
from gradsift.reading.kinks.kink_network import KinkNet, shape_of
from gradsift.reading.kinks.kink_test import Bend, Kink
from gradsift.reading.kinks.path_network import fit_path, network_on_path
from gradsift.reading.kinks.segments import PathFailure, half_square
from gradsift.reading.ledger import Ledger
from gradsift.reading.precision import EXACT_ANSWERS

SMOOTH = ("softplus", "silu", "gelu", "elu", "mish")


def random_net(activation="relu", d=5, k=4, seed=0):
    """Return a network with a linear term, whose units point either way where that is seen."""
    rng, shape = np.random.default_rng([seed, d, k]), shape_of(activation)
    weights = rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1.0, k)
    turns = np.ones(k) if shape.even or shape.sharp else rng.choice([-1.0, 1.0], k)
    jumps, q = rng.standard_normal((k, d)), rng.standard_normal(k)
    return KinkNet(shape, jumps, q, weights, turns, rng.standard_normal(d), rng.standard_normal())


def ledger_of(function, d, **options):
    return Ledger(gs.Oracle(function, d, **options))


def gradient_at(net, x):
    """Return the gradient by central differences, (d,)."""
    steps = 1e-6 * np.eye(len(x))
    return (net.predict(x + steps) - net.predict(x - steps)) / 2e-6


def kinks_on(net, segment):
    """Return all kinks on a segment, in order, from the parameters."""
    way = segment.points(1.0) - segment.points(0.0)
    rates, starts = net.jumps @ way, net.jumps @ segment.points(0.0) + net.q
    kinks = []
    for rate, start, w, turn in zip(rates, starts, net.w, net.turns):
        width = 0.0 if net.shape.sharp else abs(rate / w)
        kinks.append(
            Kink(-start / rate, np.sign(w) * abs(rate), width, 1.0 if net.shape.even else turn * np.sign(rate * w))
        )
    return sorted((kink for kink in kinks if 0 < kink.place < segment.length), key=lambda kink: kink.place)


def path_for(net, radius=1e4, seed=0):
    return half_square(radius, 20.0, net.jumps.shape[1], np.random.default_rng(seed))


def fitted_path(net, radius=1e4, seed=0):
    """Return the ledger, and both segments of a path fitted to answers of the network."""
    ledger = ledger_of(net.predict, net.jumps.shape[1])
    return ledger, fit_path(ledger, path_for(net, radius, seed), Bend(net.shape, 1.0), EXACT_ANSWERS, 30.0)


def found_on_path(net, radius=1e4, seed=0):
    """Return the ledger, and the network that the first path shows on which all kinks are apart."""
    for number in range(seed, seed + 5):
        ledger, fitted = fitted_path(net, radius, number)
        if not isinstance(fitted, PathFailure):
            found = network_on_path(ledger, fitted, fitted.sigma, EXACT_ANSWERS)
            if not isinstance(found, PathFailure):
                return ledger, found
    raise AssertionError("five paths in a row fail")


def order_of(found, true):
    """Return for each true unit the one found whose jump is nearest to its own, either way, (k,)."""
    apart = [np.minimum(np.abs(found.jumps - jump), np.abs(found.jumps + jump)).max(axis=1) for jump in true.jumps]
    return np.argmin(apart, axis=1)
