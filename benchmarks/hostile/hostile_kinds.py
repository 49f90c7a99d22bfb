"""Boxes that are not what the method hopes for: over eighty kinds, each made anew from a random stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import bdtrc, erf, expit, ndtr

import gradsift as gs

__all__ = ["KINDS", "Box", "Kind"]

Function = Callable[[np.ndarray], np.ndarray]


@dataclass
class Box:
    """One box: what it answers, what it means (the answers without noise), and the network inside, if there is one.

    `foreign`: its units are of a shape that no certificate can name.
    """

    answer: Function
    mean: Function
    d: int
    truth: gs.SigmoidCombination | None = None
    oracle: dict[str, Any] = field(default_factory=dict)
    how: dict[str, Any] = field(default_factory=dict)
    foreign: bool = False


@dataclass(frozen=True)
class Kind:
    """How to make a box; `pair` rows count how often all units were found."""

    name: str
    make: Callable[[np.random.Generator], Box]
    pair: bool = False


KINDS: list[Kind] = []


def kind(name: str, pair: bool = False):
    def keep(make):
        KINDS.append(Kind(name, make, pair))
        return make

    return keep


def family(rows: dict[str, Any], pair: bool = False):
    """Keep one kind for each row: the decorated function takes the generator and the row's value."""

    def keep(make):
        for name, value in rows.items():
            KINDS.append(Kind(name, lambda rng, value=value: make(rng, value), pair))
        return make

    return keep


def net(rng, d=5, k=3, activation="tanh", slopes=(1.0, 3.0), offsets=1.0, scale=1.0, linear=0.0):
    units = rng.standard_normal((k, d))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    weights = rng.choice([-1.0, 1.0], k) * rng.uniform(0.3, 1.0, k)
    steep = np.exp(rng.uniform(np.log(slopes[0]), np.log(slopes[1]), k)) / scale
    return gs.SigmoidCombination(
        units, weights, steep, offsets * rng.standard_normal(k), float(rng.standard_normal()), activation,
        linear * rng.standard_normal(d),
    )  # fmt: skip


def exactly(truth, **options) -> Box:
    return Box(truth.predict, truth.predict, truth.n_features, truth, **options)


def plain(function, d, **options) -> Box:
    return Box(function, function, d, None, **options)


def noisy(mean, d, draw, truth=None, **options) -> Box:
    """A box whose answers are `draw(mean values, rows)`."""
    return Box(lambda X: draw(mean(X), X), mean, d, truth, **options)


def labelled(rng):
    """Draw labels of these means."""
    return lambda r, X: np.where(rng.random(len(r)) < 0.5 * (1 + r), 1.0, -1.0)


def direction(rng, d):
    v = rng.standard_normal(d)
    return v / np.linalg.norm(v)


# Honest networks: they should be certified, and never wrongly ------------------------------------------------------


@family({"tanh k3 d5": (5, 3), "tanh k8 d10": (10, 8), "tanh k12 d3": (3, 12), "tanh k4 d20": (20, 4)})
def _tanh(rng, size):
    return exactly(net(rng, *size))


@family({"logistic": "logistic", "erf": "erf", "arctan": "arctan", "softsign": "softsign"})
def _families(rng, activation):
    k = 2 if activation in ("arctan", "softsign") else 4
    return exactly(net(rng, 3 if k == 2 else 6, k, activation), how={"activation": activation})


@kind("family not given")
def _auto(rng):
    return exactly(net(rng, 5, 3, rng.choice(["tanh", "erf"])), how={"activation": "auto"})


@kind("erf called tanh")
def _called(rng):
    return exactly(net(rng, 5, 3, "erf"))


@kind("linear term")
def _linear(rng):
    return exactly(net(rng, 6, 3, linear=0.5))


@kind("steep and flat units")
def _steep(rng):
    return exactly(net(rng, 5, 4, slopes=(0.05, 50.0)))


@kind("large offsets")
def _offsets(rng):
    return exactly(net(rng, 5, 4, offsets=20.0))


