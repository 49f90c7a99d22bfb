"""Models and networks as torch modules, ONNX files or scikit-learn regressors: the same function, in their terms."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .activations import ACTIVATIONS, TorchTwin, get_activation
from .arguments import Floats
from .files import open_whole
from .model import SigmoidCombination
from .network import Network
from .runtime import load_extra


def to_torch(model: SigmoidCombination | Network) -> Any:
    """Return a float64 ``torch.nn.Module`` that maps (n, d) to (n,), or to (n, m) where there are several outputs, with
    the parameters free to train."""
    torch, network = load_extra("torch", "torch"), Network.of(model)
    modules: list[Any] = []
    for layer, name in zip(network.layers, network.activations):
        twin = get_activation(name).torch_twin()
        modules += [_torch_linear(torch, layer.weights, layer.offsets), _activation_layer(torch, twin)]
    modules.append(_torch_linear(torch, *network.layers[-1]))
    if network.n_outputs == 1:
        modules.append(torch.nn.Flatten(0))
    whole = torch.nn.Sequential(*modules)
    return _with_line(torch, whole, network) if network.has_linear_term else whole


def _torch_linear(torch: Any, weights: Floats, offsets: Floats | None) -> Any:
    linear = torch.nn.Linear(weights.shape[1], weights.shape[0], bias=offsets is not None, dtype=torch.float64)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(weights))
        if offsets is not None:
            linear.bias.copy_(torch.tensor(offsets))
    return linear


def _with_line(torch: Any, inside: Any, network: Network) -> Any:
    """Return the network and a linear map beside it as one module."""
    skip = _torch_linear(torch, network.linear, None)

    class WithLine(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.sigmoids, self.linear = inside, skip

        def forward(self, X: Any) -> Any:
            beside = self.linear(X)
            return self.sigmoids(X) + (beside.squeeze(-1) if network.n_outputs == 1 else beside)

    return WithLine()


def _activation_layer(torch: Any, twin: TorchTwin) -> Any:
    """Return torch's own module for a function, or a new one where it has none."""
    if twin.module is not None:
        return twin.module()
    layer = torch.nn.Module()
    layer.forward = twin.value
    return layer


def to_onnx(model: SigmoidCombination | Network, path: str | os.PathLike[str]) -> None:
    """Write an ONNX file with a float64 input ``X`` (n, d) and output ``y`` (n,), or (n, m) for several outputs.

    onnxruntime has erf, arctan and softsign in float32 only: there, the sigmoid alone is rounded to it.
    """
    onnx, network = load_extra("onnx", "onnx"), Network.of(model)
    make, types = onnx.helper, onnx.TensorProto
    nodes, constants = _onnx_layers(onnx, network)
    several = network.n_outputs > 1
    graph = make.make_graph(
        nodes,
        "gradsift",
        [make.make_tensor_value_info("X", types.DOUBLE, ["n", network.n_features])],
        [make.make_tensor_value_info("y", types.DOUBLE, ["n", network.n_outputs] if several else ["n"])],
        [onnx.numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in constants.items()],
    )
    # Opset and file version that onnxruntime has read since 1.16.
    file = make.make_model(graph, producer_name="gradsift", opset_imports=[make.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(file)
    with open_whole(path, "wb") as stream:
        stream.write(file.SerializeToString())


def _onnx_layers(onnx: Any, network: Network) -> tuple[list[Any], dict[str, Floats]]:
    """Return the nodes from ``X`` to ``y`` and the constants they use; one output is a vector."""
    node, types = onnx.helper.make_node, onnx.TensorProto
    nodes, constants, before = [], {}, "X"
    for i, (layer, name) in enumerate(zip(network.layers, network.activations), start=1):
        twin = get_activation(name).onnx_twin()
        constants.update({f"weights{i}": layer.weights.T, f"offsets{i}": layer.offsets})
        nodes += [
            node("MatMul", [before, f"weights{i}"], [f"projected{i}"]),
            node("Add", [f"projected{i}", f"offsets{i}"], [f"arguments{i}"]),
        ]
        before = f"active{i}"
        if twin.double:
            nodes += twin.nodes(onnx.helper, f"arguments{i}", before)
        else:
            nodes += [
                node("Cast", [f"arguments{i}"], [f"arguments32_{i}"], to=types.FLOAT),
                *twin.nodes(onnx.helper, f"arguments32_{i}", f"active32_{i}"),
                node("Cast", [f"active32_{i}"], [before], to=types.DOUBLE),
            ]
    # One output is a vector in ONNX too: weights (k,) make MatMul drop the last axis.
    output = network.layers[-1]
    alone = network.n_outputs == 1
    constants["weights"] = output.weights[0] if alone else output.weights.T
    constants["intercept"] = np.asarray(output.offsets[0]) if alone else output.offsets
    nodes.append(node("MatMul", [before, "weights"], ["sum"]))
    total = "sum"
    if network.has_linear_term:
        constants["linear"] = network.linear[0] if alone else network.linear.T
        nodes += [node("MatMul", ["X", "linear"], ["skipped"]), node("Add", ["sum", "skipped"], ["total"])]
        total = "total"
    nodes.append(node("Add", [total, "intercept"], ["y"]))
    return nodes, constants


def to_sklearn(model: SigmoidCombination | Network) -> Any:
    """Return a fitted ``MLPRegressor``, or of a network that decides an ``MLPClassifier``, if there are such units."""
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    network = Network.of(model)
    if len(set(network.activations)) > 1:
        raise ValueError(f"scikit-learn has one activation in all layers, not {network.activation}: use to_torch.")
    name = get_activation(network.activation).sklearn
    if name is None:
        known = " and ".join(a.name for a in ACTIVATIONS.values() if a.sklearn is not None)
        raise ValueError(f"scikit-learn has {known} units, not {network.activation}: use to_torch or to_onnx.")
    if network.has_linear_term:
        raise ValueError("scikit-learn has no linear term beside its hidden units: use to_torch or to_onnx.")
    # scikit-learn has no constructor from weights: fit rows of zeros, then put ours in place.
    if network.classes is not None:
        found = MLPClassifier(hidden_layer_sizes=network.widths, activation=name, random_state=0)
        n_classes = len(network.classes)
        labels = np.array(network.classes)
        found.partial_fit(np.zeros((n_classes, network.n_features)), labels, classes=labels)
    else:
        found = MLPRegressor(hidden_layer_sizes=network.widths, activation=name, random_state=0)
        targets = np.zeros(2) if network.n_outputs == 1 else np.zeros((2, network.n_outputs))
        found.partial_fit(np.zeros((2, network.n_features)), targets)
    found.coefs_ = [np.ascontiguousarray(layer.weights.T) for layer in network.layers]
    found.intercepts_ = [layer.offsets.copy() for layer in network.layers]
    return found
