"""Small families of boxes and tables with fixed seeds, wider than what the methods were made for: rows of sensitivity.

Truths are written without gradsift, whose sources change from run to run; gradsift is loaded by the case that runs.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erf, expit, softmax
from sklearn.neural_network import MLPRegressor

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "tanh": np.tanh,
    "erf": erf,
    "logistic": expit,
    "arctan": np.arctan,
    "relu": lambda z: np.maximum(z, 0),
    "leaky_relu": lambda z: np.where(z > 0, z, 0.01 * z),
    "softplus": lambda z: np.logaddexp(0, z),
    "silu": lambda z: z * expit(z),
    "gelu": lambda z: z * 0.5 * (1 + erf(z / np.sqrt(2))),
    "elu": lambda z: np.where(z > 0, z, np.expm1(np.minimum(z, 0))),
}


class Result(NamedTuple):
    """What became of one box or table."""

    certified: bool = False
    n_units: int = 0
    right: bool = False
    refusal: str = ""  # class of the exception
    cost: float = 0.0  # queries of a box, function calls of a table
    objective: float = 0.0  # of a table: what is maximised


Case = Callable[[], Result]
Rows = dict[str, tuple[Case, ...]]


class Net(NamedTuple):
    """A network; layers are (W, b) with W (out, in), `linear` is added to its output."""

    layers: tuple[tuple[Any, Any], ...]
    activation: str = "tanh"
    linear: Any = 0.0

    @property
    def d(self) -> int:
        return int(self.layers[0][0].shape[1])

    def __call__(self, X: Any) -> Any:
        h = X
        for W, b in self.layers[:-1]:
            h = ACTIVATIONS[self.activation](h @ W.T.astype(h.dtype) + b.astype(h.dtype))
        W, b = self.layers[-1]
        values = (
            h @ W.T.astype(h.dtype) + b.astype(h.dtype) + np.reshape(X @ np.broadcast_to(self.linear, self.d), (-1, 1))
        )
        return values[:, 0] if values.shape[1] == 1 else values


def net(
    seed: int, d: int, *widths: int, activation: str = "tanh", n_outputs: int = 1, slopes: tuple[float, float] = (1, 3),
    weights: tuple[float, float] = (0.3, 1), offsets: float = 1.0, angle: float = 0.0, linear: float = 0.0,
) -> Net:  # fmt: skip
    """Draw a network; slopes and weights are uniform in the logarithm, `angle` (degrees) lies between two units."""
    rng = np.random.default_rng([4242, seed, d, *widths])
    layers, n_in = [], d
    for number, width in enumerate(widths):
        W = rng.standard_normal((width, n_in))
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        if angle and not number:
            aside = W[1] - (W[1] @ W[0]) * W[0]
            W[1] = np.cos(np.radians(angle)) * W[0] + np.sin(np.radians(angle)) * aside / np.linalg.norm(aside)
        low, high = slopes if not number else (1.5, 1.5)
        W *= np.exp(rng.uniform(np.log(low), np.log(high), width))[:, None]
        layers.append((W, (offsets if not number else 0.5) * rng.standard_normal(width)))
        n_in = width
    low, high = weights
    u = rng.choice([-1.0, 1.0], (n_outputs, n_in)) * np.exp(rng.uniform(np.log(low), np.log(high), (n_outputs, n_in)))
    return Net((*layers, (u, rng.standard_normal(n_outputs))), activation, linear * rng.standard_normal(d))


@cache
def trained(activation: str, *widths: int, seed: int = 0) -> Net:
    """Return a scikit-learn network trained on rows of a smooth function."""
    rng = np.random.default_rng([4243, seed])
    X = rng.standard_normal((300, 5))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(300)
    fit = MLPRegressor(
        hidden_layer_sizes=widths, activation=activation, solver="lbfgs", max_iter=100, random_state=seed
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # any network will do
        fit.fit(X, y)
    return Net(tuple((W.T, b) for W, b in zip(fit.coefs_, fit.intercepts_)), activation)


Answer = Callable[[Any], Any]


def exact(truth: Net) -> Answer:
    """Return the network as it is."""
    return truth


def single(truth: Net) -> Answer:
    """Return the network calculating in float32 throughout."""
    layers = tuple((W.astype(np.float32), b.astype(np.float32)) for W, b in truth.layers)
    low = Net(layers, truth.activation, np.float32(truth.linear))
    return lambda X: low(np.asarray(X, dtype=np.float32))


def decimals(digits: int) -> Callable[[Net], Answer]:
    """Return what rounds a network's answers to so many decimals."""
    return lambda truth: lambda X: np.round(truth(X), digits)