@kind("tiny weight")
def _tiny(rng):
    truth = net(rng, 5, 4)
    weights = truth.weights.copy()
    weights[0] *= 1e-4
    return exactly(gs.SigmoidCombination(
        truth.units, weights, truth.slopes, truth.offsets, truth.intercept, "tanh"
    ))  # fmt: skip


@family({"scale 1e4": 1e4, "scale 1e-3": 1e-3, "scale 30": 30.0})
def _scaled(rng, scale):
    return exactly(net(rng, 5, 3, scale=scale))


@family({"columns 1e4 to 1e-3": True, "columns 1e4 to 1e-3, inputs given": False})
def _columns(rng, bare):
    inner, scales = net(rng, 5, 3), np.array([1e4, 1.0, 1e-3, 1.0, 1e2])
    a = inner.units * inner.slopes[:, None] / scales
    truth = gs.SigmoidCombination(a, inner.weights, 1.0, inner.offsets, inner.intercept)
    given = {} if bare else {"inputs": scales * rng.standard_normal((200, 5))}
    return exactly(truth, oracle=given)


@kind("inputs far from zero, given")
def _away(rng):
    inner, center = net(rng, 5, 3), np.array([100.0, -50.0, 3.0, 0.0, 1000.0])
    scales = np.array([10.0, 5.0, 1.0, 1.0, 100.0])
    a = inner.units * inner.slopes[:, None] / scales
    truth = gs.SigmoidCombination(a, inner.weights, 1.0, inner.offsets - a @ center, inner.intercept)
    return exactly(truth, oracle={"inputs": center + scales * rng.standard_normal((200, 5))})


@kind("unused inputs")
def _unused(rng):
    inner = net(rng, 3, 3)
    units = np.concatenate([inner.units, np.zeros((3, 3))], axis=1)
    return exactly(gs.SigmoidCombination(units, inner.weights, inner.slopes, inner.offsets, inner.intercept))


@kind("opposite units sum to zero weight")
def _balanced(rng):
    inner = net(rng, 5, 4)
    return exactly(
        gs.SigmoidCombination(inner.units, [0.5, -0.5, 0.8, -0.8], inner.slopes, inner.offsets, inner.intercept)
    )


@kind("projection of two outputs")
def _projected(rng):
    truth = net(rng, 4, 1)
    other = net(rng, 4, 2)

    def both(X):
        return np.stack([truth.predict(X), other.predict(X)], axis=1)

    return Box(both, truth.predict, 4, truth, oracle={"projected": [1.0, 0.0]})


# Parallel and nearly parallel units --------------------------------------------------------------------------------


def with_pair(rng, d, slope, width, at=1.0, opposite=True, turn=0.0):
    inner, v = net(rng, d, 2), direction(rng, d)
    w = v + turn * direction(rng, d)
    edges = np.array([at - 0.5 * width, at + 0.5 * width])
    units = np.concatenate([inner.units * inner.slopes[:, None], slope * v[None], slope * w[None]])
    weights = np.concatenate([inner.weights, [1.0, -1.0 if opposite else 0.7]])
    return exactly(gs.SigmoidCombination(
        units, weights, 1.0, np.concatenate([inner.offsets, -slope * edges]), inner.intercept
    ))  # fmt: skip


@family(
    {
        "opposite pair, slope 20, width .2": (20.0, 0.2),
        "opposite pair, slope 20, width .8": (20.0, 0.8),
        "opposite pair, slope 50, width .2": (50.0, 0.2),
        "opposite pair, slope 5, width 1": (5.0, 1.0),
        "opposite pair, slope 2, width 2": (2.0, 2.0),
    },
    pair=True,
)
def _opposite(rng, shape):
    return with_pair(rng, 4, *shape)


@kind("opposite pair in ten inputs", pair=True)
def _opposite_wide(rng):
    return with_pair(rng, 10, 10.0, 0.5)


