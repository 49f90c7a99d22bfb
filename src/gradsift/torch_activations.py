"""The sigmoids as torch functions, for rows on a device and for exported modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .extras import load_extra

__all__ = ["TorchActivation", "torch_activation"]

Function = Callable[[Any], Any]


class TorchActivation(NamedTuple):
    """f and f', elementwise on tensors; the same formulas as :mod:`gradsift.activations`."""

    value: Function
    derivative: Function


def torch_activation(name: str) -> TorchActivation:
    """Return the functions for one of the names in :data:`gradsift.activations.ACTIVATIONS`."""
    torch = load_extra("torch", "torch")

    def tanh_derivative(z: Any) -> Any:
        e = torch.exp(-2 * z.abs())  # 1 - tanh^2 would cancel in the tails
        return 4 * e / (1 + e) ** 2

    known = {
        "tanh": (torch.tanh, tanh_derivative),
        "logistic": (torch.sigmoid, lambda z: tanh_derivative(z / 2) / 4),
        "erf": (torch.erf, lambda z: 2 / torch.pi**0.5 * torch.exp(-z * z)),
        "arctan": (torch.atan, lambda z: 1 / (1 + z * z)),
        "softsign": (lambda z: z / (1 + z.abs()), lambda z: 1 / (1 + z.abs()) ** 2),
    }
    return TorchActivation(*known[name])