def behind(link: Answer) -> Callable[[Net], Answer]:
    """Return what applies a link to a network's outputs."""
    return lambda truth: lambda X: link(truth(X))


def noise(sd: float, uneven: float = 0.0) -> Callable[[Net], Answer]:
    """Return what adds noise, whose standard deviation grows with the size of the answer by `uneven`."""

    def of(truth: Net) -> Answer:
        stream = np.random.default_rng(4245)

        def answer(X: Any) -> Any:
            r = truth(X)
            return r + (sd + uneven * np.abs(r)) * stream.standard_normal(r.shape)

        return answer

    return of


def labels(truth: Net) -> Answer:
    """Return labels whose mean is the network."""
    stream = np.random.default_rng(4246)
    return lambda X: np.where(stream.random(len(X)) < 0.5 * (1 + np.clip(truth(X), -1, 1)), 1.0, -1.0)


def box(truth: Net, answers: Callable[[Net], Answer] = exact, tolerance: float = 1e-6, **options: Any) -> Case:
    """Return a case: recover the network from answers to queries.

    Right is a function within `tolerance` of the truth, over its standard deviation, on fixed inputs.
    """

    def case() -> Result:
        import gradsift as gs

        asked = {key: options[key] for key in ("bounds", "link") if key in options}
        rest = {key: value for key, value in options.items() if key not in asked}
        oracle = gs.Oracle(answers(truth), truth.d, **asked)
        try:
            found = gs.recover(oracle, random_state=7, **rest)
        except gs.errors.GradsiftError as refused:
            return Result(refusal=type(refused).__name__, cost=oracle.n_queries)
        X = np.random.default_rng(5).uniform(-2, 2, (300, truth.d))
        right = close(found.network.predict(X), truth(X), tolerance, shared=options.get("link") == "softmax")
        return Result(found.certified, found.n_units, right, "", oracle.n_queries)

    return case


def close(found: Any, truth: Any, tolerance: float, shared: bool = False) -> bool:
    """Return whether functions agree on the rows; with `shared`, up to what all outputs have in common."""
    found, truth = (np.reshape(values, (len(values), -1)) for values in (found, truth))
    if shared:
        found, truth = (values - values.mean(axis=1, keepdims=True) for values in (found, truth))
    return bool(found.shape == truth.shape and np.abs(found - truth).max() <= tolerance * truth.std())


def plain(X: Any) -> Any:
    return X


def table(truth: Net, n: int, sd: float | str, columns: Answer = plain, tolerance: float = 0.3, **options: Any) -> Case:
    """Return a case: fit a table of n rows; `sd` is that of the noise, "labels" or "logit"; `columns` scales inputs."""

    def case() -> Result:
        import gradsift as gs

        rng = np.random.default_rng([4244, n])
        X, fresh = rng.standard_normal((n, truth.d)), rng.standard_normal((300, truth.d))
        r, chance = truth(X), rng.random(n)
        if isinstance(sd, str):
            y = np.where(chance < (0.5 * (1 + r) if sd == "labels" else expit(r)), 1.0, -1.0)
        else:
            y = r + sd * rng.standard_normal(n)
        with counted_calls() as calls:
            try:
                found = gs.recover((columns(X), y), random_state=7, **options)
            except gs.errors.GradsiftError as refused:
                return Result(refusal=type(refused).__name__, cost=calls[0])
        values = found.model.predict(columns(X))
        objective = float(np.sum((values - y) ** 2)) if found.fit is None else found.fit.log_likelihood
        right = close(found.model.predict(columns(fresh)), truth(fresh), tolerance)
        return Result(found.certified, found.n_units, right, "", calls[0], objective)

    return case