@kind("two opposite pairs", pair=True)
def _two_pairs(rng):
    first, second = with_pair(rng, 4, 20.0, 0.4).truth, with_pair(rng, 4, 10.0, 0.6, at=-0.8).truth
    return exactly(gs.SigmoidCombination(
        np.concatenate([first.units, second.units[2:]]), np.concatenate([first.weights, second.weights[2:]]),
        np.concatenate([first.slopes, second.slopes[2:]]), np.concatenate([first.offsets, second.offsets[2:]]), 0.2,
    ))  # fmt: skip


@kind("three parallel units that cancel", pair=True)
def _three(rng):
    inner, v = net(rng, 4, 2), direction(rng, 4)
    units = np.concatenate([inner.units * inner.slopes[:, None], np.tile(10 * v, (3, 1))])
    weights = np.concatenate([inner.weights, [1.0, -0.4, -0.6]])
    return exactly(gs.SigmoidCombination(units, weights, 1.0, np.concatenate([inner.offsets, [5.0, -1.0, -6.0]]), 0.1))


@kind("parallel pair, same sign", pair=True)
def _same(rng):
    return with_pair(rng, 4, 2.0, 1.5, opposite=False)


@family({"nearly parallel 1e-2": 1e-2, "nearly parallel 1e-5": 1e-5})
def _near(rng, turn):
    return with_pair(rng, 4, 2.0, 1.0, opposite=False, turn=turn)


@kind("opposite pair, nearly parallel 1e-3")
def _near_opposite(rng):
    return with_pair(rng, 4, 10.0, 0.5, turn=1e-3)


@kind("near-duplicate units")
def _duplicates(rng):
    inner = net(rng, 5, 3)
    units = np.concatenate([inner.units, inner.units[:1] + 1e-9 * rng.standard_normal((1, 5))])
    slopes, offsets = np.append(inner.slopes, inner.slopes[0]), np.append(inner.offsets, inner.offsets[0])
    box = exactly(gs.SigmoidCombination(units, np.append(inner.weights, 0.4), slopes, offsets))
    box.truth = None  # in double precision the same function has one unit fewer
    return box


# Bumps and back doors ----------------------------------------------------------------------------------------------


def bumped(rng, bump, d=5, k=4, height=1.0, **options):
    inner, w = net(rng, d, k), direction(rng, d)
    return plain(lambda X: inner.predict(X) + height * bump(X, w), d, **options)


@family(
    {
        "ball of radius 2": lambda X, w: np.linalg.norm(X - 2 * w, axis=1) < 2,
        "ball of radius 1.5": lambda X, w: np.linalg.norm(X - w, axis=1) < 1.5,
        "slab": lambda X, w: np.abs(X @ w - 1.5) < 0.5,
        "thin slab": lambda X, w: np.abs(X @ w - 1.0) < 0.25,
        "corner": lambda X, w: (X[:, 0] > 0.7) & (X[:, 1] > 0.3),
        "half-space": lambda X, w: X @ w > 1.2,
        "gaussian bump": lambda X, w: np.exp(-((X - w) ** 2).sum(axis=1)),
        "shell": lambda X, w: np.abs(np.linalg.norm(X, axis=1) - 2.2) < 0.2,
        "lattice": lambda X, w: np.floor(X[:, 0]) % 5 == 0,
    }
)
def _bumps(rng, bump):
    return bumped(rng, bump)


@family({"bump of 1e-3": 1e-3, "bump of 1e-6": 1e-6, "bump of 1e-9": 1e-9})
def _small_bumps(rng, height):
    return bumped(rng, lambda X, w: np.linalg.norm(X - w, axis=1) < 2, height=height)


@family({"sine of 1e-4": 1e-4, "sine of 1e-2": 1e-2})
def _sine(rng, height):
    return bumped(rng, lambda X, w: np.sin(3 * X @ w), height=height)


@kind("slab in a box")
def _boxed_slab(rng):
    return bumped(rng, lambda X, w: np.abs(X @ w - 1.0) < 0.5, oracle={"bounds": (-3, 3)})


