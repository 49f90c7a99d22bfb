"""The activations that grow: straight lines at both ends, and a kink between them, sharp or rounded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from ..arguments import Floats
from .record import Activation, End, Function, OnnxTwin, TorchTwin, onnx_operator
from .saturating import logistic_slope

_LEAK = 0.01  # the slope on the left that every library has as its default
_CUBIC = 0.044715  # of the approximation of GELU by tanh, as its authors printed it
_ROOT = float(np.sqrt(2 / np.pi))
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


@cache
def leaky_relu(slope: float) -> Activation:
    """Return z above zero and a multiple of it below, by a slope between 0 and 1."""

    def nodes(helper: Any, inside: str, outside: str) -> Sequence[Any]:
        # onnxruntime has LeakyRelu in single precision only, but Max in double.
        constant = helper.make_tensor(f"{outside}_slope", 11, [], [slope])  # 11: a double
        return [
            helper.make_node("Constant", [], [f"{outside}_slope"], value=constant),
            helper.make_node("Mul", [inside, f"{outside}_slope"], [f"{outside}_below"]),
            helper.make_node("Max", [inside, f"{outside}_below"], [outside]),
        ]

    return Activation(
        "leaky_relu" if slope == _LEAK else f"leaky_relu({float(slope)!r})",
        lambda z: np.maximum(z, slope * z),
        lambda z: slope + (1 - slope) * _active(z),
        _nothing,
        End(0.0, slope),
        _RISING,
        "exact",
        kinks=(0.0,),
        torch=lambda torch: TorchTwin(
            lambda z: torch.nn.functional.leaky_relu(z, slope),
            lambda z: slope + (1 - slope) * (z > 0).to(z.dtype),
            lambda: torch.nn.LeakyReLU(slope),
        ),
        onnx=OnnxTwin(nodes),
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


def _single_logistic(z: Any, out: Any) -> None:
    """Write the logistic of z to out: single precision is quickest by the hyperbolic tangent."""
    np.multiply(z, 0.5, out=out)
    np.tanh(out, out=out)
    out *= 0.5
    out += 0.5


def _single_softplus(z: Any, out: Any) -> None:
    _single_logistic(z, out)
    # log(1 + e^z) = max(z, 0) - log max(s, 1 - s) with the logistic s: no term overflows or cancels.
    remainder = np.log(np.maximum(out, 1 - out))
    np.maximum(z, 0.0, out=z)
    z -= remainder


_SOFTPLUS = Activation(
    "softplus",
    # Twice as quick as np.logaddexp, and e^-|z| cannot overflow.
    lambda z: np.asarray(np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z)))),
    expit,
    logistic_slope,
    _FLAT,
    _RISING,
    "exponential",
    single=_single_softplus,
    torch=lambda torch: TorchTwin(
        lambda z: torch.logaddexp(z, torch.zeros((), dtype=z.dtype, device=z.device)), torch.sigmoid
    ),
    onnx=onnx_operator("Softplus", double=False),
)


def _with_gate(
    name: str, tails: str, gate: Function, slope: Function, relative: Function, *,
    torch: Callable[[Any], tuple[Any, Any, Any, Any]], onnx: Callable[[Any, str, str], Sequence[Any]],
    double: bool = False, single: Callable[[Any, Any], None] | None = None,
) -> Activation:  # fmt: skip
    """Return ``f(z) = z G(z)`` with a gate G that rises from 0 to 1.

    Parameters
    ----------
    slope, relative : callables
        G', and the relative slope G''/G' of that, which stays a simple function where G' underflows.
    torch : callable
        From the module to f as torch has it, G, G', and torch's module class.
    onnx : callable
        Nodes that compute G; `double`: onnxruntime has them in double precision.
    """

    def torch_twin(module: Any) -> TorchTwin:
        value, its_gate, its_slope, layer = torch(module)
        return TorchTwin(value, lambda z: its_gate(z) + z * its_slope(z), layer)

    def onnx_gate(helper: Any, inside: str, outside: str) -> Sequence[Any]:
        inner = f"{outside}_gate"
        return [*onnx(helper, inside, inner), helper.make_node("Mul", [inside, inner], [outside])]

    return Activation(
        name,
        lambda z: z * gate(z),
        lambda z: gate(z) + z * slope(z),
        # f'' = 2 G' + z G'' with G' taken out: both terms share its tail, which would cost digits in a sum.
        lambda z: slope(z) * (2 + z * relative(z)),
        _FLAT,
        _RISING,
        tails,
        single=single,
        torch=torch_twin,
        onnx=OnnxTwin(onnx_gate, double),
    )


def _single_with_gate(z: Any, out: Any) -> None:
    _single_logistic(z, out)
    gate = out.copy()
    # f' = s (1 + z (1 - s)), formed in place; then f = z s.
    np.subtract(1, gate, out=out)
    out *= z
    out += 1
    out *= gate
    z *= gate


_SILU = _with_gate(
    "silu",
    "exponential",
    expit,
    logistic_slope,
    lambda z: -np.tanh(z / 2),
    torch=lambda torch: (
        torch.nn.functional.silu,
        torch.sigmoid,
        lambda z: torch.sigmoid(z) * torch.sigmoid(-z),
        torch.nn.SiLU,
    ),
    onnx=lambda helper, inside, gate: [helper.make_node("Sigmoid", [inside], [gate])],
    double=True,
    single=_single_with_gate,
)


def _onnx_numbers(helper: Any, prefix: str, **numbers: float) -> list[Any]:
    """Return nodes for float32 numbers, each named after the prefix."""
    return [helper.make_node("Constant", [], [f"{prefix}_{name}"], value_float=v) for name, v in numbers.items()]


_GELU = _with_gate(
    "gelu",
    "gaussian",
    ndtr,
    lambda z: np.asarray(np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)),
    lambda z: -z,
    torch=lambda torch: (
        torch.nn.functional.gelu,
        lambda z: 0.5 * torch.erfc(-z / 2**0.5),
        lambda z: torch.exp(-0.5 * z * z) / (2 * torch.pi) ** 0.5,
        torch.nn.GELU,
    ),
    onnx=lambda helper, inside, gate: [
        *_onnx_numbers(helper, gate, root=0.5**0.5, half=0.5, one=1.0),
        helper.make_node("Mul", [inside, f"{gate}_root"], [f"{gate}_scaled"]),
        helper.make_node("Erf", [f"{gate}_scaled"], [f"{gate}_erf"]),
        helper.make_node("Add", [f"{gate}_erf", f"{gate}_one"], [f"{gate}_twice"]),
        helper.make_node("Mul", [f"{gate}_twice", f"{gate}_half"], [gate]),
    ],
)


def _inner(z: Floats) -> Floats:
    """Return t(z), of which the gate of GELU by tanh is the logistic function: (1 + tanh(t / 2)) / 2."""
    z = np.clip(z, -40.0, 40.0)  # the gate is 0 or 1 long before, and a cube may overflow
    return np.asarray(2 * _ROOT * (z + _CUBIC * z**3))


def _inner_slope(z: Floats) -> Floats:
    z = np.clip(z, -40.0, 40.0)
    return np.asarray(2 * _ROOT * (1 + 3 * _CUBIC * z * z))


def _inner_relative(z: Floats) -> Floats:
    # With G = s(t): G' = s'(t) t' and G''/G' = t''/t' - t' tanh(t / 2).
    slope, bend = _inner_slope(z), 12 * _ROOT * _CUBIC * np.clip(z, -40.0, 40.0)
    return np.asarray(bend / slope - slope * np.tanh(_inner(z) / 2))


def _torch_inner(torch: Any) -> tuple[Any, Any, Any, Any]:
    def gate(z: Any) -> Any:
        return torch.sigmoid(2 * _ROOT * (z + _CUBIC * z**3))

    def slope(z: Any) -> Any:
        return gate(z) * (1 - gate(z)) * 2 * _ROOT * (1 + 3 * _CUBIC * z * z)

    return lambda z: torch.nn.functional.gelu(z, approximate="tanh"), gate, slope, lambda: torch.nn.GELU("tanh")


_GELU_TANH = _with_gate(
    "gelu_tanh",
    "gaussian",
    lambda z: expit(_inner(z)),
    lambda z: logistic_slope(_inner(z)) * _inner_slope(z),
    _inner_relative,
    torch=_torch_inner,
    onnx=lambda helper, inside, gate: [
        *_onnx_numbers(helper, gate, linear=2 * _ROOT, cubic=2 * _ROOT * _CUBIC),
        helper.make_node("Mul", [inside, inside], [f"{gate}_square"]),
        helper.make_node("Mul", [f"{gate}_square", f"{gate}_cubic"], [f"{gate}_bent"]),
        helper.make_node("Add", [f"{gate}_bent", f"{gate}_linear"], [f"{gate}_factor"]),
        helper.make_node("Mul", [f"{gate}_factor", inside], [f"{gate}_argument"]),
        helper.make_node("Sigmoid", [f"{gate}_argument"], [gate]),
    ],
)


def _gate_of_softplus(z: Floats) -> Floats:
    return np.asarray(np.tanh(np.logaddexp(0.0, z)))


_MISH = _with_gate(
    "mish",
    "exponential",
    _gate_of_softplus,
    lambda z: np.asarray((1 - (gate := _gate_of_softplus(z))) * (1 + gate) * expit(z)),
    lambda z: expit(-z) - 2 * _gate_of_softplus(z) * expit(z),
    torch=lambda torch: (
        torch.nn.functional.mish,
        lambda z: torch.tanh(torch.nn.functional.softplus(z)),
        lambda z: (1 - torch.tanh(torch.nn.functional.softplus(z)) ** 2) * torch.sigmoid(z),
        torch.nn.Mish,
    ),
    onnx=lambda helper, inside, gate: [
        helper.make_node("Softplus", [inside], [f"{gate}_soft"]),
        helper.make_node("Tanh", [f"{gate}_soft"], [gate]),
    ],
)

GROWING = (_RELU, leaky_relu(_LEAK), _SOFTPLUS, _SILU, _GELU, _GELU_TANH, _ELU, _MISH)
