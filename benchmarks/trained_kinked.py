"""Trained networks of ReLU, SiLU and GELU units: scikit-learn's in double, torch's in single precision.

python benchmarks/trained_kinked.py [--seeds 5] [--jobs 1] [--save]

Networks are trained on diabetes, breast_cancer and digits (columns of unit variance): MLPRegressor; MLPClassifier by
its logits (all outputs) and by its probabilities with ``link=``; a torch module as float32 numbers. The number of units
is not given; the activation is, for single precision only. Wrong: a direction of an active unit that misses the network
by more than 1e-6 (1e-3 in single precision), or values at the training rows that miss by more than as much of their
spread. A refusal names its cause: probabilities that round to zero or one.
"""

from __future__ import annotations

import argparse
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import scale

import gradsift as gs
from record import save

TABLES = {"diabetes": load_diabetes, "breast_cancer": load_breast_cancer, "digits": load_digits}
KINDS = (
    "scikit-learn regression", "scikit-learn logits", "scikit-learn probabilities", "torch float32 relu",
    "torch float32 silu", "torch float32 gelu",
)  # fmt: skip
UNITS = (8, 16)
CAUSE = "strictly between 0 and 1"


class Task(NamedTuple):
    """One network."""

    kind: str
    table: str
    units: int
    seed: int


class Outcome(NamedTuple):
    """What became of it."""

    kind: str
    certified: bool
    wrong: bool
    refused: str
    ratio: float
    seconds: float


class Trained(NamedTuple):
    """An oracle, the options of the call, the rows of the first layer (k, d), and what the network says at rows."""

    oracle: gs.Oracle
    options: dict[str, Any]
    rows: np.ndarray
    values: Any
    tolerance: float


def _module(X: np.ndarray, y: np.ndarray, task: Task) -> Any:
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(task.seed)
    layer = {"relu": torch.nn.ReLU, "silu": torch.nn.SiLU, "gelu": torch.nn.GELU}[task.kind.split()[-1]]
    module = torch.nn.Sequential(torch.nn.Linear(X.shape[1], task.units), layer(), torch.nn.Linear(task.units, 1))
    steps = torch.optim.Adam(module.parameters(), 1e-2)
    rows, target = torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(y, dtype=torch.float32)[:, None]
    for _ in range(200):
        steps.zero_grad()
        torch.nn.functional.mse_loss(module(rows), target).backward()
        steps.step()
    return module


def train(task: Task) -> Trained:
    """Train one network."""
    X, y = TABLES[task.table](return_X_y=True)
    X, d = scale(X), X.shape[1]
    if task.kind.startswith("torch"):
        module = _module(X, scale(y.astype(float)), task)
        rows = module[0].weight.detach().numpy().astype(float)
        oracle = gs.oracle.from_torch(module)
        return Trained(oracle, {"activation": task.kind.split()[-1]}, rows, oracle, 1e-3)
    how = {"hidden_layer_sizes": task.units, "solver": "lbfgs", "max_iter": 100, "random_state": task.seed}
    if task.kind.endswith("regression"):
        mlp = MLPRegressor(**how).fit(X, scale(y.astype(float)))
        return Trained(gs.Oracle(mlp.predict, d), {}, mlp.coefs_[0].T, mlp.predict, 1e-6)
    classes = y > np.median(y) if task.table == "diabetes" else y
    mlp = MLPClassifier(alpha=1.0, **how).fit(X, classes)

    def logits(Z: np.ndarray) -> np.ndarray:
        return np.maximum(Z @ mlp.coefs_[0] + mlp.intercepts_[0], 0) @ mlp.coefs_[1] + mlp.intercepts_[1]

    if task.kind.endswith("logits"):
        return Trained(gs.Oracle(logits, d), {}, mlp.coefs_[0].T, logits, 1e-6)
    oracle = gs.Oracle(mlp.predict_proba, d, link="softmax")
    return Trained(oracle, {"activation": "relu"}, mlp.coefs_[0].T, lambda Z: np.log(mlp.predict_proba(Z)), 1e-6)


def run(task: Task) -> Outcome:
    """Train and open one network."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = train(task)
        X = scale(TABLES[task.table](return_X_y=True)[0])[:300]
        k, d = net.rows.shape
        begun, ratio = time.process_time(), 0.0
        try:
            found = gs.recover(net.oracle, random_state=task.seed, **net.options)
        except gs.errors.GradsiftError as refusal:
            return Outcome(task.kind, False, False, str(refusal), ratio, time.process_time() - begun)
    match = gs.match_units(net.rows, found.model.units)  # every unit found is one of the network
    values = np.asarray(net.values(X)).reshape(len(X), -1)
    told = np.asarray(found.network.predict(X)).reshape(len(X), -1)
    off = float(np.abs(told - values).max() / values.std()) if told.shape == values.shape else 0.0
    wrong = match.max_error > net.tolerance or off > net.tolerance
    spent = net.oracle.n_queries - found.diagnostics["spent"].get("verify", 0)
    says = "" if found.certified else found.verdict
    return Outcome(
        task.kind, found.certified, found.certified and wrong, says, spent / (k * (d + 2) + 1),
        time.process_time() - begun,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=100, help="tuning used others, below 100")
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", action="store_true")
    how = parser.parse_args()
    seeds = range(how.first_seed, how.first_seed + how.seeds)
    tasks = [Task(kind, t, k, seed) for kind in how.kinds for t in how.tables for k in UNITS for seed in seeds]
    if how.jobs == 1:
        outcomes = list(map(run, tasks))
    else:
        with ProcessPoolExecutor(how.jobs) as pool:
            outcomes = list(pool.map(run, tasks))
    rows = []
    for kind in how.kinds:
        mine = [o for o in outcomes if o.kind == kind]
        row = {
            "cell": kind, "nets": len(mine), "certified": sum(o.certified for o in mine),
            "certified_wrong": sum(o.wrong for o in mine), "saturated": sum(CAUSE in o.refused for o in mine),
            "median": float(np.median([o.ratio for o in mine if o.ratio] or [0.0])),
            "seconds": max(o.seconds for o in mine),
            "refusals": sorted({o.refused[:200] for o in mine if o.refused})[:4],
        }  # fmt: skip
        rows.append(row)
        print(
            f"{kind}: {row['certified']}/{row['nets']} certified, {row['certified_wrong']} wrong, {row['saturated']} "
            f"refused because probabilities round to 0 or 1; {row['median']:.2f} queries per unknown, at most "
            f"{row['seconds']:.1f} s",
            *(f"\n    {text}" for text in row["refusals"]),
        )
    if how.save:
        print("saved", save("trained_kinked", {"rows": rows}))


if __name__ == "__main__":
    main()