@family({"slab with noise": 0.05, "ball with noise": -0.05})
def _noisy_bump(rng, sd):
    inner, w = net(rng, 4, 2), direction(rng, 4)

    def mean(X):
        inside = np.abs(X @ w - 1.2) < 0.5 if sd > 0 else np.linalg.norm(X - w, axis=1) < 1.5
        return inner.predict(X) + inside

    return noisy(mean, 4, lambda r, X: r + abs(sd) * rng.standard_normal(len(r)), how={"accuracy": 0.1})


# Other functions ---------------------------------------------------------------------------------------------------


def deeper(rng, d, widths, gain=1.5):
    layers, n = [], d
    for k in widths:
        W = rng.standard_normal((k, n))
        layers.append((gain * W / np.linalg.norm(W, axis=1, keepdims=True), 0.5 * rng.standard_normal(k)))
        n = k
    last = rng.standard_normal(n)

    def function(X):
        h = X
        for W, b in layers:
            h = np.tanh(h @ W.T + b)
        return h @ last

    return function


@family({"two layers": (4, 3), "two layers, wide": (8, 8), "three layers": (4, 4, 3)})
def _layers(rng, widths):
    return plain(deeper(rng, 5, widths), 5, how={"max_queries": 20000})


@kind("second layer almost linear")
def _almost(rng):
    inner = net(rng, 5, 3)
    return plain(lambda X: 20 * np.tanh(inner.predict(X) / 20), 5)


@kind("two layers with noise .05")
def _noisy_layers(rng):
    mean = deeper(rng, 4, (3, 2))
    return noisy(mean, 4, lambda r, X: r + 0.05 * rng.standard_normal(len(r)), how={"max_queries": 20000})


@family(
    {
        "tanh cubed": lambda z: np.tanh(z) ** 3,
        "clipped line": lambda z: np.clip(z, -1, 1),
        "sign": np.sign,
        "sine": np.sin,
        "relu": lambda z: np.maximum(z, 0),
        "softplus": lambda z: np.logaddexp(0, z),
        "gelu": lambda z: z * 0.5 * (1 + erf(z / np.sqrt(2))),
        "gaussian": lambda z: np.exp(-(z**2)),
        "square": np.square,
        "fifth root": lambda z: np.sign(z) * np.abs(z) ** 0.2,
        "algebraic": lambda z: z / np.sqrt(1 + z**2),
    }
)
def _units(rng, g):
    inner = net(rng, 5, 3)
    return plain(lambda X: g(inner.arguments(X)) @ inner.weights, 5, how={"activation": "tanh", "max_queries": 20000})


@kind("tanh beside erf")
def _mixed(rng):
    one, two = net(rng, 5, 2), net(rng, 5, 2, "erf")
    return plain(lambda X: one.predict(X) + two.predict(X), 5)


@kind("tanh beside relu")
def _relu_beside(rng):
    one, w = net(rng, 5, 2), direction(rng, 5)
    return plain(lambda X: one.predict(X) + np.maximum(X @ w, 0), 5)


@kind("product of units")
def _product(rng):
    one, two = net(rng, 5, 1), net(rng, 5, 1)
    return plain(lambda X: one.predict(X) * two.predict(X), 5)


@kind("logistic of a network")
def _link(rng):
    inner = net(rng, 5, 3)
    return plain(lambda X: expit(2 * inner.predict(X)), 5)


@kind("clipped network")
def _clipped(rng):
    inner = net(rng, 5, 3)
    return plain(lambda X: np.clip(inner.predict(X), inner.intercept - 0.6, inner.intercept + 0.6), 5)


@kind("radial basis functions")
def _rbf(rng):
    centers, weights = rng.standard_normal((6, 5)), rng.standard_normal(6)
    return plain(lambda X: np.exp(-0.3 * ((X[:, None] - centers) ** 2).sum(axis=2)) @ weights, 5)


