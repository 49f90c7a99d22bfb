"""One hidden layer behind hard labels: right, certified, and at how many queries, that is bits, per unknown?

python -m benchmarks.boxes.black_box_decisions [--rows "tanh 10,3" ...] [--runs 30] [--jobs 2] [--save]

Teachers: unit rows times slopes 1 to 3, offsets within 1, output weights .5 to 1.5 of random sign; the constant makes
about as many usual inputs of one class as of the other. Networks and method draw from separate streams; tuning used
seeds below 1,000. A run is right if all directions are within 1e-6 (of relu units: of those that show) and 100,000
usual inputs are decided alike, but for those within 1e-6 of the boundary; in single precision 1e-4. `limit` is
log2(1 / direction error): a query is one bit at most, so no method needs fewer per unknown. Trained classifiers are
scikit-learn's, told apart by rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import gradsift as gs
from benchmarks import campaign

SIZES = ((5, 3), (10, 3), (10, 5), (20, 5), (20, 10), (50, 10))
ROWS = {f"{name} {d},{k}": (name, d, k, 2) for name in ("tanh", "relu") for d, k in SIZES} | {
    "tanh 10,5 3 classes": ("tanh", 10, 5, 3), "tanh 20,10 5 classes": ("tanh", 20, 10, 5),
    "relu 10,5 3 classes": ("relu", 10, 5, 3), "relu 20,10 5 classes": ("relu", 20, 10, 5),
}  # fmt: skip
REAL = {
    f"{table} {name} {k}": (table, name, k)
    for table in ("cancer", "wine", "digits") for name in ("tanh", "relu") for k in (5, 8, 16)
}  # fmt: skip
SINGLE = {
    f"float32 {name} {d},{k} {m} classes": (name, d, k, m)
    for name, d, k in (("tanh", 10, 3), ("relu", 10, 5)) for m in (2, 3)
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {"tanh": np.tanh, "relu": lambda z: np.maximum(z, 0)}
_N_TESTED = 100_000


def teacher(name: str, d: int, k: int, n_classes: int, seed: int) -> tuple[Any, Callable[[Any], Any]]:
    """Return the rows (k, d) and the function that decides: -1 or +1, or the number of the class."""
    rng = np.random.default_rng([8301, list(_FUNCTIONS).index(name), d, k, n_classes, seed])
    A = rng.standard_normal((k, d))
    A *= rng.uniform(1, 3, (k, 1)) / np.linalg.norm(A, axis=1, keepdims=True)
    b, m, f = rng.uniform(-1, 1, k), 1 if n_classes == 2 else n_classes, _FUNCTIONS[name]
    U = rng.choice([-1.0, 1.0], (m, k)) * rng.uniform(0.5, 1.5, (m, k))
    X = np.random.default_rng([8302, seed]).standard_normal((4000, d))
    c = -np.quantile(f(X @ A.T + b) @ U.T, 0.45, axis=0) + 0.05 * (m == 1)

    def scores(rows: Any) -> Any:
        return f(np.atleast_2d(rows) @ A.T + b) @ U.T + c

    return A, (lambda X: np.where(scores(X)[:, 0] > 0, 1.0, -1.0)) if m == 1 else (lambda X: scores(X).argmax(axis=1))


def classifier(table: str, name: str, k: int, seed: int) -> Any:
    """Return a classifier trained on standardised columns."""
    from sklearn import datasets
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import scale

    data = {"cancer": datasets.load_breast_cancer, "wine": datasets.load_wine, "digits": datasets.load_digits}[table]()
    net = MLPClassifier((k,), activation=name, solver="lbfgs", alpha=0.01, max_iter=600, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return net.fit(scale(data.data), np.asarray(data.target_names)[data.target])


def in_single_precision(name: str, d: int, k: int, n_classes: int, seed: int) -> Any:
    """Return a torch module of random units, whose largest output is the class."""
    import torch

    rng = np.random.default_rng([8305, list(_FUNCTIONS).index(name), d, k, seed])
    A = rng.standard_normal((k, d))
    A *= rng.uniform(1, 3, (k, 1)) / np.linalg.norm(A, axis=1, keepdims=True)
    U = rng.choice([-1.0, 1.0], (n_classes, k)) * rng.uniform(0.5, 1.5, (n_classes, k))
    b, X = rng.uniform(-1, 1, k), np.random.default_rng([8302, seed]).standard_normal((4000, d))
    c = -np.quantile(_FUNCTIONS[name](X @ A.T + b) @ U.T, 0.45, axis=0)
    units = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}[name]
    net = torch.nn.Sequential(torch.nn.Linear(d, k), units(), torch.nn.Linear(k, n_classes))
    with torch.no_grad():
        for part, value in zip(net.parameters(), (A, b, U, c)):
            part[:] = torch.tensor(value, dtype=torch.float32)
    return net


def n_unknowns(name: str, d: int, k: int) -> int:
    """Return what the method's description divides by, for two classes."""
    return k * (d + 2) if name == "tanh" else k * (d + 1) + d


