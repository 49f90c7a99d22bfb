"""Boxes as they are met: float32 modules and files, several outputs, probabilities.

Each row is one kind of box, measured through `recover` on fresh networks (2 to 20 units, 4 to 30 inputs): how many are
certified; how many of these are wrong (another number of units, a unit's direction beyond its own bound, or values on
random inputs that miss by more than a hundredth of the outputs' size); queries per unknown; the largest error of the
values.

``OMP_NUM_THREADS=1 python -m benchmarks.boxes.real_boxes --jobs 16 --save``: one BLAS thread. Rows that a saved file
holds already, with as many networks, are not run again unless ``--anew`` is given; ``--cells`` runs only some.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Callable
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_softmax, softmax

import gradsift as gs
from benchmarks.record import RESULTS, save

_TEACHERS, _METHOD, _INPUTS = 901, 902, 903  # separate random streams for the reported run
_WRONG = 1e-2


class Truth(NamedTuple):
    """``V tanh(W x + b) + c``: what the box computes before its link."""

    W: np.ndarray
    b: np.ndarray
    V: np.ndarray
    c: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return np.tanh(X @ self.W.T + self.b) @ self.V.T + self.c


class Box(NamedTuple):
    """An oracle, and what its network should say at some inputs."""

    oracle: gs.Oracle
    truth: Truth
    values: Callable[[np.ndarray], np.ndarray]


def teacher(number: int, kind: str, n_outputs: int) -> Truth:
    """A network as `torch.nn.Linear` starts, with slopes of about one."""
    rng = np.random.default_rng([_TEACHERS, number, len(kind)])
    d, k = int(rng.integers(4, 31)), int(rng.integers(2, 21))
    scale = np.exp(rng.uniform(0, np.log(5)))
    return Truth(
        scale * rng.uniform(-1, 1, (k, d)) / np.sqrt(d), rng.uniform(-1, 1, k),
        rng.uniform(-1, 1, (n_outputs, k)), rng.uniform(-1, 1, n_outputs),
    )  # fmt: skip


def _module(truth: Truth) -> Any:
    import torch

    torch.set_num_threads(1)
    k, d = truth.W.shape
    module = torch.nn.Sequential(torch.nn.Linear(d, k), torch.nn.Tanh(), torch.nn.Linear(k, len(truth.c)))
    with torch.no_grad():
        for layer, weights, offsets in ((module[0], truth.W, truth.b), (module[2], truth.V, truth.c)):
            layer.weight.copy_(torch.as_tensor(weights))
            layer.bias.copy_(torch.as_tensor(offsets))
    rounded = [p.detach().double().numpy() for p in module.parameters()]
    return module, Truth(*rounded)


def torch32(number: int, n_outputs: int = 1) -> Box:
    """A float32 module, asked with whatever number of rows there is."""
    module, truth = _module(teacher(number, "torch", n_outputs))
    return Box(gs.oracle.from_torch(module), truth, lambda X: truth(X)[:, 0] if n_outputs == 1 else truth(X))


def onnx32(number: int) -> Box:
    """The same as a float32 ONNX file."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    truth = teacher(number, "onnx", 1)
    truth = Truth(*(np.asarray(a, dtype=np.float32).astype(np.float64) for a in truth))
    named = {"W": truth.W.T, "b": truth.b, "V": truth.V.T, "c": truth.c}
    stored = [numpy_helper.from_array(a.astype(np.float32), name) for name, a in named.items()]
    nodes = [
        helper.make_node("Gemm", ["X", "W", "b"], ["z"]),
        helper.make_node("Tanh", ["z"], ["h"]),
        helper.make_node("Gemm", ["h", "V", "c"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, truth.W.shape[1]])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])]
    graph = helper.make_graph(nodes, "net", inputs, outputs, stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.onnx"
        onnx.save(model, str(path))
        oracle = gs.oracle.from_onnx(path)
    return Box(oracle, truth, lambda X: truth(X)[:, 0])


def several(number: int) -> Box:
    """Two to five outputs: float32 for odd numbers, six decimals for even ones."""
    n_outputs = 2 + number % 4
    if number % 2:
        return torch32(number, n_outputs)
    truth = teacher(number, "decimals", n_outputs)
    return Box(gs.Oracle(lambda X: np.round(truth(X), 6), truth.W.shape[1]), truth, truth)


def _centered(values: np.ndarray) -> np.ndarray:
    return values - values.mean(axis=1, keepdims=True)


def probabilities(number: int) -> Box:
    """By turns: softmax, logistic, log-softmax, a float32 softmax, and scikit-learn's `predict_proba`."""
    kind, n_outputs = number % 5, 2 + number % 3
    truth = teacher(number, "softmax", 1 if kind == 1 else n_outputs)
    d = truth.W.shape[1]
    if kind == 1:
        oracle = gs.Oracle(lambda X: expit(truth(X)[:, 0]), d, link="logistic")
        return Box(oracle, truth, lambda X: truth(X)[:, 0])
    if kind == 2:
        oracle = gs.Oracle(lambda X: log_softmax(truth(X), axis=1), d, link="log_softmax")
    elif kind == 3:
        oracle = gs.Oracle(lambda X: softmax(truth(X).astype(np.float32), axis=1), d, link="softmax")
    elif kind == 4:
        oracle, truth = _classifier(truth, number)
    else:
        oracle = gs.Oracle(lambda X: softmax(truth(X), axis=1), d, link="softmax")
    return Box(oracle, truth, lambda X: _centered(truth(X)))


def _classifier(truth: Truth, number: int) -> tuple[gs.Oracle, Truth]:
    """A scikit-learn classifier, fitted for a while on labels that the network draws, seen by its probabilities."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    rng = np.random.default_rng([_TEACHERS, number, 1])
    k, d = truth.W.shape
    X = rng.standard_normal((400, d))
    y = np.argmax(truth(X) + 0.5 * rng.gumbel(size=(400, len(truth.c))), axis=1) if len(truth.c) > 2 else None
    if y is None:  # two classes have one output unit: three make a softmax
        y = rng.integers(0, 3, 400)
    net = MLPClassifier((k,), activation="tanh", max_iter=30, random_state=number, alpha=1e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        net.fit(X, y)
    (W, V), (b, c) = net.coefs_, net.intercepts_
    return gs.oracle.from_sklearn(net, link="softmax"), Truth(W.T, b, V.T, c)


CELLS: dict[str, Callable[[int], Box]] = {
    "torch float32": torch32,
    "ONNX float32": onnx32,
    "several outputs, float32 or 6 decimals": several,
    "softmax and logistic": probabilities,
}


class Outcome(NamedTuple):
    """One network: certified or not, wrong or not, and its numbers."""

    certified: bool
    wrong: bool
    queries_per_unknown: float
    error: float
    seconds: float
    refusal: str = ""


def run_one(cell: str, number: int) -> Outcome:
    """Recover one network and compare it with the truth."""
    box = CELLS[cell](number)
    X = np.random.default_rng([_INPUTS, number]).standard_normal((300, box.truth.W.shape[1]))
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)
            found = gs.recover(box.oracle, random_state=np.random.default_rng([_METHOD, number]))
    except gs.errors.GradsiftError as problem:
        return Outcome(False, False, np.nan, np.nan, time.process_time() - began, str(problem)[:200])
    seconds = time.process_time() - began
    expected = box.values(X)
    error = float(np.abs(found.network.predict(X) - expected).max() / np.abs(expected).max())
    wrong = found.n_units != len(box.truth.W) or error > _WRONG
    if not wrong:
        match = gs.match_units(found.model.units, box.truth.W)
        bounds = np.array(found.diagnostics["error_bounds"])[match.order]
        wrong = bool((match.errors > np.maximum(bounds, 1e-12)).any())
    k, d = box.truth.W.shape
    unknowns = k * (d + 1) + len(box.truth.c) * (k + 1)
    told = "" if found.certified else found.verdict[:200]
    return Outcome(found.certified, found.certified and wrong, found.n_queries / unknowns, error, seconds, told)


def run_cell(cell: str, n: int, jobs: int) -> dict[str, Any]:
    """Return one row."""
    tasks = [(cell, number) for number in range(n)]
    if jobs > 1:
        with Pool(jobs) as pool:
            outcomes = pool.starmap(run_one, tasks, chunksize=1)
    else:
        outcomes = [run_one(*task) for task in tasks]
    done = [o for o in outcomes if o.certified]
    return {
        "cell": cell,
        "nets": n,
        "certified": len(done),
        "certified_wrong": sum(o.wrong for o in outcomes),
        "median_queries_per_unknown": float(np.median([o.queries_per_unknown for o in done])) if done else None,
        "largest_error": max((o.error for o in done), default=None),
        "median_seconds": float(np.median([o.seconds for o in outcomes])),
        "most_seconds": max(o.seconds for o in outcomes),
        "refusals": [f"{number}: {o.refusal}" for number, o in enumerate(outcomes) if not o.certified],
    }


def main() -> None:
    """Run all cells and print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nets", type=int, default=100)
    parser.add_argument("--cells", nargs="*", default=list(CELLS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--anew", action="store_true", help="run rows again that are saved already")
    given = parser.parse_args()
    path = RESULTS / "real_boxes.json"
    kept = {row["cell"]: row for row in json.loads(path.read_text())["rows"]} if path.exists() else {}
    for cell in CELLS:
        if cell not in given.cells or (not given.anew and kept.get(cell, {}).get("nets", 0) >= given.nets):
            continue
        row = run_cell(cell, given.nets, given.jobs)
        print(
            f"{cell:40} certified {row['certified']}/{row['nets']}, {row['certified_wrong']} wrong, "
            f"{row['median_queries_per_unknown']:.2f} queries per unknown, error {row['largest_error']:.1e}, "
            f"{row['median_seconds']:.1f} s (most {row['most_seconds']:.1f})",
            flush=True,
        )
        kept[cell] = row
        if given.save:
            save("real_boxes", {"rows": list(kept.values())})


if __name__ == "__main__":
    main()
