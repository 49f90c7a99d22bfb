"""Boxes near several hidden layers of ReLU: what other layers, roundings and tables make of such a network."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import gradsift as gs
from benchmarks.hostile.hostile_kinds import KINDS, kind, noisy, plain

__all__ = ["KINDS"]

_D = 5


class _Layers(NamedTuple):
    """Two hidden layers and the output: weights of variance 2 / inputs (He), offsets .3 N(0, 1)."""

    W: np.ndarray
    b: np.ndarray
    V: np.ndarray
    c: np.ndarray
    u: np.ndarray
    e: float

    def output(self, h: Any) -> Any:
        """Return the answers, of the second layer's features."""
        return h @ self.u + self.e


def _layers(rng: np.random.Generator, first: int = 6, second: int = 4, d: int = _D) -> _Layers:
    def matrix(k: int, n: int) -> np.ndarray:
        return rng.standard_normal((k, n)) * np.sqrt(2 / n)

    return _Layers(
        matrix(first, d), 0.3 * rng.standard_normal(first), matrix(second, first), 0.3 * rng.standard_normal(second),
        matrix(1, second)[0], float(0.3 * rng.standard_normal()),
    )  # fmt: skip


def _relu(z: Any) -> Any:
    return np.maximum(z, 0.0)


@kind("relu layers with a max-pool")
def _max_pool(rng):
    net = _layers(rng)

    def function(X):
        pooled = (X @ net.W.T + net.b).reshape(len(X), 3, 2).max(axis=2)
        return net.output(_relu(pooled @ net.V[:, :3].T + net.c))

    return plain(function, _D)


@kind("relu layers with a residual block")
def _residual(rng):
    net = _layers(rng, 5, 5)

    def function(X):
        h = _relu(X @ net.W.T + net.b)
        return net.output(h + _relu(h @ net.V.T + net.c))

    return plain(function, _D)


@kind("relu layers with LayerNorm")
def _layer_norm(rng):
    net = _layers(rng)

    def function(X):
        z = X @ net.W.T + net.b
        z = (z - z.mean(axis=1, keepdims=True)) / np.sqrt(z.var(axis=1, keepdims=True) + 1e-5)
        return net.output(_relu(_relu(z) @ net.V.T + net.c))

    return plain(function, _D, foreign=True)


@kind("a relu layer and a tanh layer")
def _relu_and_tanh(rng):
    net, how = _layers(rng), rng.integers(3)

    def function(X):
        z = X @ net.W.T + net.b
        if how == 0:  # side by side
            return net.output(np.tanh(_relu(z) @ net.V.T + net.c)) + _relu(z) @ np.ones(6)
        below, above = (np.tanh, _relu) if how == 1 else (_relu, np.tanh)
        return net.output(above(below(z) @ net.V.T + net.c))

    return plain(function, _D, foreign=True)


@kind("relu layers of quantised weights")
def _quantised_weights(rng):
    net = _layers(rng)
    steps = 2.0 ** rng.integers(1, 4)  # ties: weights that are zero, rows that are parallel, units that are alike
    net = _Layers(*(np.round(steps * part) / steps for part in net))
    return plain(lambda X: net.output(_relu(_relu(X @ net.W.T + net.b) @ net.V.T + net.c)), _D)


@kind("relu layers of clipped inputs")
def _clipped(rng):
    net, end = _layers(rng), rng.uniform(2, 6)

    def function(X):
        h = _relu(np.clip(X, -end, end) @ net.W.T + net.b)
        return net.output(_relu(h @ net.V.T + net.c))

    return plain(function, _D, how={"max_queries": 10_000})


@kind("relu layers behind a lookup table")
def _lookup(rng):
    net, bins = _layers(rng), rng.random() < 0.5
    knots = np.sort(rng.uniform(-3, 3, (_D, 8)), axis=1)
    values = knots + 0.3 * rng.standard_normal(knots.shape)

    def function(X):
        columns = [np.interp(x, k, v) for x, k, v in zip(X.T, knots, values)]
        if bins:
            columns = [v[np.clip(np.searchsorted(k, x), 0, 7)] for x, k, v in zip(X.T, knots, values)]
        h = _relu(np.stack(columns, axis=1) @ net.W.T + net.b)
        return net.output(_relu(h @ net.V.T + net.c))

    return plain(function, _D, how={"max_queries": 10_000})


@kind("relu layers with dropout")
def _dropout(rng):
    net = _layers(rng)

    def function(X, kept=1.0):
        return net.output(_relu((_relu(X @ net.W.T + net.b) * kept) @ net.V.T + net.c))

    return noisy(function, _D, lambda r, X: function(X, (rng.random((len(X), 6)) > 0.1) / 0.9))


@kind("relu layers of a mixture of slopes")
def _slopes(rng):
    net = _layers(rng)
    below = [rng.uniform(0.01, 0.5, k) for k in (6, 4)]

    def function(X):
        h = X @ net.W.T + net.b
        h = np.where(h > 0, h, below[0] * h)
        z = h @ net.V.T + net.c
        return net.output(np.where(z > 0, z, below[1] * z))

    return plain(function, _D)


@kind("relu layers in float16")
def _float16(rng):
    net, overflows = _Layers(*(np.asarray(part, dtype=np.float16) for part in _layers(rng))), rng.random() < 0.3

    def half(z):
        if overflows:  # beyond 65,504
            return z.astype(np.float16)
        digits, powers = np.frexp(z)
        return np.ldexp(np.round(digits * 2**11) / 2**11, powers)  # the digits of float16, in a wider range

    def function(X):
        with np.errstate(all="ignore"):
            h = half(_relu(half(X) @ net.W.T + net.b))
            return half(net.output(half(_relu(h @ net.V.T + net.c))))

    return plain(function, _D, oracle={"retry": gs.oracle.Retry(attempts=1)})