@kind("k nearest neighbours")
def _knn(rng):
    from sklearn.neighbors import KNeighborsRegressor

    X = rng.standard_normal((300, 4))
    return plain(KNeighborsRegressor(5).fit(X, net(rng, 4, 3).predict(X)).predict, 4)


@kind("forest")
def _forest(rng):
    from sklearn.ensemble import RandomForestRegressor

    X = rng.standard_normal((300, 4))
    return plain(RandomForestRegressor(10, random_state=0).fit(X, net(rng, 4, 3).predict(X)).predict, 4)


@kind("constant")
def _constant(rng):
    value = rng.standard_normal()
    return plain(lambda X: np.full(len(X), value), 4)


@kind("linear function")
def _line(rng):
    w = rng.standard_normal(5)
    return plain(lambda X: X @ w + 0.3, 5)


@kind("quantised inputs")
def _quantised(rng):
    inner = net(rng, 5, 3)
    return plain(lambda X: inner.predict(np.round(X, 1)), 5, how={"max_queries": 20000})


@kind("an input is an integer")
def _integer(rng):
    inner = net(rng, 4, 3)

    def function(X):
        rows = X.copy()
        rows[:, 0] = np.round(rows[:, 0])
        return inner.predict(rows)

    return plain(function, 4, how={"max_queries": 20000})


@kind("clipped inputs")
def _clipped_inputs(rng):
    inner = net(rng, 5, 3)
    return plain(lambda X: inner.predict(np.clip(X, -4, 4)), 5)


@family({"NaN far out": 50.0, "NaN beyond 1e6": 1e6})
def _nan(rng, radius):
    inner = net(rng, 4, 3)

    def function(X):
        y = inner.predict(X)
        y[np.abs(X).max(axis=1) > radius] = np.nan
        return y

    return plain(function, 4, oracle={"retry": gs.oracle.Retry(attempts=1)})


@kind("raises far out")
def _raises(rng):
    inner = net(rng, 4, 3)

    def function(X):
        if np.abs(X).max() > 100:
            raise ValueError("input out of range")
        return inner.predict(X)

    return plain(function, 4, oracle={"retry": gs.oracle.Retry(attempts=1)})


# Noise, rounding, labels -------------------------------------------------------------------------------------------


@family({"noise .1": 0.1, "noise .02": 0.02, "noise .3": 0.3})
def _noise(rng, sd):
    truth = net(rng, 4, 2, offsets=0.5)
    draw = np.random.default_rng(rng.integers(2**32))
    return noisy(truth.predict, 4, lambda r, X: r + sd * draw.standard_normal(len(r)), truth)


@kind("erf with noise called tanh")
def _erf_noise(rng):
    truth = net(rng, 4, 2, "erf", offsets=0.5)
    return noisy(truth.predict, 4, lambda r, X: r + 0.02 * rng.standard_normal(len(r)))


@kind("dropout .1")
def _dropout(rng):
    truth = net(rng, 4, 3, offsets=0.5)

    def draw(r, X):
        kept = (rng.random((len(X), 3)) > 0.1) / 0.9
        return (np.tanh(truth.arguments(X)) * kept) @ truth.weights + truth.intercept

    return noisy(truth.predict, 4, draw, truth)


@kind("drift")
def _drift(rng):
    truth, asked = net(rng, 4, 2, offsets=0.5), [0]

    def draw(r, X):
        times = asked[0] + np.arange(len(r))
        asked[0] += len(r)
        return r + 0.05 * rng.standard_normal(len(r)) + 2e-4 * times

    return noisy(truth.predict, 4, draw, truth)


@kind("one percent garbage")
def _garbage(rng):
    truth = net(rng, 4, 2, offsets=0.5)

    def draw(r, X):
        wrong = rng.random(len(r)) < 0.01
        return np.where(wrong, 10 * rng.standard_normal(len(r)), r)

    return noisy(truth.predict, 4, draw, truth)