def direction_error(found: Any, A: Any) -> float:
    """Return the largest distance of a found unit row to the nearest true one, up to sign."""
    W, T = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (found.network.layers[0][0], A))
    cosines = W @ T.T
    nearest = np.abs(cosines).argmax(axis=1)
    signs = np.sign(cosines[np.arange(len(W)), nearest])
    return float(np.linalg.norm(W - signs[:, None] * T[nearest], axis=1).max())


def run(task: tuple[str, int]) -> dict[str, Any]:
    """Run one box."""
    row, seed = task
    if row in ROWS:
        name, d, k, _ = ROWS[row]
        A, decides = teacher(*ROWS[row], seed)
        oracle = gs.Oracle(decides, d)
    elif row in SINGLE:
        name, d, k, _ = SINGLE[row]
        module = in_single_precision(*SINGLE[row], seed)
        A, oracle = module[0].weight.detach().double().numpy(), gs.oracle.from_torch(module, output="predict")
    else:
        table, name, k = REAL[row]
        net = classifier(table, name, k, seed)
        A, oracle = net.coefs_[0].T, gs.oracle.from_sklearn(net, output="predict")
        d = oracle.n_features
    started = time.process_time()
    record: dict[str, Any] = {"row": row, "seed": seed, "certified": False, "right": False, "n_units": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = gs.recover(oracle, random_state=np.random.default_rng([8303, seed]))
        except gs.errors.GradsiftError as refused:
            return record | {"queries": oracle.n_queries, "says": str(refused)[:200], "seconds": _since(started)}
    X = np.random.default_rng([8304, seed]).standard_normal((_N_TESTED, d))
    share = found.network.agreement(oracle, X)
    error = direction_error(found, A)
    complete = name == "relu" or len(found.network.layers[0][1]) == k
    wanted = 1e-4 if row in SINGLE else 1e-6
    right = bool(share > 1 - 100 * wanted and error < wanted and complete)
    return record | {
        "certified": found.certified, "right": right, "error": error,
        "agreement": share, "queries": found.n_queries, "n_units": found.n_units,
        "per_unknown": found.n_queries / n_unknowns(name, d, k), "seconds": _since(started),
        "says": "" if found.certified else found.verdict[:200],
    }  # fmt: skip


def _since(started: float) -> float:
    return round(time.process_time() - started, 2)


def summary(row: str, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return one row of the table."""
    read = [r for r in records if "per_unknown" in r]
    good = sum(r["certified"] and r["right"] for r in records)
    quantiles = np.quantile([r["per_unknown"] for r in read], [0.1, 0.5, 0.9]).round(1).tolist() if read else []
    limit = float(np.log2(1 / np.median([max(r["error"], 1e-16) for r in read]))) if read else None
    return {
        "cell": row, "runs": len(records), "certified_and_right": good,
        "wrong": sum(r["certified"] and not r["right"] for r in records), "per_unknown": quantiles,
        "limit": None if limit is None else round(limit, 1),
        "seconds": round(float(np.median([r["seconds"] for r in records])), 1),
        "refusals": [r["says"] for r in records if not r["certified"]], "commit": campaign.commits(records),
    }  # fmt: skip


def main() -> None:
    """Run the rows that are asked for, and print and save their figures."""
    parser = campaign.arguments(__doc__)
    parser.add_argument("--rows", nargs="*", default=list(ROWS))
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--first", type=int, default=1000)
    options = parser.parse_args()
    rows = []
    for row in options.rows:
        tasks = [(row, options.first + i) for i in range(options.runs)]
        rows.append(summary(row, list(campaign.run(tasks, run, options))))
        told = rows[-1]
        print(
            f"{row}: {told['certified_and_right']}/{told['runs']} certified and right, {told['wrong']} wrong, queries "
            f"per unknown (10%, 50%, 90%) {told['per_unknown']}, at least {told['limit']}, {told['seconds']} s"
        )
    if options.save:
        campaign.save_rows("black_box_decisions", rows)


if __name__ == "__main__":
    main()
