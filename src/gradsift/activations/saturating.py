"""The sigmoids that come with the package: increasing, with limits, and odd about their value at zero."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import erf, erfinv, expit, logit

from ..arguments import Floats
from .record import Activation, End, Odd, TorchTwin, onnx_operator

_SQRT_PI = float(np.sqrt(np.pi))


def logistic_slope(z: Floats) -> Floats:
    """Return the derivative of the logistic function; s (1 - s) would cancel in the tail where s is nearly one."""
    e = np.exp(-np.abs(z))
    return np.asarray(e / (1 + e) ** 2)


def _slope_of_value(v: Floats, out: Any = None) -> Floats:
    return np.asarray(np.subtract(1, np.multiply(v, v, out=out), out=out))


def _torch_slope(torch: Any) -> Any:
    """Return the derivative of the logistic function for tensors."""

    def slope(z: Any) -> Any:
        e = torch.exp(-z.abs())
        return e / (1 + e) ** 2

    return slope


_TANH = Activation(
    "tanh",
    np.tanh,
    lambda z: 4 * logistic_slope(2 * z),  # tanh(z) = 2 s(2 z) - 1
    lambda z: -8 * np.tanh(z) * logistic_slope(2 * z),
    End(-1.0),
    End(1.0),
    "exponential",
    np.arctanh,
    odd=Odd(flat=19.1, usable=14.0),
    derivative_of_value=_slope_of_value,
    torch=lambda torch: TorchTwin(torch.tanh, lambda z: 4 * _torch_slope(torch)(2 * z), torch.nn.Tanh),
    onnx=onnx_operator("Tanh", double=True),
    sklearn="tanh",
)

_LOGISTIC = Activation(
    "logistic",
    expit,
    logistic_slope,
    lambda z: -np.tanh(z / 2) * logistic_slope(z),
    End(0.0),
    End(1.0),
    "exponential",
    logit,
    odd=Odd(flat=19.1, usable=14.0, of=_TANH, gain=0.5, stretch=0.5),
    torch=lambda torch: TorchTwin(torch.sigmoid, _torch_slope(torch), torch.nn.Sigmoid),
    onnx=onnx_operator("Sigmoid", double=True),
    sklearn="logistic",
)

_ERF = Activation(
    "erf",
    erf,
    lambda z: 2 / _SQRT_PI * np.exp(-z * z),
    lambda z: -4 / _SQRT_PI * z * np.exp(-z * z),
    End(-1.0),
    End(1.0),
    "gaussian",
    erfinv,
    odd=Odd(flat=5.95, usable=4.9),
    torch=lambda torch: TorchTwin(torch.erf, lambda z: 2 / torch.pi**0.5 * torch.exp(-z * z)),
    onnx=onnx_operator("Erf", double=False),
)

_ARCTAN = Activation(
    "arctan",
    np.arctan,
    lambda z: 1 / (1 + z * z),
    lambda z: -2 * z / (1 + z * z) ** 2,
    End(-np.pi / 2),
    End(np.pi / 2),
    "algebraic",
    np.tan,
    odd=Odd(flat=np.inf, usable=np.inf),
    torch=lambda torch: TorchTwin(torch.atan, lambda z: 1 / (1 + z * z)),
    onnx=onnx_operator("Atan", double=False),
)

_SOFTSIGN = Activation(
    "softsign",
    lambda z: z / (1 + np.abs(z)),
    lambda z: 1 / (1 + np.abs(z)) ** 2,
    lambda z: -2 * np.sign(z) / (1 + np.abs(z)) ** 3,
    End(-1.0),
    End(1.0),
    "algebraic",
    lambda v: v / (1 - np.abs(v)),
    torch=lambda torch: TorchTwin(lambda z: z / (1 + z.abs()), lambda z: 1 / (1 + z.abs()) ** 2, torch.nn.Softsign),
    onnx=onnx_operator("Softsign", double=False),
)

SIGMOIDS = (_TANH, _LOGISTIC, _ERF, _ARCTAN, _SOFTSIGN)