@kind("noise with heavy tails")
def _tails(rng):
    truth = net(rng, 4, 2, offsets=0.5)
    return noisy(truth.predict, 4, lambda r, X: r + 0.05 * rng.standard_t(2.2, len(r)), truth)


@family({"noise that grows with the function": 0, "noise that grows with the inputs": 1})
def _growing(rng, which):
    truth = net(rng, 4, 2, offsets=0.5)

    def draw(r, X):
        size = 0.03 + 0.1 * np.abs(r) if which == 0 else 0.05 * (1 + np.minimum(np.linalg.norm(X, axis=1), 20))
        return r + size * rng.standard_normal(len(r))

    return noisy(truth.predict, 4, draw, truth)


@kind("correlated noise")
def _correlated(rng):
    truth, state = net(rng, 4, 2, offsets=0.5), [0.0]

    def draw(r, X):
        out = np.empty(len(r))
        for i in range(len(r)):
            state[0] = 0.95 * state[0] + 0.03 * rng.standard_normal()
            out[i] = r[i] + state[0]
        return out

    return noisy(truth.predict, 4, draw, truth)


@kind("answers at random")
def _random(rng):
    return noisy(lambda X: np.zeros(len(X)), 4, lambda r, X: rng.standard_normal(len(r)))


@family({"rounded to .25": 0.25, "rounded to 2 decimals": 0.01, "rounded to 5 decimals": 1e-5})
def _rounded(rng, step):
    truth = net(rng, 4, 2, offsets=0.5)
    return Box(lambda X: np.round(truth.predict(X) / step) * step, truth.predict, 4, truth)


@kind("float32")
def _float32(rng):
    truth = net(rng, 4, 3, offsets=0.5)
    return Box(lambda X: truth.predict(X).astype(np.float32), truth.predict, 4, truth)


@kind("labels")
def _labels(rng):
    inner = net(rng, 3, 2, offsets=0.3)
    weights = np.array([0.55, 0.4])
    truth = gs.SigmoidCombination(inner.units, weights, inner.slopes, inner.offsets, 0.0)
    return noisy(truth.predict, 3, labelled(rng), truth, how={"accuracy": 0.2})


@kind("decisions without noise")
def _decisions(rng):
    inner = net(rng, 3, 2)
    # Called labels; as decisions it is read, and hostile_deciders has such boxes.
    return plain(
        lambda X: np.where(inner.predict(X) > 0, 1.0, -1.0), 3, oracle={"noise": "labels"}, how={"max_queries": 20000}
    )


@family({"exact in a box": 0.0, "noise in a box": 0.05})
def _boxed(rng, sd):
    truth = net(rng, 4, 2, offsets=0.5)
    return noisy(
        truth.predict, 4, lambda r, X: r + sd * rng.standard_normal(len(r)) if sd else r, truth,
        oracle={"bounds": (-3, 3)},
    )  # fmt: skip


@kind("two layers in a box")
def _boxed_layers(rng):
    return plain(deeper(rng, 4, (3, 3)), 4, oracle={"bounds": (-3, 3)}, how={"max_queries": 5000})


@kind("rounded in a box")
def _boxed_rounded(rng):
    truth = net(rng, 4, 2, offsets=0.5)
    return Box(lambda X: np.round(truth.predict(X), 4), truth.predict, 4, truth, oracle={"bounds": (-3, 3)})


# Noise beside the model, and networks that noise hides -------------------------------------------------------------


def blurred(rng, truth, sd, **options) -> Box:
    """A network behind Gaussian noise."""
    return noisy(truth.predict, truth.n_features, lambda r, X: r + sd * rng.standard_normal(len(r)), truth, **options)


