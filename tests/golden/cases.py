"""Small runs of every kind whose questions, counts and models are known to the last bit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, softmax

import gradsift as gs

__all__ = ["CASES", "Witness", "deep", "kept", "numbers", "teacher", "values"]


class Witness:
    """A box that keeps a digest of all questions and answers, in order."""

    def __init__(self, function: Callable[[np.ndarray], np.ndarray]) -> None:
        self.function, self.digest, self.n_rows = function, hashlib.sha256(), 0

    def __call__(self, X: np.ndarray) -> np.ndarray:
        # Row by row: the last bit of a matrix product may depend on the rows beside it.
        answers = np.array([self.function(x) for x in X])
        self.digest.update(np.ascontiguousarray(X, dtype=np.float64).tobytes())
        self.digest.update(np.ascontiguousarray(answers, dtype=np.float64).tobytes())
        self.n_rows += len(X)
        return answers


def teacher(d: int, k: int, activation: str = "tanh", seed: int = 0, linear: float = 0.0) -> gs.SigmoidCombination:
    rng = np.random.default_rng([77, d, k, seed])
    units = rng.standard_normal((k, d))
    return gs.SigmoidCombination(
        units / np.linalg.norm(units, axis=1, keepdims=True), rng.choice([-1.0, 1.0], k) * rng.uniform(0.4, 1.0, k),
        rng.uniform(1.0, 3.0, k), 0.7 * rng.standard_normal(k), float(rng.standard_normal()), activation,
        linear * rng.standard_normal(d),
    )  # fmt: skip


def deep(d: int, widths: tuple[int, ...], seed: int = 0, **options: Any) -> gs.Network:
    above = len(widths) - 1
    norms, offsets = [(1.0, 3.0), *[1.5] * above], [1.0, *[0.5] * above]
    return gs.simulate.random_network(d, widths, row_norms=norms, offsets=offsets, rng=seed, **options)


def values(net: gs.SigmoidCombination | gs.Network, link: Callable[[Any], Any] = lambda z: z) -> Callable[[Any], Any]:
    return lambda x: link(net.predict(x[None])[0])


def single(net: gs.Network, activation: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Return a network that calculates in float32 throughout."""
    *hidden, (last, intercept) = [(W.astype(np.float32), b.astype(np.float32)) for W, b in net.layers]

    def answer(x: np.ndarray) -> np.ndarray:
        h = x.astype(np.float32)
        for W, b in hidden:
            h = activation(W @ h + b)
        return (last @ h + intercept)[0]

    return answer


def noisy(net: gs.SigmoidCombination, sd: Callable[[float], float]) -> Callable[[np.ndarray], float]:
    stream = np.random.default_rng(991)

    def answer(x: np.ndarray) -> float:
        r = float(net.predict(x[None])[0])
        return r + sd(r) * float(stream.standard_normal())

    return answer


def mixture() -> gs.SigmoidCombination:
    return gs.SigmoidCombination([[1.0, 0, 0, 0], [0, 0.6, 0.8, 0]], [0.55, 0.45], [2.0, 1.5], [0.2, -0.3], 0.0, "tanh")


def labels(net: gs.SigmoidCombination) -> Callable[[np.ndarray], float]:
    stream = np.random.default_rng(992)
    return lambda x: 1.0 if stream.random() < 0.5 * (1 + float(net.predict(x[None])[0])) else -1.0


def parallel(x: np.ndarray) -> float:
    return float(0.8 * np.tanh(2 * x[0] + 1) - 0.5 * np.tanh(x[1] - x[2]) + 0.7 * np.tanh(2 * x[0] - 2))


def outputs(x: np.ndarray) -> np.ndarray:
    net = teacher(6, 3, seed=5)
    hidden = np.tanh(net.units * net.slopes[:, None] @ x + net.offsets)
    return np.array([[1.0, -0.5, 0.3], [0.2, 0.9, -0.7]]) @ hidden + np.array([0.1, -0.4])


def steps(x: np.ndarray) -> float:
    return float(np.sin(np.round(2 * np.clip(x, -3, 3))).sum())


def numbers(*parts: Any) -> list[str]:
    """Return arrays as one list that JSON keeps to the last bit."""
    return [value.hex() for value in np.concatenate([np.ravel(part) for part in parts]).astype(float).tolist()]


def kept(found: Any, witness: Witness | None) -> dict[str, Any]:
    """Return what must stay the same of a recovery, or of the exception that refuses it."""
    asked = {"asked": None if witness is None else witness.digest.hexdigest()}
    if isinstance(found, Exception):
        says = {"error": type(found).__name__, "verdict": str(found), "n_queries": witness.n_rows}
        return {"certified": False, **says, **asked, "activation": None, "widths": [], "models": [], "layers": []}
    flat = [m for m in (found.model, *found.outputs) if isinstance(m, gs.SigmoidCombination)]
    net = found.network
    return {
        "certified": found.certified, "error": None, "verdict": found.verdict, "n_queries": found.n_queries, **asked,
        "activation": net.activation,
        "widths": list(net.widths),
        "models": [numbers(m.units * m.slopes[:, None], m.weights, m.offsets, m.intercept, m.linear) for m in flat],
        "layers": [] if found.deep is None else [numbers(*part) for part in (*net.layers, [net.linear])],
    }  # fmt: skip


def box(make: Callable[[], Any], d: int, *, bounds: Any = None, link: Any = None, **options: Any) -> Callable[[], Any]:
    """Return a case; `make` returns the function anew, so that its noise begins anew."""

    def case() -> dict[str, Any]:
        witness = Witness(make())
        oracle = gs.Oracle(witness, d, bounds=bounds, link=link)
        try:
            return kept(gs.recover(oracle, random_state=11, n_verify=0, **options), witness)
        except gs.errors.GradsiftError as refusal:
            return kept(refusal, witness)

    return case


