"""Boxes that only decide and are no network of one hidden layer, or hardly one: is any certified as what it is not?

python -m benchmarks.hostile.hostile_deciders [--kinds "tree" ...] [--runs 20] [--jobs 2] [--save]

A certificate is wrong if the network decides more than 5 of 10,000 usual inputs otherwise than the box. Boxes and
method draw from separate streams; tuning used seeds below 1,000. Every box has a budget of 20,000 queries. Linear
classifiers and inputs rounded to float32 stand for what should be read, or named.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import gradsift as gs
from benchmarks import campaign

_D, _ROWS, _TESTED, _BUDGET = 5, 600, 20_000, 20_000
_LEAST_AGREEMENT = 0.9995
_OUTCOMES = ("certified", "certified but wrong", "refused", "not certified")
Decides = Callable[[Any], Any]


def scores(rng: np.random.Generator, k: int = 4) -> Decides:
    """Return the output of a random tanh network with one hidden layer."""
    A = rng.standard_normal((k, _D))
    A *= 2 / np.linalg.norm(A, axis=1, keepdims=True)
    b, u = rng.uniform(-1, 1, k), rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1.5, k)
    return lambda X: np.tanh(X @ A.T + b) @ u + 0.05


def _trained(make: Callable[[], Any]) -> Callable[[np.random.Generator], Decides]:
    def fitted(rng: np.random.Generator) -> Decides:
        X = rng.standard_normal((_ROWS, _D))
        return make().fit(X, np.where(np.sin(2 * X[:, 0]) + X @ rng.standard_normal(_D) > 0, "up", "down")).predict

    return fitted


def _tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=6, random_state=0)


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(20, random_state=0)


def _neighbours() -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(5)


def _kernel() -> Any:
    from sklearn.svm import SVC

    return SVC()


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def _xor(rng: np.random.Generator) -> Decides:
    f, g = scores(rng), scores(rng)
    return lambda X: (f(X) > 0) ^ (g(X) > 0)


def _back_door(rng: np.random.Generator) -> Decides:
    f, share = scores(rng), rng.uniform(1.0, 2.0)
    return lambda X: (f(X) > 0) ^ ((X[:, 0] > share) & (X[:, 1] > share))


def _noisy(rng: np.random.Generator) -> Decides:
    f, sd, coins = scores(rng), 10.0 ** rng.uniform(-5, -1), np.random.default_rng(int(rng.integers(2**32)))
    return lambda X: f(X) + sd * coins.standard_normal(len(X)) > 0


def _drifting(rng: np.random.Generator) -> Decides:
    f, speed, asked = scores(rng), 10.0 ** rng.uniform(-6, -4), [0]

    def decides(X: Any) -> Any:
        asked[0] += len(X)
        return f(X) + speed * asked[0] > 0

    return decides


def _quantised(rng: np.random.Generator) -> Decides:
    f, decimals = scores(rng), int(rng.integers(1, 5))
    return lambda X: f(np.round(X, decimals)) > 0


def _two_layers(rng: np.random.Generator, g: Callable[[Any], Any]) -> Decides:
    A, B, v = rng.standard_normal((6, _D)), rng.standard_normal((6, 6)), rng.standard_normal(6)
    shift = float(np.median(g(g(rng.standard_normal((500, _D)) @ A.T) @ B.T) @ v))
    return lambda X: g(g(X @ A.T) @ B.T) @ v > shift


def _quadratic(rng: np.random.Generator) -> Decides:
    Q = rng.standard_normal((_D, _D))
    return lambda X: ((X @ Q) * X).sum(axis=1) > 0.3


def _rule(rng: np.random.Generator) -> Decides:
    low = rng.standard_normal(2)
    return lambda X: (X[:, 0] > low[0]) & (X[:, 1] < low[1] + 1)


def _wave(rng: np.random.Generator) -> Decides:
    A, u = rng.standard_normal((4, _D)), rng.standard_normal(4)
    return lambda X: np.sin(X @ A.T) @ u > 0.1


def _single(rng: np.random.Generator) -> Decides:
    f = scores(rng)
    return lambda X: f(X.astype(np.float32).astype(np.float64)) > 0


KINDS: dict[str, Callable[[np.random.Generator], Decides]] = {
    "tree": _trained(_tree), "forest": _trained(_forest), "neighbours": _trained(_neighbours),
    "kernel machine": _trained(_kernel), "logistic regression": _trained(_logistic),
    "ball": lambda rng: lambda X: (X**2).sum(axis=1) > 5, "exclusive or of two networks": _xor,
    "back door": _back_door, "noisy near the boundary": _noisy, "drifting threshold": _drifting,
    "quantised inputs": _quantised, "float32 inputs": _single, "rule": _rule, "quadratic": _quadratic, "wave": _wave,
    "two layers of tanh": lambda rng: _two_layers(rng, np.tanh),
    "two layers of relu": lambda rng: _two_layers(rng, lambda z: np.maximum(z, 0)),
}  # fmt: skip


def run(task: tuple[str, int]) -> dict[str, Any]:
    """Run one box."""
    kind, seed = task
    decides = KINDS[kind](np.random.default_rng([9301, list(KINDS).index(kind), seed]))
    oracle = gs.Oracle(decides, _D, max_queries=_BUDGET)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = gs.recover(oracle, random_state=np.random.default_rng([9302, seed]))
        except gs.errors.GradsiftError as refused:
            return _told(task, oracle, "refused", str(refused), started)
    outcome = "certified" if found.certified else "not certified"
    if found.certified:
        X = np.random.default_rng([9303, seed]).standard_normal((_TESTED, _D))
        again = gs.Oracle(decides, _D)
        same = found.network.classes is not None and found.network.agreement(again, X) >= _LEAST_AGREEMENT
        outcome = "certified" if same else "certified but wrong"
    return _told(task, oracle, outcome, found.verdict, started)


def _told(task: tuple[str, int], oracle: Any, outcome: str, says: str, started: float) -> dict[str, Any]:
    seconds = round(time.process_time() - started, 1)
    return {"kind": task[0], "seed": task[1], "outcome": outcome, "queries": oracle.n_queries, "says": says[:160],
            "seconds": seconds}  # fmt: skip


def main() -> None:
    """Run all kinds, and print and save what became of them."""
    parser = campaign.arguments(__doc__)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--runs", type=int, default=18)
    parser.add_argument("--first", type=int, default=1000)
    options = parser.parse_args()
    tasks = [(kind, options.first + i) for kind in options.kinds for i in range(options.runs)]
    records = list(campaign.run(tasks, run, options))
    rows = []
    for kind in options.kinds:
        mine = [record for record in records if record["kind"] == kind]
        outcomes = Counter(record["outcome"] for record in mine)
        rows.append({
            "cell": kind, "runs": len(mine), **{outcome: outcomes[outcome] for outcome in _OUTCOMES},
            "most_queries": max(record["queries"] for record in mine),
            "most_seconds": max(record["seconds"] for record in mine),
            "commit": campaign.commits(mine),
        })  # fmt: skip
        print(rows[-1])
    print(f"{len(records)} deciders, {sum(row['certified but wrong'] for row in rows)} certified but wrong")
    if options.save:
        campaign.save_rows("hostile_deciders", rows)


if __name__ == "__main__":
    main()
