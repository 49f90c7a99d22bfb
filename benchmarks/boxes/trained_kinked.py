"""Trained networks of ReLU, SiLU and GELU units: scikit-learn's in double, torch's in single precision.

python -m benchmarks.boxes.trained_kinked [--seeds 5] [--jobs 1] [--journal FILE] [--save]

Networks are trained on diabetes, breast_cancer and digits (columns of unit variance): MLPRegressor; MLPClassifier by
its logits (all outputs) and by its probabilities with ``link=``; a torch module as float32 numbers. The number of units
is not given; the activation is, for single precision only. Wrong: a direction of an active unit that misses the network
by more than 1e-6 (1e-3 in single precision), or values at the training rows that miss by more than as much of their
spread. A refusal names its cause where it says that a unit is faint (and some unit of the trained network has less than
half the weight of the strongest, or a fiftieth where no unit is named), or that it has a neighbour (and there is a pair
within ten degrees).
"""

from __future__ import annotations

import time
import warnings
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import scale

import gradsift as gs
from benchmarks import campaign
from benchmarks.boxes.black_box_kinked import commits

TABLES = {"diabetes": load_diabetes, "breast_cancer": load_breast_cancer, "digits": load_digits}
KINDS = (
    "scikit-learn regression", "scikit-learn logits", "scikit-learn probabilities", "torch float32 relu",
    "torch float32 silu", "torch float32 gelu",
)  # fmt: skip
UNITS = (8, 16)
COLUMNS = {"diabetes": 10, "breast_cancer": 30, "digits": 64}


class Task(NamedTuple):
    """One network."""

    kind: str
    table: str
    units: int
    seed: int

    @property
    def d(self) -> int:
        """Number of inputs."""
        return COLUMNS[self.table]

    @property
    def k(self) -> int:
        """Number of units."""
        return self.units


@dataclass
class Outcome:
    """What became of it."""

    task: list[Any]
    certified: bool
    wrong: bool
    refused: str
    named: bool
    ratio: float
    seconds: float
    commit: str = ""


class Trained(NamedTuple):
    """An oracle, the options of the call, the first layer (k, d) with the sizes of the weights behind it, and what the
    network says at rows."""

    oracle: gs.Oracle
    options: dict[str, Any]
    rows: np.ndarray
    weights: np.ndarray
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
        weights = np.abs(module[2].weight.detach().numpy().astype(float))[0]
        return Trained(oracle, {"activation": task.kind.split()[-1]}, rows, weights, oracle, 1e-3)
    how = {"hidden_layer_sizes": task.units, "solver": "lbfgs", "max_iter": 100, "random_state": task.seed}
    if task.kind.endswith("regression"):
        mlp = MLPRegressor(**how).fit(X, scale(y.astype(float)))
        return Trained(gs.Oracle(mlp.predict, d), {}, mlp.coefs_[0].T, _sizes(mlp), mlp.predict, 1e-6)
    classes = y > np.median(y) if task.table == "diabetes" else y
    mlp = MLPClassifier(alpha=1.0, **how).fit(X, classes)

    def logits(Z: np.ndarray) -> np.ndarray:
        return np.maximum(Z @ mlp.coefs_[0] + mlp.intercepts_[0], 0) @ mlp.coefs_[1] + mlp.intercepts_[1]

    def centered(Z: np.ndarray) -> np.ndarray:  # what a softmax tells; two classes have the logit's two halves
        z = logits(Z)
        z = np.concatenate([-z, z], axis=1) / 2 if z.shape[1] == 1 else z
        return z - z.mean(axis=1, keepdims=True)

    if task.kind.endswith("logits"):
        return Trained(gs.Oracle(logits, d), {}, mlp.coefs_[0].T, _sizes(mlp), logits, 1e-6)
    oracle = gs.Oracle(mlp.predict_proba, d, link="softmax")
    return Trained(oracle, {}, mlp.coefs_[0].T, _sizes(mlp), centered, 1e-6)


def _sizes(mlp: Any) -> np.ndarray:
    return np.linalg.norm(mlp.coefs_[1], axis=1)


def cause_is_true(net: Trained, refused: str) -> bool:
    """Whether a refusal says what makes a unit hard to know, and the trained network has such a unit."""
    jumps = net.rows * net.weights[:, None]
    lengths = np.linalg.norm(jumps, axis=1)
    cosines = np.abs(jumps @ jumps.T) / np.outer(lengths, lengths) - np.eye(len(jumps))
    faint = "its weight is" in refused and lengths.min() < lengths.max() / 2
    faint = faint or ("a unit too faint" in refused and lengths.min() < lengths.max() / 50)
    beside = "degrees beside it" in refused and cosines.max() > np.cos(np.radians(10))
    return bool(faint or beside)


def run(task: Task) -> dict[str, Any]:
    """Train and open one network."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = train(task)
        X = scale(TABLES[task.table](return_X_y=True)[0])[:300]
        k, d = net.rows.shape
        begun = time.process_time()
        try:
            found = gs.recover(net.oracle, random_state=task.seed, **net.options)
        except gs.errors.GradsiftError as refusal:
            says, seconds = str(refusal), time.process_time() - begun
            return asdict(Outcome(list(task), False, False, says, cause_is_true(net, says), 0.0, seconds))
    match = gs.match_units(net.rows, found.model.units)  # every unit found is one of the network
    values = np.asarray(net.values(X)).reshape(len(X), -1)
    told = np.asarray(found.network.predict(X)).reshape(len(X), -1)
    off = float(np.abs(told - values).max() / values.std())
    wrong = match.max_error > net.tolerance or off > net.tolerance
    spent = net.oracle.n_queries - found.diagnostics["spent"].get("verify", 0)
    says, seconds = "" if found.certified else found.verdict, time.process_time() - begun
    return asdict(Outcome(
        list(task), found.certified, bool(found.certified and wrong), says, bool(says) and cause_is_true(net, says),
        spent / (k * (d + 2) + 1), seconds,
    ))  # fmt: skip


def main() -> None:
    parser = campaign.arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=100, help="tuning used others, below 100")
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    how = parser.parse_args()
    seeds = range(how.first_seed, how.first_seed + how.seeds)
    tasks = [Task(kind, t, k, seed) for kind in how.kinds for t in how.tables for k in UNITS for seed in seeds]
    outcomes = [Outcome(**record) for record in campaign.run(tasks, run, how)]
    rows = []
    for kind in how.kinds:
        mine = [o for o in outcomes if o.task[0] == kind]
        row = {
            "cell": kind, "nets": len(mine), "certified": sum(o.certified for o in mine),
            "certified_wrong": sum(o.wrong for o in mine), "cause_named": sum(o.named for o in mine),
            "median": float(np.median([o.ratio for o in mine if o.ratio] or [0.0])),
            "seconds": max(o.seconds for o in mine),
            "refusals": sorted({o.refused[:300] for o in mine if o.refused})[:6], "commit": commits(mine),
        }  # fmt: skip
        rows.append(row)
        print(
            f"{kind}: {row['certified']}/{row['nets']} certified, {row['certified_wrong']} wrong, {row['cause_named']} "
            f"refused with a true cause; {row['median']:.2f} queries per unknown, at most {row['seconds']:.1f} s",
            *(f"\n    {text}" for text in row["refusals"]),
        )
    if how.save:
        campaign.save_rows("trained_kinked", rows)


if __name__ == "__main__":
    main()