def table(net: gs.SigmoidCombination, n: int, noise: Any, **options: Any) -> Callable[[], Any]:
    return lambda: kept(gs.recover(net.sample(n, noise=noise, rng=3), random_state=11, **options), None)


CASES: dict[str, Callable[[], Any]] = {
    "exact tanh": box(lambda: values(teacher(10, 3)), 10),
    "exact erf": box(lambda: values(teacher(6, 5, "erf")), 6, activation="erf"),
    "exact logistic, family found": box(lambda: values(teacher(12, 6, "logistic")), 12, activation="logistic"),
    "exact family not given": box(lambda: values(teacher(5, 2, "erf")), 5, activation="auto"),
    "exact softsign": box(lambda: values(teacher(2, 1, "softsign")), 2, activation="softsign"),
    "exact linear term": box(lambda: values(teacher(8, 3, linear=0.5)), 8),
    "exact parallel pair": box(lambda: parallel, 3),
    "several outputs": box(lambda: outputs, 6),
    "float32": box(lambda: lambda x: float(np.float32(teacher(6, 3).predict(x[None])[0])), 6),
    "five decimals": box(lambda: lambda x: float(np.round(teacher(6, 3).predict(x[None])[0], 5)), 6),
    "two decimals": box(lambda: lambda x: float(np.round(teacher(6, 2).predict(x[None])[0], 2)), 6, accuracy=0.02),
    "noise": box(lambda: noisy(teacher(6, 3), lambda r: 0.1), 6),
    "noise to a thousandth": box(lambda: noisy(teacher(5, 2), lambda r: 0.1), 5, accuracy=1e-3),
    "uneven noise": box(lambda: noisy(teacher(5, 2), lambda r: 0.03 + 0.1 * abs(r)), 5, accuracy=0.05),
    "labels": box(lambda: labels(mixture()), 4),
    "box, exact": box(lambda: values(teacher(8, 3)), 8, bounds=(-3, 3)),
    "box, exact, many units": box(lambda: values(teacher(2, 3)), 2, bounds=(-4, 4)),
    "box, noise": box(lambda: noisy(teacher(4, 2), lambda r: 0.05), 4, bounds=(-3, 3)),
    "table": table(teacher(5, 3), 1500, 0.2),
    "table with labels": table(mixture(), 3000, "labels"),
    "table, number given": table(teacher(4, 2, seed=2), 800, 0.3, n_units=2),
    "paper, oracle": box(lambda: values(teacher(4, 2)), 4, method="paper", n_units=2),
    "paper, rows": table(teacher(3, 2, seed=4), 4000, 0.1, method="paper", n_units=2),
    "exact relu": box(lambda: values(teacher(6, 4, "relu")), 6, activation="relu"),
    "exact relu, family not given": box(lambda: values(teacher(5, 3, "relu")), 5),
    "exact relu, linear term": box(lambda: values(teacher(5, 3, "relu", linear=0.5)), 5),
    "exact leaky relu": box(lambda: values(teacher(5, 3, "leaky_relu")), 5, activation="leaky_relu"),
    "exact softplus": box(lambda: values(teacher(5, 3, "softplus")), 5, activation="softplus"),
    "exact gelu, family not given": box(lambda: values(teacher(5, 3, "gelu")), 5, activation="auto"),
    "exact erf, family not given": box(lambda: values(teacher(5, 3, "erf")), 5),
    "exact arctan": box(lambda: values(teacher(5, 3, "arctan")), 5, activation="arctan"),
    "exact three outputs": box(lambda: values(deep(5, (3,), n_outputs=3)), 5),
    "exact softmax link": box(lambda: values(deep(5, (3,), n_outputs=3), softmax), 5, link="softmax"),
    "logistic link, relu": box(lambda: values(teacher(5, 3, "relu"), expit), 5, link="logistic"),
    "relu, float32": box(
        lambda: single(gs.Network.of(teacher(5, 3, "relu")), lambda z: np.maximum(z, 0)), 5, activation="relu"
    ),
    "relu, noise": box(lambda: noisy(teacher(5, 3, "relu"), lambda r: 0.01), 5, activation="relu"),
    "box, relu": box(lambda: values(teacher(5, 3, "relu")), 5, bounds=(-3, 3)),
    "box, softplus": box(lambda: values(teacher(5, 3, "softplus")), 5, bounds=(-3, 3)),
    "box, erf": box(lambda: values(teacher(5, 3, "erf")), 5, bounds=(-3, 3), activation="erf"),
    "exact two layers": box(lambda: values(deep(5, (4, 3))), 5),
    "exact two layers, number given": box(lambda: values(deep(5, (4, 3))), 5, layers=2),
    "exact two layers, two outputs": box(lambda: values(deep(5, (4, 3), n_outputs=2)), 5),
    "exact three layers": box(lambda: values(deep(4, (4, 3, 2))), 4),
    "two layers, float32": box(lambda: single(deep(5, (4, 3), seed=1), np.tanh), 5, activation="tanh"),
    "refused, steps": box(lambda: steps, 4),
    "refused, square": box(lambda: lambda x: float(x @ x), 4),
    "refused, tanh called relu": box(lambda: values(teacher(5, 3)), 5, activation="relu"),
    "refused, relu called softplus": box(lambda: values(teacher(5, 3, "relu")), 5, activation="softplus"),
    "two layers of relu": box(lambda: values(deep(5, (4, 3), activation="relu")), 5),
    "refused, two layers called one": box(lambda: values(deep(5, (4, 3))), 5, layers=1),
}
