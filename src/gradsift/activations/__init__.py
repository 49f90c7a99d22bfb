"""Each activation: one record that says all there is to say about it, and the door by which more of them come in."""

from __future__ import annotations

from .catalogue import ACTIVATIONS, get_activation, register
from .growing import leaky_relu
from .record import Activation, End, Odd, OddForm, OnnxTwin, TorchTwin, onnx_operator

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "End",
    "Odd",
    "OddForm",
    "OnnxTwin",
    "TorchTwin",
    "get_activation",
    "leaky_relu",
    "onnx_operator",
    "register",
]
