"""The model as a torch module, an ONNX file or a scikit-learn regressor: the same function, in their terms."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from .activations import ACTIVATIONS, TorchTwin, get_activation
from .checking import Floats
from .extras import load_extra
from .files import atomic_writer

if TYPE_CHECKING:
    from .model import SigmoidCombination

__all__ = ["to_onnx", "to_sklearn", "to_torch"]


def to_torch(model: SigmoidCombination) -> Any:
    """Return a float64 ``torch.nn.Module`` that maps (n, d) to (n,), with the parameters free to train."""
    torch = load_extra("torch", "torch")
    twin = get_activation(model.activation).torch_twin()
    hidden = torch.nn.Linear(model.n_features, model.n_units, dtype=torch.float64)
    output = torch.nn.Linear(model.n_units, 1, dtype=torch.float64)
    with torch.no_grad():
        hidden.weight.copy_(torch.tensor(model.units * model.slopes[:, None]))
        hidden.bias.copy_(torch.tensor(model.offsets))
        output.weight.copy_(torch.tensor(model.weights)[None, :])
        output.bias.fill_(model.intercept)
    network = torch.nn.Sequential(hidden, _elementwise(torch, twin), output, torch.nn.Flatten(0))
    return _with_skip(torch, network, model.linear) if model.has_linear_term else network


def _with_skip(torch: Any, network: Any, linear: Floats) -> Any:
    """Return the network and a linear map beside it as one module."""
    skip = torch.nn.Linear(len(linear), 1, bias=False, dtype=torch.float64)
    with torch.no_grad():
        skip.weight.copy_(torch.tensor(linear)[None, :])

    class WithSkip(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.sigmoids, self.linear = network, skip

        def forward(self, X: Any) -> Any:
            return self.sigmoids(X) + self.linear(X).squeeze(-1)

    return WithSkip()


def _elementwise(torch: Any, twin: TorchTwin) -> Any:
    """Return torch's own module for a function, or a new one where it has none."""
    if twin.module is not None:
        return twin.module()
    layer = torch.nn.Module()
    layer.forward = twin.value
    return layer


def to_onnx(model: SigmoidCombination, path: str | os.PathLike[str]) -> None:
    """Write an ONNX file with a float64 input ``X`` (n, d) and output ``y`` (n,).

    onnxruntime has erf, arctan and softsign in float32 only: there, the sigmoid alone is rounded to it.
    """
    onnx = load_extra("onnx", "onnx")
    make, types = onnx.helper, onnx.TensorProto
    twin = get_activation(model.activation).onnx_twin()
    nodes = [
        make.make_node("MatMul", ["X", "directions"], ["projected"]),
        make.make_node("Add", ["projected", "offsets"], ["arguments"]),
    ]
    if twin.double:
        nodes += twin.nodes(make, "arguments", "active")
    else:
        nodes += [
            make.make_node("Cast", ["arguments"], ["arguments32"], to=types.FLOAT),
            *twin.nodes(make, "arguments32", "active32"),
            make.make_node("Cast", ["active32"], ["active"], to=types.DOUBLE),
        ]
    nodes.append(make.make_node("MatMul", ["active", "weights"], ["sum"]))
    if model.has_linear_term:
        nodes += [
            make.make_node("MatMul", ["X", "linear"], ["skipped"]),
            make.make_node("Add", ["sum", "skipped"], ["total"]),
        ]
    nodes.append(make.make_node("Add", ["total" if model.has_linear_term else "sum", "intercept"], ["y"]))
    constants = {
        "directions": np.ascontiguousarray((model.units * model.slopes[:, None]).T),
        "offsets": model.offsets,
        "weights": model.weights,
        "intercept": np.array(model.intercept),
        **({"linear": model.linear} if model.has_linear_term else {}),
    }
    graph = make.make_graph(
        nodes,
        "gradsift",
        [make.make_tensor_value_info("X", types.DOUBLE, ["n", model.n_features])],
        [make.make_tensor_value_info("y", types.DOUBLE, ["n"])],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    # Opset and file version that onnxruntime has read since 1.16.
    file = make.make_model(graph, producer_name="gradsift", opset_imports=[make.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(file)
    with atomic_writer(path, "wb") as stream:
        stream.write(file.SerializeToString())


def to_sklearn(model: SigmoidCombination) -> Any:
    """Return a fitted ``MLPRegressor`` with one hidden layer, if scikit-learn has such units."""
    from sklearn.neural_network import MLPRegressor

    name = get_activation(model.activation).sklearn
    if name is None:
        known = " and ".join(a.name for a in ACTIVATIONS.values() if a.sklearn is not None)
        raise ValueError(f"scikit-learn has {known} units, not {model.activation}: use to_torch or to_onnx.")
    if model.has_linear_term:
        raise ValueError("MLPRegressor has no linear term beside its hidden units: use to_torch or to_onnx.")
    k, d = model.units.shape
    network = MLPRegressor(hidden_layer_sizes=(k,), activation=name, random_state=0)
    network.partial_fit(np.zeros((2, d)), np.zeros(2))  # gives it its shapes; the numbers are replaced
    network.coefs_ = [np.ascontiguousarray((model.units * model.slopes[:, None]).T), model.weights[:, None].copy()]
    network.intercepts_ = [model.offsets.copy(), np.array([model.intercept])]
    return network
