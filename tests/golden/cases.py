"""Small runs of every kind whose questions, counts and models are known to the last bit."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import gradsift as gs

__all__ = ["CASES", "run"]


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


def values(net: gs.SigmoidCombination) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: net.predict(x[None])[0]


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


def box(make: Callable[[], Any], d: int, *, bounds: Any = None, **options: Any) -> Callable[[], Any]:
    """Return a case; `make` returns the function anew, so that its noise begins anew."""

    def case() -> tuple[gs.recover, Witness]:
        witness = Witness(make())
        return gs.recover(gs.Oracle(witness, d, bounds=bounds), random_state=11, n_verify=0, **options), witness

    return case


def table(net: gs.SigmoidCombination, n: int, noise: Any, **options: Any) -> Callable[[], Any]:
    def case() -> tuple[gs.recover, None]:
        X, y = net.sample(n, noise=noise, rng=3)
        return gs.recover((X, y), random_state=11, **options), None

    return case


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
}


def run(name: str) -> dict[str, Any]:
    """Run a case anew and return what must stay the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, witness = CASES[name]()
    models = [found.model, *found.outputs]
    return {
        "certified": found.certified,
        "n_queries": found.n_queries,
        "asked": None if witness is None else witness.digest.hexdigest(),
        "models": [
            [value.hex() for value in np.concatenate([
                (m.units * m.slopes[:, None]).ravel(), m.weights, m.offsets, np.atleast_1d(m.intercept), m.linear
            ]).tolist()]
            for m in models
        ],
    }  # fmt: skip
