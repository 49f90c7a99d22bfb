"""Networks inside packages: each reader returns the specimens of one family, from the files as they were released."""

from __future__ import annotations

import io
import re
from functools import partial

import numpy as np

import gradsift as gs
from benchmarks.boxes.deep_networks import canyon_networks
from benchmarks.boxes.real_networks import esa_networks
from benchmarks.zoo.fetch import fetched, members
from benchmarks.zoo.specimen import Specimen, exact_box

__all__ = ["airfoils", "atoms", "fusion", "leaves", "oceans", "radiometers"]


def leaves() -> list[Specimen]:
    """Five networks of ESA for leaf area and the like from Sentinel-2 images, in physical units: 11 inputs, 5 tanh."""
    return [_exact(name, gs.Network.of(network.model)) for name, network in esa_networks().items()]


def oceans() -> list[Specimen]:
    """The 192 networks of CANYON-B for carbon and nutrients in sea water: 7 or 8 standardised inputs, two layers."""
    return [_exact(name, network) for name, network in canyon_networks().items()]


def _exact(name: str, network: gs.Network) -> Specimen:
    return Specimen(name, network, exact_box(network))


def radiometers() -> list[Specimen]:
    """The 180 retrievals of microwave radiometers at three sites: water, temperature, spectra; tanh at the end, too.

    A file holds one network for each elevation angle: a smoothness, four rows of scaling, W1 (1 + d, k) and W2
    (m, 1 + k), constants first.
    """
    found = []
    for path, text in members("mwrpy", "1.7.3", lambda name: name.endswith(".ret") and "_NN" in name).items():
        site, product = path.split("/")[2], path.split("/")[-1].split("_")[0]
        blocks = re.split(r"^NP=", text.decode(), flags=re.M)[1:]
        for number, block in enumerate(blocks):
            smooth = float(block.split("#")[0])
            first, second = (smooth * _matrix(block, name) for name in ("W1", "W2"))
            truth = gs.Network([(first[1:].T, first[0]), (second[:, 1:], second[:, 0])])
            found.append(Specimen(f"{site} {product} {number}", truth, partial(_tanh_box, truth)))
    return found


def _matrix(block: str, name: str) -> np.ndarray:
    """Return the rows of a matrix: the first begins with its name, the others with a colon."""
    lines = re.search(rf"^{name}=(.*(?:\n:.*)*)", block, flags=re.M).group(1).split("\n:")  # type: ignore[union-attr]
    return np.array([line.split("#")[0].split() for line in lines], dtype=np.float64)


def _tanh_box(network: gs.Network) -> gs.Oracle:
    return gs.Oracle(lambda X: np.tanh(network.predict(X)), network.n_features, link="tanh")


def atoms() -> list[Specimen]:
    """Energies of atoms by their surroundings, the 89 elements of NEP89: 35 inputs, 80 tanh units each."""
    (text,) = members("NepTrainKit", "3.1.5", lambda name: name.endswith("/nep89.txt")).values()
    lines = text.decode().split("\n")
    elements, d, k, header = lines[0].split()[2:], 35, 80, 7
    numbers = np.array(lines[header : header + len(elements) * k * (d + 2) + 1], dtype=np.float64)
    found = []
    for element, column in zip(elements, numbers[:-1].reshape(len(elements), -1)):
        weights, offsets, output = np.split(column, [k * d, k * (d + 1)])
        truth = gs.Network([(weights.reshape(k, d), -offsets), (output[None], -numbers[-1:])])
        found.append(_exact(element, truth))
    return found


def airfoils() -> list[Specimen]:
    """Eight networks of NeuralFoil: 25 inputs, two to six hidden layers of SiLU, 198 outputs, single precision."""
    found = []
    for path, stored in members("neuralfoil", "0.3.3", lambda name: "/nn-" in name).items():
        arrays = np.load(io.BytesIO(stored))
        numbers = sorted({int(name.split(".")[1]) for name in arrays})
        layers = [(arrays[f"net.{i}.weight"], arrays[f"net.{i}.bias"]) for i in numbers]
        box = partial(_single_box, layers, lambda z: z / (1 + np.exp(-z)))
        found.append(Specimen(path.split("nn-")[1].removesuffix(".npz"), gs.Network(layers, "silu"), box, single=True))
    return found


def _single_box(layers, activation) -> gs.Oracle:  # type: ignore[no-untyped-def]
    def ask(X: np.ndarray) -> np.ndarray:
        active = X.astype(np.float32)
        with np.errstate(over="ignore"):
            for weights, offsets in layers[:-1]:
                active = activation(active @ weights.T + offsets)
        return active @ layers[-1][0].T + layers[-1][1]

    return gs.Oracle(ask, layers[0][0].shape[1])


def fusion() -> list[Specimen]:
    """QLKNN, fluxes in a tokamak: 10 inputs, five layers of 133 tanh, 8 outputs, single precision.

    Once the network itself, and once the ONNX file, which clips the outputs at zero and multiplies some of them.
    """
    import onnx
    from onnx import numpy_helper

    (path, stored), *_ = members("fusion_surrogates", "0.4.7", lambda name: name.endswith(".onnx")).items()
    held = {i.name: numpy_helper.to_array(i) for i in onnx.load(io.BytesIO(stored)).graph.initializer}
    layers = [(held[f"_network.model.{i}.weight"], held[f"_network.model.{i}.bias"]) for i in range(0, 11, 2)]
    target = fetched("fusion_surrogates", "0.4.7").parent / path.split("/")[-1]
    target.write_bytes(stored)
    boxes = {"network": partial(_single_box, layers, np.tanh), "file": partial(gs.oracle.from_onnx, target)}
    return [Specimen(f"QLKNN 7_11, {name}", gs.Network(layers), box, single=True) for name, box in boxes.items()]
