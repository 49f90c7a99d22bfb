"""PyTorch modules."""

from __future__ import annotations

import copy
import hashlib
from functools import cached_property
from typing import Any

import numpy as np

from ...arguments import Floats
from ...runtime import load_extra
from ..oracle import Oracle


def from_torch(module: Any, *, n_features: int | None = None, output: str | None = None, **options: Any) -> Oracle:
    """Return an oracle for a module that maps (n, d) tensors to (n,) or (n, m) tensors.

    Parameters
    ----------
    module : torch.nn.Module
        Copied and put into evaluation mode: training it further changes neither the oracle nor the module's own mode.
    n_features : int, optional
        d; by default ``in_features`` of the first layer that has it.
    output : {None, "predict"}
        "predict": nothing but the number of the largest output, or whether a single one is positive.
    **options
        For :class:`~gradsift.Oracle`.

    Notes
    -----
    Rows take the device and the precision of the module's first floating-point parameter or buffer. A float32 module
    answers to seven digits; ``module.double()`` keeps sixteen of its function. On an accelerator and in double
    precision, exact methods make their questions there and solve there, unless a journal or bounds want the rows.

    Examples
    --------
    >>> import torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)).double()
    >>> oracle = from_torch(net, max_queries=1000)
    >>> oracle.n_features
    4
    >>> oracle([[0.0, 0.0, 0.0, 0.0]]).shape
    (1,)
    """
    torch = load_extra("torch", "torch")
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"module must be a torch.nn.Module, got {type(module).__name__}.")
    if output not in (None, "predict"):
        raise ValueError(f"output must be None or 'predict', got {output!r}.")
    if n_features is None:
        n_features = next((int(layer.in_features) for layer in module.modules() if hasattr(layer, "in_features")), None)
    if n_features is None:
        raise ValueError("No layer of the module says how many inputs it has: give n_features.")
    reads = _TorchModel if output is None else _TorchClasses
    return Oracle(reads(torch, copy.deepcopy(module).eval()), n_features, **options)


class _TorchModel:
    """Asks a module without tracking gradients."""

    recheckable = False  # all that it is goes into its identity

    def __init__(self, torch: Any, module: Any) -> None:
        self.torch, self.module = torch, module
        tensors = [*module.parameters(), *module.buffers()]
        like = next((t for t in tensors if t.is_floating_point()), torch.zeros(1))
        self._device, self._dtype = like.device, like.dtype
        accelerated = like.device.type != "cpu" and like.dtype == torch.float64
        self.device = like.device if accelerated else None  # where questions and answers may stay

    @cached_property
    def identity(self) -> str:
        """The class and a hash of the state."""
        state = hashlib.blake2b(repr(self.module).encode(), digest_size=16)
        for name, tensor in self.module.state_dict().items():
            state.update(name.encode())
            if isinstance(tensor, self.torch.Tensor):
                state.update(_numbers(self.torch, tensor).tobytes())
        return f"{type(self.module).__name__} {state.hexdigest()}"

    def __call__(self, rows: Floats) -> Floats:
        return _numbers(self.torch, self._values(self.torch.as_tensor(rows, dtype=self._dtype, device=self._device)))

    def on_device(self, rows: Any) -> Any:
        """Return the one output at rows on the module's device, shape (n,)."""
        return self._values(rows).reshape(len(rows)).double()

    def _values(self, rows: Any) -> Any:
        with self.torch.no_grad():
            reply = self.module(rows)
        if not isinstance(reply, self.torch.Tensor) or reply.is_complex():
            what = reply.dtype if isinstance(reply, self.torch.Tensor) else type(reply).__name__
            raise TypeError(f"The module must return a tensor of real numbers, got {what}.")
        return reply


class _TorchClasses(_TorchModel):
    """Asks a module for the class of its largest output only."""

    def __init__(self, torch: Any, module: Any) -> None:
        super().__init__(torch, module)
        self.device = None  # classes are told here

    @cached_property
    def identity(self) -> str:
        """That of the module, and what it is asked for."""
        return f"{super().identity} predict"

    def __call__(self, rows: Floats) -> Floats:
        values = super().__call__(rows)
        single = values.ndim == 1 or values.shape[1] == 1
        return np.asarray(values.reshape(-1) > 0 if single else values.argmax(axis=1), dtype=np.float64)


def _numbers(torch: Any, tensor: Any) -> Floats:
    return np.asarray(tensor.detach().to("cpu", torch.float64).numpy())
