"""The same activation in other libraries; each package is imported only where it is used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

__all__ = ["OnnxTwin", "TorchTwin", "onnx_operator"]


class TorchTwin(NamedTuple):
    """f and f', elementwise on tensors, by the same formulas as in NumPy.

    `module` is torch's own module class for f, None where it has none.
    """

    value: Callable[[Any], Any]
    derivative: Callable[[Any], Any]
    module: Callable[[], Any] | None = None


class OnnxTwin(NamedTuple):
    """f as nodes of an ONNX graph.

    Attributes
    ----------
    nodes : callable
        ``nodes(helper, inside, outside)`` returns the nodes that compute the tensor named `outside` from the one named
        `inside`; `helper` is ``onnx.helper``.
    double : bool
        Whether onnxruntime has these operators in double precision; else the nodes see float32.
    """

    nodes: Callable[[Any, str, str], Sequence[Any]]
    double: bool = True


def onnx_operator(name: str, *, double: bool, **attributes: Any) -> OnnxTwin:
    """Return the twin that is a single operator."""
    return OnnxTwin(lambda helper, inside, outside: [helper.make_node(name, [inside], [outside], **attributes)], double)
