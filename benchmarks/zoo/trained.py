"""Networks trained here, by scikit-learn and torch on the data that scikit-learn ships, seen as people serve them."""

from __future__ import annotations

import tempfile
import warnings
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import gradsift as gs
from benchmarks.zoo.specimen import Specimen

__all__ = ["classifiers", "files", "modules", "rectifiers", "regressors"]

_SEED = 7_000  # of the networks, apart from those of the method


@cache
def _data(name: str) -> tuple[np.ndarray, np.ndarray]:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def _fit(kind: str, data: str, widths: tuple[int, ...], activation: str, number: int) -> Any:
    from sklearn import neural_network

    X, y = _data(data)
    if kind == "MLPRegressor":
        y = (y - y.mean(axis=0)) / y.std(axis=0)
    net = getattr(neural_network, kind)(
        hidden_layer_sizes=widths, activation=activation, max_iter=300, alpha=1e-3, random_state=_SEED + number
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # any network will do, converged or not
        return net.fit(X, y)


def _inside(net: Any, centred: bool = False) -> gs.Network:
    layers = [(W.T, b) for W, b in zip(net.coefs_, net.intercepts_)]
    if centred:  # of a softmax only the differences of outputs are seen
        V, c = layers[-1]
        layers[-1] = (V - V.mean(axis=0), c - c.mean())
    return gs.Network(layers, net.activation)


def regressors() -> list[Specimen]:
    """Regressions of diabetes, wine, breast cancer and linnerud (three targets): tanh, logistic, one and two layers."""
    found = []
    for data in ("diabetes", "wine", "breast_cancer", "linnerud"):
        for number, (widths, activation) in enumerate((((8,), "tanh"), ((12,), "logistic"), ((8, 4), "tanh"))):
            net = _fit("MLPRegressor", data, widths, activation, number)
            name = f"{data} {activation} {'-'.join(map(str, widths))}"
            found.append(Specimen(name, _inside(net), partial(gs.oracle.from_sklearn, net)))
    return found


def rectifiers() -> list[Specimen]:
    """Regressions with ReLU units."""
    found = []
    for data in ("diabetes", "wine", "breast_cancer"):
        for number, width in enumerate((6, 12)):
            net = _fit("MLPRegressor", data, (width,), "relu", number)
            found.append(Specimen(f"{data} relu {width}", _inside(net), partial(gs.oracle.from_sklearn, net)))
    return found


def classifiers() -> list[Specimen]:
    """Probabilities of classes: logistic for breast cancer, softmax for wine, iris and digits."""
    found = []
    for data in ("breast_cancer", "wine", "iris", "digits"):
        for number, width in enumerate((6, 16)):
            net = _fit("MLPClassifier", data, (width,), "tanh", number)
            link = "logistic" if net.n_outputs_ == 1 else "softmax"
            box = partial(gs.oracle.from_sklearn, net, link=link)
            found.append(Specimen(f"{data} {link} {width}", _inside(net, link == "softmax"), box))
    return found


def modules() -> list[Specimen]:
    """Modules of torch in single precision, trained by Adam: tanh and, for one table, ReLU."""
    import torch

    torch.set_num_threads(1)
    found = []
    for number, (data, width, kind) in enumerate(
        (("diabetes", 8, "Tanh"), ("wine", 8, "Tanh"), ("breast_cancer", 12, "Tanh"), ("diabetes", 8, "ReLU"))
    ):
        X, y = (torch.as_tensor(a, dtype=torch.float32) for a in _data(data))
        y = (y - y.mean()) / y.std()
        torch.manual_seed(_SEED + number)
        parts = torch.nn.Linear(X.shape[1], width), getattr(torch.nn, kind)(), torch.nn.Linear(width, 1)
        net = torch.nn.Sequential(*parts)
        step = torch.optim.Adam(net.parameters(), lr=0.02)
        for _ in range(300):
            step.zero_grad()
            ((net(X)[:, 0] - y) ** 2).mean().backward()
            step.step()
        arrays = [p.detach().double().numpy() for p in net.parameters()]
        truth = gs.Network([(arrays[0], arrays[1]), (arrays[2], arrays[3])], kind.lower())
        found.append(Specimen(f"{data} {kind.lower()} {width}", truth, partial(gs.oracle.from_torch, net), single=True))
    return found


def files() -> list[Specimen]:
    """ONNX files in single precision, written from scikit-learn's regressors."""
    from skl2onnx import to_onnx

    folder = Path(tempfile.mkdtemp(prefix="gradsift-zoo-"))
    found = []
    for number, data in enumerate(("diabetes", "wine", "breast_cancer")):
        net = _fit("MLPRegressor", data, (10,), "tanh", 20 + number)
        path = folder / f"{data}.onnx"
        path.write_bytes(to_onnx(net, _data(data)[0][:1].astype(np.float32)).SerializeToString())
        layers = [(W.astype(np.float32), b.astype(np.float32)) for W, b in _inside(net).layers]
        found.append(Specimen(f"{data} tanh 10", gs.Network(layers), partial(gs.oracle.from_onnx, path), single=True))
    return found
