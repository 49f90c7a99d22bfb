"""Several hidden layers of ReLU or leaky ReLU behind exact answers: right, certified, at how many queries per unknown?

python -m benchmarks.boxes.black_box_deep_relu [--rows "10-10-10-1" ...] [--runs 30] [--jobs 2] [--save]

Teachers: He weights, offsets .3 N(0, 1); nothing is given. Networks and method draw from separate streams; tuning used
seeds below 1,000. N counts all weights and offsets. A run is exact if it is certified, its function is within 1e-9 (of
the answers' spread) on 10,000 usual inputs and 10,000 a hundred times as large, and all rows of length one are within
1e-9 up to order; networks with units that show on one side only at these inputs count by their function. In print only
one hidden layer was checked (Carlini, Jagielski and Mironov 2020): 784-32-1 in 2^19.2 and 784-128-1 in 2^21.5 queries.
Trained networks are scikit-learn's on standardised columns, compared on the rows of the table.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import gradsift as gs
from benchmarks import campaign
from gradsift.network import match_networks

RANDOM = (
    "10-5-5-1", "10-10-10-1", "20-10-10-1", "40-20-10-1", "10-20-20-1", "40-20-10-10-1", "80-40-20-1", "784-32-16-1",
    "784-128-64-1", "20-16-16-16-16-1", "10-10-10-3", "20-10-10-3", "20-10-10-5",
)  # fmt: skip
LEAKY = {f"{size} leaky {slope}": (size, slope) for size in ("10-10-10-1", "20-10-10-1") for slope in (0.01, 0.1, 0.3)}
ROWS: dict[str, tuple[str, float]] = {size: (size, 0.0) for size in RANDOM} | LEAKY
TRAINED = {
    f"{table} {widths}": (table, widths)
    for table in ("diabetes", "friedman", "cancer") for widths in ("8,4", "16,8", "10,10", "8,6,4")
}  # fmt: skip
Layers = list[tuple[Any, Any]]


def teacher(size: str, seed: int) -> Layers:
    """Return random layers of these widths, inputs first."""
    sizes = [int(part) for part in size.split("-")]
    rng = np.random.default_rng([9401, *sizes, seed])
    return [(rng.standard_normal((k, d)) * np.sqrt(2 / d), 0.3 * rng.standard_normal(k)) for d, k in pairwise(sizes)]


def trained(table: str, widths: str, seed: int) -> tuple[Layers, Any]:
    """Return the layers of a network trained on a table, and the table's rows (n, d)."""
    from sklearn import datasets
    from sklearn.neural_network import MLPRegressor
    from sklearn.preprocessing import scale

    if table == "friedman":
        X, y = datasets.make_friedman1(500, 8, random_state=seed)
    else:
        data = {"diabetes": datasets.load_diabetes, "cancer": datasets.load_breast_cancer}[table]()
        X, y = data.data, data.target
    X, y = scale(X), scale(np.asarray(y, dtype=float))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = MLPRegressor(hidden_layer_sizes=[int(w) for w in widths.split(",")], max_iter=300, random_state=seed).fit(
            X, y
        )
    return [(W.T, b) for W, b in zip(net.coefs_, net.intercepts_)], X


def function_of(layers: Layers, slope: float) -> Callable[[Any], Any]:
    """Return the function that the layers are."""

    def value(X: Any) -> Any:
        h = np.atleast_2d(X)
        for W, b in layers[:-1]:
            z = h @ W.T + b
            h = np.maximum(z, slope * z)
        y = h @ layers[-1][0].T + layers[-1][1]
        return y[:, 0] if y.shape[1] == 1 else y

    return value


def with_unit_rows(layers: Layers) -> Layers:
    """Return the same function with hidden rows of length one."""
    found = list(layers)
    for i in range(len(found) - 1):
        W, b = found[i]
        sizes = np.linalg.norm(W, axis=1)
        W_above, b_above = found[i + 1]
        found[i], found[i + 1] = (W / sizes[:, None], b / sizes), (W_above * sizes, b_above)
    return found