@contextmanager
def counted_calls() -> Iterator[list[int]]:
    """Count function calls: work that no clock and no other process changes."""
    calls = [0]

    def count(frame: Any, event: str, argument: Any) -> None:
        calls[0] += event == "call"

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def mixture(seed: int, d: int, k: int) -> Net:
    """Return a sum of units whose weights add up to one."""
    hidden, (u, _) = net(seed, d, k, offsets=0.3).layers
    return Net((hidden, (np.abs(u) / np.abs(u).sum(), np.zeros(1))))


def bump(seed: int, d: int, k: int, gap: float, activation: str = "tanh") -> Net:
    """Return a network whose first units cancel far out: two sigmoids, or the three kinks of a hat, `gap` apart."""
    (W, b), (u, c) = net(seed, d, k, activation=activation).layers
    heights = (1.0, -1.0) if activation in ("tanh", "erf") else (1.0, -2.0, 1.0)
    for i, height in enumerate(heights):
        W[i], b[i], u[0, i] = W[0], b[0] + i * gap, u[0, 0] if not i else height * u[0, 0]
    return Net(((W, b), (u, c)), activation)


def softmax_rows(r: Any) -> Any:
    return softmax(r, axis=1)


def steps(_: Net) -> Answer:
    return lambda X: np.sin(np.round(2 * np.clip(X, -3, 3))).sum(axis=1)


def square(_: Net) -> Answer:
    return lambda X: (X**2).sum(axis=1)


def uneven_columns(X: Any) -> Any:
    return X * [1, 0.01, 100, 1] + [0, 0, 1e4, 3]


relu = partial(net, activation="relu")
softplus = partial(net, activation="softplus")

