"""Networks inside packages: each reader returns the specimens of one family, from the files as they were released."""

from __future__ import annotations

import io
import re
from functools import partial

import numpy as np

import gradsift as gs
from zoo.fetch import fetched, members
from zoo.specimen import Specimen, exact_box

__all__ = ["airfoils", "atoms", "fusion", "leaves", "oceans", "radiometers"]

_ESA = "satellitetools/biophys/snap-auxdata/biophysical/2_1/"


def leaves() -> list[Specimen]:
    """Five networks of ESA for leaf area and the like from Sentinel-2 images, in physical units: 11 inputs, 5 tanh."""
    files = members("satellitetools", "2.1.6", lambda name: name.startswith(_ESA) and not name.endswith(".xlsx"))
    return [_leaf(name, files) for name in ("LAI", "FAPAR", "FCOVER", "LAI_Cab", "LAI_Cw")]


def _leaf(name: str, files: dict[str, bytes]) -> Specimen:
    def numbers(part: str) -> np.ndarray:
        text = files[f"{_ESA}{name}/{name}_{part}"].decode()
        return np.array([line.split(",") for line in text.split()], dtype=np.float64)

    weights, output = numbers("Weights_Layer1_Neurons"), numbers("Weights_Layer2_Neurons").reshape(1, -1)
    low, high = numbers("Normalisation").T
    bottom, top = numbers("Denormalisation").ravel()
    # Inputs are mapped to [-1, 1] before the units, the output from [-1, 1] after them.
    inner, gain = weights * (2 / (high - low)), 0.5 * (top - bottom)
    offsets = numbers("Weights_Layer1_Bias").ravel() - inner @ low - weights.sum(axis=1)
    constant = gain * (numbers("Weights_Layer2_Bias").ravel() + 1) + bottom
    truth = gs.Network([(inner, offsets), (gain * output, constant)])
    return Specimen(name, truth, exact_box(truth))


def oceans() -> list[Specimen]:
    """The 192 networks of CANYON-B for carbon and nutrients in sea water: 7 or 8 standardised inputs, two layers."""
    inputs = {"AT": 8, "CT": 8, "NO3": 7, "PO4": 7, "SiOH4": 7, "pCO2": 8, "pH": 8}
    found = []
    for path, text in members("canyonbpy", "0.4.0", lambda name: "/weights/wgts_" in name).items():
        variable = path.split("wgts_")[1].removesuffix(".txt")
        table = np.array([line.split() for line in text.decode().splitlines()], dtype=np.float64)
        for number, column in enumerate(table.T[:-1]):  # the last one holds the scaling
            truth = _ocean(column, inputs[variable])
            found.append(Specimen(f"{variable}{number}", truth, exact_box(truth)))
    return found


def _ocean(column: np.ndarray, d: int) -> gs.Network:
    """Return one network: two widths, two numbers of no concern, then matrices (by columns) and offsets in turn."""
    layers, at, below = [], 4, d
    for n in [*(int(width) for width in column[:2] if width > 0), 1]:
        weights = column[at : at + n * below].reshape(n, below, order="F")
        layers.append((weights, column[at + n * below : at + n * (below + 1)]))
        at, below = at + n * (below + 1), n
    return gs.Network(layers)


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
        found.append(Specimen(element, truth, exact_box(truth)))
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
