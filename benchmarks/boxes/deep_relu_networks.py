"""Networks with several hidden layers of ReLU to be opened, and how one that was found compares with the true one.

A hidden unit of ReLU may be multiplied by a positive number and its output weights divided by it; a unit that is never
active is no part of the function, and of units that are always active only the sum is one.
"""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

import gradsift as gs

LEAST = 1e-9  # what counts as exact, of rows over their lengths and of values over their spread


class Teacher(NamedTuple):
    """A network behind a box: its layers [(W, b), ...], the slope of its units below their kinks, and typical rows."""

    layers: list[tuple[np.ndarray, np.ndarray]]
    slope: float
    rows: np.ndarray

    @property
    def d(self) -> int:
        """Number of inputs."""
        return int(self.layers[0][0].shape[1])

    @property
    def n_parameters(self) -> int:
        """All weights and offsets."""
        return sum(W.size + b.size for W, b in self.layers)

    def arguments(self, X: np.ndarray) -> list[np.ndarray]:
        """Return the arguments of the units of each hidden layer."""
        found, active = [], X
        for W, b in self.layers[:-1]:
            found.append(active @ W.T + b)
            active = np.maximum(found[-1], self.slope * found[-1])
        return found

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the outputs."""
        z = self.arguments(np.atleast_2d(X))[-1]
        W, b = self.layers[-1]
        values = np.maximum(z, self.slope * z) @ W.T + b
        return values[:, 0] if len(b) == 1 else values


def random_teacher(sizes: tuple[int, ...], slope: float, seed: list[int]) -> Teacher:
    """Return a network with weights of variance 2 / inputs (He) and offsets .3 N(0, 1)."""
    rng = np.random.default_rng(seed)
    layers = [(rng.standard_normal((k, d)) * np.sqrt(2 / d), 0.3 * rng.standard_normal(k)) for d, k in pairwise(sizes)]
    return Teacher(layers, slope, rng.standard_normal((1000, sizes[0])))


def trained_teacher(data: str, widths: tuple[int, ...], seed: int) -> Teacher:
    """Return a scikit-learn MLP trained on standardised columns: one output, one logit, or ten logits of digits."""
    from sklearn import datasets
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.preprocessing import scale

    if data == "friedman":
        X, y = datasets.make_friedman1(500, n_features=8, noise=0.5, random_state=seed)
    else:
        load = {"diabetes": "load_diabetes", "breast cancer": "load_breast_cancer", "digits": "load_digits"}[data]
        X, y = getattr(datasets, load)(return_X_y=True)
    X = scale(X[:, X.std(axis=0) > 0])
    classes = data in ("breast cancer", "digits")
    net = (MLPClassifier if classes else MLPRegressor)(
        hidden_layer_sizes=widths, activation="relu", max_iter=300, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net.fit(X, y if classes else scale(y))
    return Teacher([(W.T, b) for W, b in zip(net.coefs_, net.intercepts_)], 0.0, X)


class Comparison(NamedTuple):
    """How a found network compares: the largest relative error of a row (inf where units are missing or false), the
    largest error of the function over the spread of its values, and counts of the units that are no part of it."""

    rows: float
    function: float
    n_never: int
    n_always: int


def compared(found: Any, truth: Teacher, rng: np.random.Generator) -> Comparison:
    """Compare the network of a recovery with the true one.

    A true unit counts as never, or always, active if it is at all of 60,000 inputs at radii from .3 to 1,000 times the
    usual one. Found units that pair with no true one must be as many as the verdict says stand for the always active;
    beside these, units of the last layer may point either way.
    """
    X = np.concatenate([s * rng.standard_normal((10_000, truth.d)) for s in (0.3, 1, 3, 10, 100, 1000)])
    function = max(_misfit(found.network, truth, rows) for rows in (X[10_000:20_000], X[40_000:50_000], truth.rows))
    active = [z > 0 for z in truth.arguments(X)]
    never = [~a.any(axis=0) if not truth.slope else np.zeros(a.shape[1], bool) for a in active]
    always = [a.all(axis=0) | (~a.any(axis=0) if truth.slope else False) for a in active]
    n_named = int(found.diagnostics.get("always_active", 0))
    rows = np.inf
    if len(found.network.widths) == len(active):
        rows = _row_errors(found.network, truth, [n | a for n, a in zip(never, always)], n_named)
    return Comparison(rows, function, sum(int(n.sum()) for n in never), sum(int(a.sum()) for a in always))


def _misfit(network: Any, truth: Teacher, X: np.ndarray) -> float:
    values = truth.predict(X)
    return float(np.abs(network.predict(X) - values).max() / values.std())


def _row_errors(network: Any, truth: Teacher, left_out: list[np.ndarray], n_named: int) -> float:
    """Return the largest distance between paired rows of length one, from the inputs on; of the output's, relative to
    the length of the true row."""
    layers = _without_named(network, n_named)
    # A found unit is its true one times a positive scale: columns of the layer above are brought to the true order.
    order, scales, kept, worst = np.arange(truth.d), np.ones(truth.d), np.arange(truth.d), 0.0
    for number, (V, c) in enumerate(layers[:-1]):
        W, b = truth.layers[number]
        mine, true = np.column_stack([V[:, order] * scales, c]), np.column_stack([W[:, kept], b])
        complete = len(mine) == len(true)  # with units, perhaps, that no input looked at shows
        kept = np.arange(len(true)) if complete else np.flatnonzero(~left_out[number])
        true = true[kept]
        if not len(true) or len(mine) != len(true):
            return np.inf
        match = gs.match_units(mine, true)
        # relu(z) = z + relu(-z): beside a linear term a unit of the last layer may point either way.
        turned = (match.signs < 0).any() and not (n_named and number == len(layers) - 2)
        worst = max(worst, float(match.errors.max()), 2.0 * bool(turned))
        order, scales = match.order, np.linalg.norm(mine, axis=1)[match.order] / np.linalg.norm(true, axis=1)
    mine, true = layers[-1][0][:, order] * scales, truth.layers[-1][0][:, kept]
    if not n_named:  # else constants of units that are always active are a part of the output's
        mine, true = np.column_stack([mine, layers[-1][1]]), np.column_stack([true, truth.layers[-1][1]])
    return max(worst, float((np.linalg.norm(mine - true, axis=1) / np.linalg.norm(true, axis=1)).max()))


def _without_named(network: Any, n_named: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the layers without the units, of offset zero, that stand for the always active ones of the last layer."""
    *below, (W, b), (U, c) = network.layers
    named = np.flatnonzero(b == 0)[:n_named]
    return [*below, (np.delete(W, named, axis=0), np.delete(b, named)), (np.delete(U, named, axis=1), c)]