def n_one_sided(layers: Layers, slope: float, X: Any) -> int:
    """Return how many hidden units are active at all of these inputs, or at none."""
    h, n = X, 0
    for W, b in layers[:-1]:
        z = h @ W.T + b
        n += int(((z > 0).all(axis=0) | (z <= 0).all(axis=0)).sum())
        h = np.maximum(z, slope * z)
    return n


def run(task: tuple[str, int]) -> dict[str, Any]:
    """Run one box."""
    row, seed = task
    slope = 0.0
    if row in TRAINED:
        layers, X = trained(*TRAINED[row], seed)
    else:
        size, slope = ROWS[row]
        layers = teacher(size, seed)
        X = np.random.default_rng([9402, seed]).standard_normal((10_000, int(size.split("-")[0])))
        X = np.concatenate([X, 100 * X])
    f, d = function_of(layers, slope), len(layers[0][0][0])
    n = sum(W.size + b.size for W, b in layers)
    oracle = gs.Oracle(f, d)
    started = time.process_time()
    record: dict[str, Any] = {"row": row, "seed": seed, "unknowns": n, "certified": False, "exact": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = gs.recover(oracle, random_state=np.random.default_rng([9403, seed]))
        except gs.errors.GradsiftError as refused:
            return record | {"queries": oracle.n_queries, "says": str(refused)[-300:], "seconds": _since(started)}
    y = f(X)
    error = float(np.abs(found.network.predict(X) - y).max() / y.std())
    one_sided = n_one_sided(layers, slope, X)
    same = tuple(found.network.widths) == tuple(len(b) for _, b in layers[:-1])
    of_rows = np.inf
    if same:
        truth = gs.Network(with_unit_rows(layers), found.network.activation)
        of_rows = match_networks(found.network, truth).max_error
    return record | {
        "certified": found.certified, "error": error, "row_error": of_rows, "one_sided": one_sided,
        "exact": bool(found.certified and error < 1e-9 and (of_rows < 1e-9 or one_sided > 0)),
        "wrong": bool(found.certified and error > 1e-9), "queries": found.n_queries, "per_unknown": found.n_queries / n,
        "widths": list(found.network.widths), "attempts": found.diagnostics.get("attempts"),
        "seconds": _since(started), "says": "" if found.certified else found.verdict[:300],
    }  # fmt: skip


def _since(started: float) -> float:
    return round(time.process_time() - started, 2)


def summary(row: str, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one row of the table."""
    read = [r for r in records if "per_unknown" in r]
    quantiles = np.quantile([r["per_unknown"] for r in read], [0.1, 0.5, 0.9]).round(1).tolist() if read else []
    return {
        "cell": row, "runs": len(records), "unknowns": records[0]["unknowns"],
        "certified": sum(r["certified"] for r in records), "exact": sum(r["exact"] for r in records),
        "wrong": sum(r.get("wrong", False) for r in records), "per_unknown": quantiles,
        "median_queries": float(np.median([r["queries"] for r in records])),
        "worst_row": max((r["row_error"] for r in read if r["row_error"] < 1e-6), default=None),
        "seconds": round(float(np.median([r["seconds"] for r in records])), 1),
        "longest": max(r["seconds"] for r in records),
        "refusals": [r["says"] for r in records if not r["certified"]], "commit": campaign.commits(records),
    }  # fmt: skip


def main() -> None:
    """Run the rows that are asked for, and print and save their figures."""
    parser = campaign.arguments(__doc__)
    parser.add_argument("--rows", nargs="*", default=[*ROWS, *TRAINED])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--first", type=int, default=1000)
    options = parser.parse_args()
    rows = []
    for row in options.rows:
        tasks = [(row, options.first + i) for i in range(options.runs)]
        rows.append(summary(row, list(campaign.run(tasks, run, options))))
        told = rows[-1]
        print(
            f"{row}: {told['exact']}/{told['runs']} exact, {told['certified']} certified, {told['wrong']} wrong, "
            f"queries per unknown (10%, 50%, 90%) {told['per_unknown']}, {told['seconds']} s"
        )
    if options.save:
        campaign.save_rows("black_box_deep_relu", rows)


if __name__ == "__main__":
    main()
