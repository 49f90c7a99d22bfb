"""The activations that grow: straight lines at both ends, and a kink between them, sharp or rounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from ..arguments import Floats
from .record import Activation, End, OnnxTwin, TorchTwin, onnx_operator

_LEAK = 0.01
_ROOT = float(np.sqrt(2 / np.pi))
_CUBIC = 0.044715
_FLAT, _RISING = End(0.0), End(0.0, 1.0)


def _active(z: Floats) -> Floats:
    return np.asarray(z > 0, dtype=np.float64)


def _nothing(z: Floats) -> Floats:
    return np.zeros_like(z, dtype=np.float64)


_RELU = Activation(
    "relu",
    lambda z: np.maximum(z, 0.0),
    _active,
    _nothing,
    _FLAT,
    _RISING,
    "exact",
    kinks=(0.0,),
    torch=lambda torch: TorchTwin(torch.relu, lambda z: (z > 0).to(z.dtype), torch.nn.ReLU),
    onnx=onnx_operator("Relu", double=True),
    sklearn="relu",
)

_LEAKY = Activation(
    "leaky_relu",
    lambda z: np.maximum(z, _LEAK * z),
    lambda z: _LEAK + (1 - _LEAK) * _active(z),
    _nothing,
    End(0.0, _LEAK),
    _RISING,
    "exact",
    kinks=(0.0,),
    torch=lambda torch: TorchTwin(
        lambda z: torch.nn.functional.leaky_relu(z, _LEAK),
        lambda z: _LEAK + (1 - _LEAK) * (z > 0).to(z.dtype),
        lambda: torch.nn.LeakyReLU(_LEAK),
    ),
    onnx=onnx_operator("LeakyRelu", double=False, alpha=_LEAK),
)


def _softplus(z: Floats) -> Floats:
    return np.asarray(np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z))))  # quicker than np.logaddexp


def _sigmoid_slope(z: Floats) -> Floats:
    e = np.exp(-np.abs(z))
    return np.asarray(e / (1 + e) ** 2)


def _single_gate(z: Any, out: Any) -> None:
    """Write the logistic of z to out: single precision is quickest by the hyperbolic tangent."""
    np.multiply(z, 0.5, out=out)
    np.tanh(out, out=out)
    out *= 0.5
    out += 0.5


def _single_softplus(z: Any, out: Any) -> None:
    _single_gate(z, out)
    rest = np.log(np.maximum(out, 1 - out))
    np.maximum(z, 0.0, out=z)
    z -= rest


def _single_silu(z: Any, out: Any) -> None:
    _single_gate(z, out)
    gate = out.copy()
    np.subtract(1, gate, out=out)
    out *= z
    out += 1
    out *= gate
    z *= gate


_SOFTPLUS = Activation(
    "softplus",
    _softplus,
    expit,
    _sigmoid_slope,
    _FLAT,
    _RISING,
    "exponential",
    single=_single_softplus,
    torch=lambda torch: TorchTwin(
        lambda z: torch.logaddexp(z, torch.zeros((), dtype=z.dtype, device=z.device)), torch.sigmoid
    ),
    onnx=onnx_operator("Softplus", double=False),
)


def _times_sigmoid(helper: Any, inside: str, outside: str) -> Sequence[Any]:
    return [
        helper.make_node("Sigmoid", [inside], [f"{outside}_gate"]),
        helper.make_node("Mul", [inside, f"{outside}_gate"], [outside]),
    ]


_SILU = Activation(
    "silu",
    lambda z: z * expit(z),
    lambda z: expit(z) + z * _sigmoid_slope(z),
    lambda z: _sigmoid_slope(z) * (2 - z * np.tanh(z / 2)),
    _FLAT,
    _RISING,
    "exponential",
    single=_single_silu,
    torch=lambda torch: TorchTwin(
        torch.nn.functional.silu,
        lambda z: torch.sigmoid(z) * (1 + z * torch.sigmoid(-z)),
        torch.nn.SiLU,
    ),
    onnx=OnnxTwin(_times_sigmoid, double=True),
)


def _density(z: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi))


def _torch_gelu(torch: Any) -> TorchTwin:
    def derivative(z: Any) -> Any:
        return 0.5 * torch.erfc(-z / 2**0.5) + z * torch.exp(-0.5 * z * z) / (2 * torch.pi) ** 0.5

    return TorchTwin(torch.nn.functional.gelu, derivative, torch.nn.GELU)


def _constants(helper: Any, outside: str, **numbers: float) -> list[Any]:
    """Return nodes for float32 numbers."""
    return [
        helper.make_node("Constant", [], [f"{outside}_{name}"], value_float=value) for name, value in numbers.items()
    ]


def _onnx_gelu(helper: Any, inside: str, outside: str) -> Sequence[Any]:
    name = outside
    return [
        *_constants(helper, name, root=0.5**0.5, half=0.5, one=1.0),
        helper.make_node("Mul", [inside, f"{name}_root"], [f"{name}_scaled"]),
        helper.make_node("Erf", [f"{name}_scaled"], [f"{name}_erf"]),
        helper.make_node("Add", [f"{name}_erf", f"{name}_one"], [f"{name}_twice"]),
        helper.make_node("Mul", [f"{name}_twice", f"{name}_half"], [f"{name}_gate"]),
        helper.make_node("Mul", [inside, f"{name}_gate"], [outside]),
    ]


_GELU = Activation(
    "gelu",
    lambda z: z * ndtr(z),
    lambda z: ndtr(z) + z * _density(z),
    lambda z: _density(z) * (2 - z * z),
    _FLAT,
    _RISING,
    "gaussian",
    torch=_torch_gelu,
    onnx=OnnxTwin(_onnx_gelu, double=False),
)


def _inner(z: Floats) -> Floats:
    z = np.clip(z, -40.0, 40.0)  # the gate is 0 or 1 long before, and a cube may overflow
    return np.asarray(2 * _ROOT * (z + _CUBIC * z**3))  # (1 + tanh(t)) / 2 is the logistic function of 2 t


def _inner_slope(z: Floats) -> Floats:
    z = np.clip(z, -40.0, 40.0)
    return np.asarray(2 * _ROOT * (1 + 3 * _CUBIC * z * z))


def _gelu_tanh_second(z: Floats) -> Floats:
    gate, slope = _inner(z), _inner_slope(z)
    bend = 12 * _ROOT * _CUBIC * np.clip(z, -40.0, 40.0)
    return np.asarray(_sigmoid_slope(gate) * (2 * slope + z * (bend - slope**2 * np.tanh(gate / 2))))


def _torch_gelu_tanh(torch: Any) -> TorchTwin:
    def derivative(z: Any) -> Any:
        gate = torch.sigmoid(2 * _ROOT * (z + _CUBIC * z**3))
        return gate + z * gate * (1 - gate) * 2 * _ROOT * (1 + 3 * _CUBIC * z * z)

    return TorchTwin(
        lambda z: torch.nn.functional.gelu(z, approximate="tanh"), derivative, lambda: torch.nn.GELU("tanh")
    )


def _onnx_gelu_tanh(helper: Any, inside: str, outside: str) -> Sequence[Any]:
    name = outside
    return [
        *_constants(helper, name, linear=2 * _ROOT, cubic=2 * _ROOT * _CUBIC),
        helper.make_node("Mul", [inside, inside], [f"{name}_square"]),
        helper.make_node("Mul", [f"{name}_square", f"{name}_cubic"], [f"{name}_bent"]),
        helper.make_node("Add", [f"{name}_bent", f"{name}_linear"], [f"{name}_factor"]),
        helper.make_node("Mul", [f"{name}_factor", inside], [f"{name}_argument"]),
        helper.make_node("Sigmoid", [f"{name}_argument"], [f"{name}_gate"]),
        helper.make_node("Mul", [inside, f"{name}_gate"], [outside]),
    ]


_GELU_TANH = Activation(
    "gelu_tanh",
    lambda z: z * expit(_inner(z)),
    lambda z: expit(_inner(z)) + z * _sigmoid_slope(_inner(z)) * _inner_slope(z),
    _gelu_tanh_second,
    _FLAT,
    _RISING,
    "gaussian",
    torch=_torch_gelu_tanh,
    onnx=OnnxTwin(_onnx_gelu_tanh, double=False),
)

_ELU = Activation(
    "elu",
    lambda z: np.where(z > 0, z, np.expm1(np.minimum(z, 0.0))),
    lambda z: np.exp(np.minimum(z, 0.0)),
    lambda z: np.where(z > 0, 0.0, np.exp(np.minimum(z, 0.0))),
    End(-1.0),
    _RISING,
    "exponential",
    torch=lambda torch: TorchTwin(torch.nn.functional.elu, lambda z: torch.exp(z.clamp(max=0)), torch.nn.ELU),
    onnx=onnx_operator("Elu", double=False),
)


def _mish_gate(z: Floats) -> Floats:
    return np.asarray(np.tanh(np.logaddexp(0.0, z)))


def _mish_gate_slope(z: Floats) -> Floats:
    gate = _mish_gate(z)
    return np.asarray((1 - gate) * (1 + gate) * expit(z))


def _mish_second(z: Floats) -> Floats:
    slope = _mish_gate_slope(z)
    return np.asarray(slope * (2 + z * (expit(-z) - 2 * _mish_gate(z) * expit(z))))


def _torch_mish(torch: Any) -> TorchTwin:
    def derivative(z: Any) -> Any:
        gate = torch.tanh(torch.nn.functional.softplus(z))
        return gate + z * (1 - gate**2) * torch.sigmoid(z)

    return TorchTwin(torch.nn.functional.mish, derivative, torch.nn.Mish)


def _onnx_mish(helper: Any, inside: str, outside: str) -> Sequence[Any]:
    return [
        helper.make_node("Softplus", [inside], [f"{outside}_soft"]),
        helper.make_node("Tanh", [f"{outside}_soft"], [f"{outside}_gate"]),
        helper.make_node("Mul", [inside, f"{outside}_gate"], [outside]),
    ]


_MISH = Activation(
    "mish",
    lambda z: z * _mish_gate(z),
    lambda z: _mish_gate(z) + z * _mish_gate_slope(z),
    _mish_second,
    _FLAT,
    _RISING,
    "exponential",
    torch=_torch_mish,
    onnx=OnnxTwin(_onnx_mish, double=False),
)

GROWING = (_RELU, _LEAKY, _SOFTPLUS, _SILU, _GELU, _GELU_TANH, _ELU, _MISH)