SIGMOIDS: Rows = {
    "tanh": (*(box(net(i, d, k)) for i, (d, k) in enumerate([(2, 1), (8, 4), (3, 9), (20, 6)])),
             box(net(4, 6, 3, linear=0.5)), box(net(5, 6, 4, linear=5.0))),
    "nearly parallel": (*(box(net(i, 5, 4, angle=a)) for i, a in enumerate([0.01, 0.2, 2, 10, 30, 170, 179])),
                        box(net(18, 6, 3, angle=0.03, slopes=(2, 2)))),
    "ill scales": (box(net(10, 6, 4, slopes=(0.02, 50))), box(net(11, 5, 4, weights=(1e-4, 10))),
                   box(net(12, 5, 4, offsets=6.0)), box(net(13, 5, 4, weights=(1e-7, 1))),
                   box(net(14, 4, 3, slopes=(1e-3, 1e-2))), box(net(15, 4, 4, slopes=(1, 8), offsets=12.0))),
    "families": (box(net(20, 6, 3, activation="erf")), box(net(21, 6, 3, activation="logistic")),
                 box(net(22, 4, 5, activation="erf", slopes=(0.1, 10)))),
    "trained sigmoids": (box(trained("tanh", 6)), box(trained("logistic", 5, seed=1)),
                         box(trained("tanh", 10, seed=2))),
    "rounded": (*(box(net(30 + i, d, k), single, 1e-3) for i, (d, k) in enumerate([(6, 3), (10, 6), (3, 4)])),
                box(net(33, 6, 3), decimals(5), 1e-2), box(net(34, 5, 3, angle=3), single, 1e-3),
                box(net(35, 5, 3, weights=(1e-2, 1)), single, 1e-2), box(net(36, 5, 3, linear=0.5), single, 1e-2)),
    "outputs and links": (box(net(40, 5, 3, n_outputs=3)), box(net(41, 5, 3), behind(expit), link="logistic"),
                          box(net(42, 5, 3, n_outputs=3), behind(softmax_rows), link="softmax")),
    "cancelling": (box(bump(43, 5, 4, 0.5)), box(bump(44, 4, 3, 3.0)), box(net(11, 5, 4, angle=180))),
    "tails": (box(net(46, 3, 2, activation="arctan"), activation="arctan"),),
}  # fmt: skip
REFUSED: Rows = {
    "not such networks": (
        box(net(50, 4, 3), steps),
        box(net(50, 4, 3), square),
        box(net(51, 4, 3, activation="gelu"), activation="tanh"),
        box(relu(52, 4, 3), activation="softplus"),
        box(net(53, 5, 4, 3), layers=1),
        box(relu(54, 5, 4, 3)),
    ),
}
KINKS: Rows = {
    "relu": (*(box(relu(i, d, k)) for i, (d, k) in enumerate([(2, 1), (6, 4), (3, 8), (20, 5), (8, 12)])),
             box(relu(5, 12, 5, linear=0.5)), box(net(6, 6, 3, activation="leaky_relu"), activation="leaky_relu")),
    "kinks, ill scales": (box(relu(10, 5, 4, slopes=(0.02, 50))), box(relu(11, 5, 4, offsets=6.0)),
                          box(relu(12, 5, 4, weights=(1e-4, 10))), box(relu(13, 4, 3, offsets=0.0)),
                          box(softplus(14, 5, 3, slopes=(0.1, 10)), activation="softplus"),
                          box(softplus(15, 5, 3, weights=(1e-3, 1), offsets=3.0), activation="softplus")),
    "kinks, nearly parallel": (*(box(relu(i, 5, 4, angle=a)) for i, a in enumerate([0.01, 0.2, 2, 10, 170, 179.5])),
                               *(box(softplus(i, 4, 3, angle=a), activation="softplus")
                                 for i, a in enumerate([1, 8, 178])),
                               box(bump(16, 5, 4, 0.5, "relu")), box(bump(17, 4, 4, 1.0, "softplus"))),
    "trained relu": tuple(box(trained("relu", k, seed=i)) for i, k in enumerate([6, 8])),
    "smooth": (*(box(net(20 + i, 5, 3, activation=f), activation=f) for i, f in enumerate(["silu", "gelu", "elu"])),
               box(softplus(23, 5, 3))),
    "kinks, rounded": (*(box(relu(30 + i, 5, k), single, 1e-3, activation="relu") for i, k in enumerate([3, 6])),
                       box(relu(32, 5, 3), decimals(4), 1e-2, activation="relu"),
                       box(softplus(33, 4, 2), single, 1e-3, activation="softplus"),
                       box(relu(34, 4, 3, angle=5), single, 1e-3, activation="relu")),
    "kinks inside bounds": (box(relu(41, 4, 3, angle=5), bounds=(-2, 2)),
                            box(relu(42, 4, 3), single, 1e-3, bounds=(-2, 2), activation="relu"),
                            box(relu(43, 5, 3), bounds=(-1, 3), activation="relu")),
    "kinks behind a link": (box(relu(53, 5, 3), behind(expit), link="logistic", activation="relu"),),
    "kinks, noise": (box(relu(44, 4, 3), noise(0.01), 0.1, activation="relu"),
                     box(relu(45, 3, 2), noise(0.003), 0.1, bounds=(-2, 2), activation="relu")),
}  # fmt: skip
LAYERS: Rows = {
    "two layers": (box(net(60, 5, 4, 3), layers=2), box(net(62, 5, 3, 3, n_outputs=2), layers=2),
                   box(net(67, 8, 3, 2), layers=2)),
    "three layers": (box(net(66, 4, 4, 3, 2), layers=3),),
    "layers, ill scales": (box(net(63, 5, 4, 3, slopes=(0.2, 6)), layers=2), box(net(64, 4, 4, 2, angle=5), layers=2)),
    "layers, rounded": (box(net(68, 5, 3, 2), single, 1e-3, activation="tanh", layers=2),),
    "trained layers": (box(trained("tanh", 5, 3), layers=2),),
}  # fmt: skip
BOUNDED: Rows = {
    "inside bounds": (
        box(net(70, 6, 3), bounds=(-3, 3)), box(net(71, 2, 3), bounds=(-4, 4)), box(net(73, 5, 3), bounds=(-0.3, 0.3)),
        box(net(72, 5, 3, angle=6), bounds=(-3, 3)), box(net(74, 10, 8), bounds=(-2, 2)),
    ),
    "ill scales inside bounds": (
        box(net(75, 5, 3, slopes=(0.2, 5)), bounds=(-2, 2)), box(net(76, 4, 3, weights=(0.01, 1)), bounds=(-2, 2)),
    ),
    "smooth inside bounds": (box(softplus(78, 4, 3), bounds=(-3, 3)),
                             box(net(80, 4, 2, activation="erf"), bounds=(-3, 3))),
    "trained inside bounds": (box(trained("tanh", 4), bounds=(-3, 3)),),
    "far offsets inside bounds": (box(net(77, 4, 3, offsets=3.0), bounds=(-1, 4)),),
}  # fmt: skip
NOISE: Rows = {
    "noise": (box(net(80, 5, 2), noise(0.1), 0.2), box(net(81, 5, 3), noise(0.01), 0.05)),
    "labels": (box(mixture(86, 4, 2), labels, 0.3),),
    "noise, nearly parallel": (box(net(83, 4, 3, angle=15), noise(0.03), 0.2),),
    "noise inside bounds": (box(net(88, 4, 2), noise(0.05), 0.2, bounds=(-3, 3)),),
    "two decimals": (box(net(87, 5, 2), decimals(2), 0.1, accuracy=0.02),),
    "noise, another family": (box(net(84, 4, 2, activation="erf"), noise(0.03), 0.2, activation="erf"),),
    "noise beside a line": (box(net(85, 4, 2, linear=0.4), noise(0.03), 0.2),),
    "uneven noise": (box(net(82, 4, 2), noise(0.03, 0.1), 0.2, accuracy=0.05),),
}
TABLES: Rows = {
    "few rows": (table(net(95, 6, 2), 60, 0.3), table(net(96, 8, 2), 40, 0.1)),
    "values": (table(net(90, 5, 3), 600, 0.2), table(net(91, 4, 2, weights=(0.1, 2)), 500, 0.1)),
    "table labels": (
        table(mixture(93, 4, 2), 1500, "labels"), table(net(94, 4, 2, weights=(2, 4)), 1000, "logit", link="logit"),
    ),
    "many units": (table(net(97, 4, 6), 1500, 0.02, n_units=6),),
    "ridge": (table(net(98, 6, 3), 150, 0.5, alpha=1.0, n_units=3),),
    "uneven columns": (table(net(100, 4, 2), 500, 0.1, uneven_columns),),
    "nearly parallel in a table": (table(net(92, 4, 2, angle=15), 800, 0.1),),
    "table relu": (table(relu(101, 4, 2), 500, 0.1, activation="relu"),),
    "ridge chosen": (table(net(99, 4, 1), 60, 0.3, alpha="auto", max_units=2),),
}  # fmt: skip
PAPER: Rows = {
    "paper, queries": (box(net(110, 4, 2, offsets=0.0), tolerance=0.3, method="paper", n_units=2),),
    "paper, rows": (
        table(net(111, 3, 2, offsets=0.0), 3000, 0.1, method="paper", n_units=2),
        table(net(112, 6, 2, offsets=0.0), 3000, 0.1, method="paper", n_units=2),
    ),
}  # fmt: skip


def first(*all_rows: Rows) -> Rows:
    """Return the first cases of rows, for files that serve several methods."""
    return {name: cases[:2] for rows in all_rows for name, cases in rows.items()}


SERVED = first(SIGMOIDS, REFUSED, KINKS, BOUNDED, LAYERS, NOISE)
# Rows that concern a folder or file of src/gradsift; the longest beginning counts.
ROWS: dict[str, Rows] = {
    "reading/plateaus": SIGMOIDS | REFUSED,
    **{
        f"reading/{file}": SIGMOIDS | REFUSED | {"two layers": LAYERS["two layers"]}
        for file in ("arc_scan", "circle", "in_plane", "odd_form", "plane_frame", "probe", "rays", "scan_settings")
    },
    "reading/kinks": KINKS | REFUSED,
    "reading/layers": LAYERS | REFUSED,
    "reading/box": BOUNDED,
    "reading/noise": NOISE,
    "reading": SERVED,
    "fit": first(TABLES, LAYERS, KINKS, BOUNDED, NOISE),
    "table": TABLES,
    "sources": TABLES,
    "paper/method": PAPER,
    "": SERVED | first(TABLES) | PAPER,
}
