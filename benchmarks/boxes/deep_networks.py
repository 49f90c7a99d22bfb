"""Networks with several hidden layers to be opened: random, trained by scikit-learn, float32 torch, CANYON-B.

CANYON-B (192 released oceanographic networks, two hidden layers of tanh) comes inside the wheel ``canyonbpy`` 0.4.0,
fetched when it is needed and never kept in the repository.
"""

from __future__ import annotations

import zipfile
from functools import cache
from pathlib import Path

import numpy as np

import gradsift as gs
from benchmarks.zoo.fetch import NotFetched, members

_INPUTS = {"AT": 8, "CT": 8, "NO3": 7, "PO4": 7, "SiOH4": 7, "pCO2": 8, "pH": 8}

__all__ = [
    "NotFetched",
    "canyon_networks",
    "random_deep",
    "single_precision",
    "trained",
    "use_wheel",
    "with_a_unit_at_rest",
]


def random_deep(seed: list[int], d: int, widths: tuple[int, ...], activation: str = "tanh") -> gs.Network:
    """First layer with row norms 1 to 3, the others 1.5 (3 for logistic units, which are half as steep)."""
    steep = 1.5 if activation == "tanh" else 3.0
    norms = [(1.0, 3.0), *[steep] * (len(widths) - 1)]
    offsets = [1.0, *[0.5] * (len(widths) - 1)]
    return gs.simulate.random_network(
        d, widths, row_norms=norms, offsets=offsets, activation=activation, rng=np.random.default_rng(seed)
    )


def with_a_unit_at_rest(network: gs.Network, seed: list[int]) -> gs.Network:
    """Return the network with an offset of 3 to 16 in the first unit of its last hidden layer, of either sign."""
    *below, (W, b), last = network.layers
    rng = np.random.default_rng(seed)
    offsets = b.copy()
    offsets[0] = rng.choice([-1.0, 1.0]) * rng.uniform(3.0, 16.0)
    return gs.Network([*below, (W, offsets), last], network.activation)


_GIVEN: list[Path] = []


def use_wheel(path: Path) -> None:
    """Take CANYON-B from this file instead of fetching it."""
    _GIVEN[:] = [path]


@cache
def canyon_networks() -> dict[str, gs.Network]:
    """Return the networks by name ("pH13" is column 13 of its file), for standardised inputs."""
    if _GIVEN:
        return _read_wheel(_GIVEN[0])
    found = {}
    for path, text in members("canyonbpy", "0.4.0", lambda name: "/weights/wgts_" in name).items():
        variable = path.split("wgts_")[1].removesuffix(".txt")
        table = np.array([line.split() for line in text.decode().splitlines()], dtype=np.float64)
        for number, column in enumerate(table.T[:-1]):  # the last one holds the scaling
            found[f"{variable}{number}"] = _read_column(column, _INPUTS[variable])
    return found


def _read_wheel(path: Path) -> dict[str, gs.Network]:
    found = {}
    with zipfile.ZipFile(path) as archive:
        for variable, d in _INPUTS.items():
            text = archive.read(f"canyonbpy/data/weights/wgts_{variable}.txt").decode()
            table = np.array([line.split() for line in text.splitlines()], dtype=np.float64)
            for number, column in enumerate(table.T[:-1]):  # the last one holds the scaling
                found[f"{variable}{number}"] = _read_column(column, d)
    return found


def _read_column(column: np.ndarray, d: int) -> gs.Network:
    """Return one network: two widths, two numbers of no concern, then matrices (by columns) and offsets in turn."""
    widths = [int(n) for n in column[:2] if n > 0]
    layers, at, n_inputs = [], 4, d
    for n in [*widths, 1]:
        weights = column[at : at + n * n_inputs].reshape(n, n_inputs, order="F")
        layers.append((weights, column[at + n * n_inputs : at + n * (n_inputs + 1)]))
        at, n_inputs = at + n * (n_inputs + 1), n
    return gs.Network(layers)


def trained(data: str, widths: tuple[int, ...], activation: str, seed: int) -> gs.Network:
    """Return an MLPRegressor of scikit-learn trained on one of its data sets, inputs and target standardised."""
    import warnings

    from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
    from sklearn.neural_network import MLPRegressor

    loader = {"diabetes": load_diabetes, "wine": load_wine, "cancer": load_breast_cancer}[data]
    X, y = loader(return_X_y=True)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    net = MLPRegressor(hidden_layer_sizes=widths, activation=activation, max_iter=400, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net.fit(X, y)
    return gs.Network([(W.T, b) for W, b in zip(net.coefs_, net.intercepts_)], activation)


def single_precision(network: gs.Network):  # type: ignore[no-untyped-def]
    """Return the network as a function of torch in float32 arithmetic."""
    import torch

    torch.set_num_threads(1)
    layers = [(torch.tensor(W, dtype=torch.float32), torch.tensor(b, dtype=torch.float32)) for W, b in network.layers]

    def function(X: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            active = torch.tensor(X, dtype=torch.float32)
            for W, b in layers[:-1]:
                active = torch.tanh(active @ W.T + b)
            return (active @ layers[-1][0].T + layers[-1][1])[:, 0].numpy()

    return function