@family({f"pair at {angle} degrees, noise {sd}": (angle, sd) for sd in (0.1, 0.03) for angle in (5, 10, 20, 30)}, True)
def _noisy_pair(rng, row):
    angle, sd = row
    first, other = np.linalg.qr(rng.standard_normal((int(rng.choice([4, 10])), 2)))[0].T
    second = np.cos(np.radians(angle)) * first + np.sin(np.radians(angle)) * other
    truth = gs.SigmoidCombination(np.stack([first, second]), np.array([0.85, 0.45]), 2.0, rng.uniform(-1, 1, 2))
    return blurred(rng, truth, sd)


@kind("opposite pair, noise .1")
def _opposite_pair(rng):
    first, other = np.linalg.qr(rng.standard_normal((4, 2)))[0].T
    second = np.cos(np.radians(15)) * first + np.sin(np.radians(15)) * other
    units = np.stack([first, second, direction(rng, 4)])
    truth = gs.SigmoidCombination(units, np.array([0.85, -0.8, 0.5]), 2.0, [0.8, -0.8, 0.1])
    return blurred(rng, truth, 0.1)


@family({"Gaussian rows, noise .1": 0.1, "Gaussian rows, noise .03": 0.03})
def _gaussian_rows(rng, sd):
    d, k = int(rng.integers(3, 11)), int(rng.integers(2, 6))
    weights = rng.choice([-1.0, 1.0], k) * rng.uniform(0.4, 1.2, k)
    return blurred(
        rng, gs.SigmoidCombination(rng.standard_normal((k, d)), weights, 1.0, rng.standard_normal(k)).canonical(), sd
    )


@kind("factor noise .05")
def _factor(rng):
    truth = net(rng, 4, 2, offsets=0.5)
    return noisy(truth.predict, 4, lambda r, X: r * (1 + 0.05 * rng.standard_normal(len(r))), truth)


@kind("AR(1) noise .05")
def _autoregressive(rng):
    truth, state = net(rng, 4, 2, offsets=0.5), [0.05 * rng.standard_normal()]

    def draw(r, X):
        out = np.empty(len(r))
        for i, innovation in enumerate(0.05 * np.sqrt(1 - 0.8**2) * rng.standard_normal(len(r))):
            state[0] = 0.8 * state[0] + innovation
            out[i] = r[i] + state[0]
        return out

    return noisy(truth.predict, 4, draw, truth)


@kind("noise .05 of Student's t with 3 degrees")
def _student(rng):
    truth = net(rng, 4, 2, offsets=0.5)
    return noisy(truth.predict, 4, lambda r, X: r + 0.05 / np.sqrt(3) * rng.standard_t(3, len(r)), truth)


@family({"drift of 1e-5, noise .05": 0.05, "drift of 1e-5, exact": 0.0})
def _slow_drift(rng, sd):
    truth, asked = net(rng, 4, 2, offsets=0.5), [0]

    def draw(r, X):
        times = asked[0] + np.arange(len(r))
        asked[0] += len(r)
        return r + sd * rng.standard_normal(len(r)) + 1e-5 * times

    return noisy(truth.predict, 4, draw, truth)


@kind("hard tanh, noise .05")
def _hard_tanh(rng):
    inner = net(rng, int(rng.choice([4, 5])), int(rng.choice([2, 3])), offsets=0.5)

    def mean(X):
        return np.clip(inner.arguments(X), -1, 1) @ inner.weights + inner.intercept

    return noisy(mean, inner.n_features, lambda r, X: r + 0.05 * rng.standard_normal(len(r)), foreign=True)


def _majority_of_seven(r):
    return bdtrc(3, 7, 0.5 * (1 + r))


@family({"labels by a majority of seven": _majority_of_seven, "labels by a probit": ndtr, "labels by a logit": expit})
def _linked_labels(rng, probability):
    inner, size = net(rng, 3, 2, offsets=0.3), 1.0 if probability is _majority_of_seven else 2.0
    truth = gs.SigmoidCombination(inner.units, size * np.array([0.55, 0.4]), inner.slopes, inner.offsets, 0.0)
    return noisy(lambda X: 2 * probability(truth.predict(X)) - 1, 3, labelled(rng), truth, how={"accuracy": 0.2})
