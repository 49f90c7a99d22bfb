"""Rows that are torch tensors: they stay on their device, and only summaries leave it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arguments import LARGEST, at_least, moderate_columns
from ..progress import report
from ..runtime import load_extra
from .arrays import ArraySource
from .source import Source
from .summary import Rows, Summary, merge_all

DEVICE_ENTRIES = 2**26  # entries of X per block on a device: a float64 copy takes 512 MB


def torch_source(X: Any, y: Any, weight: Any = None, device: Any = None) -> Source:
    """Return a source of the rows of tensors; `device` moves them there first.

    Tensors in main memory are shared with NumPy, not copied, and give NumPy's numbers to the bit.
    """
    torch = load_extra("torch", "torch")
    tensors = [None if part is None else torch.as_tensor(part).detach() for part in (X, y, weight)]
    if device is not None:
        where = torch.device(device)
        if where.type == "cuda" and not torch.cuda.is_available():
            raise ValueError(f"device {str(where)!r} was asked for, but torch sees no CUDA device.")
        tensors = [None if part is None else part.to(where) for part in tensors]
    if all(part is None or part.device.type == "cpu" for part in tensors):
        return ArraySource(*(None if part is None else _for_numpy(part).numpy() for part in tensors))
    return TorchSource(*tensors)


def _for_numpy(tensor: Any) -> Any:
    return tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor


class TorchSource(Source):
    """Rows of tensors of shapes (n, d) and (n,) on one device, usually a GPU.

    float64 stays float64, integers become it, and every other type becomes float32.
    """

    def __init__(self, X: Any, y: Any, weight: Any = None) -> None:
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if X.ndim != 2 or y.ndim != 1 or 0 in X.shape:
            raise ValueError(
                f"X must be a non-empty matrix and y a vector, got shapes {tuple(X.shape)}, {tuple(y.shape)}."
            )
        for name, part in (("y", y), ("sample_weight", weight)):
            if part is not None and part.device != X.device:
                raise ValueError(f"X and {name} must be on one device, got {X.device} and {part.device}.")
            if part is not None and len(part) != len(X):
                raise ValueError(f"X and {name} must have the same number of rows, got {len(X)} and {len(part)}.")
        for name, part in (("X", X), ("y", y), ("sample_weight", weight)):
            _check(name, part)
        if weight is not None and not (bool((weight >= 0).all()) and bool(weight.any())):
            raise ValueError("sample_weight must be at least 0, and not all 0.")
        self.X, self.y, self.weight = _as_float(X), _as_float(y), None if weight is None else _as_float(weight)
        self.n_rows, self.n_features = (int(s) for s in X.shape)

    def _collect(self, summary: Summary[Any, Any]) -> Any:
        return merge_all(summary, self._chunk_blocks(summary))

    def _chunk_blocks(self, summary: Summary[Any, Any]) -> Iterator[Any]:
        step = max(summary.block_rows(self.n_features), DEVICE_ENTRIES // self.n_features)
        for start in range(0, self.n_rows, step):
            stop = min(start + step, self.n_rows)
            yield summary.chunk_on_device(self._rows_at(slice(start, stop)))
            report(self._stage, stop, self.n_rows)

    def blocks(self, block_rows: int) -> Iterator[Rows]:
        at_least("block_rows", block_rows, 1)
        for start in range(0, self.n_rows, block_rows):
            yield self._memory(slice(start, start + block_rows))

    def part(self, start: int, stop: int) -> TorchSource:
        return TorchSource(*self._rows_at(slice(start, stop)))

    def take(self, indices: np.ndarray[Any, np.dtype[np.intp]]) -> Rows:
        torch = load_extra("torch", "torch")
        return self._memory(torch.as_tensor(indices, device=self.X.device))

    def _rows_at(self, which: Any) -> Rows:
        return Rows(self.X[which], self.y[which], None if self.weight is None else self.weight[which])

    def _memory(self, which: Any) -> Rows:
        rows: Any = self._rows_at(which)
        parts: list[Any] = [None if part is None else part.double().cpu().numpy() for part in rows]
        return Rows(*parts)


def _as_float(tensor: Any) -> Any:
    if str(tensor.dtype) in ("torch.float32", "torch.float64"):
        return tensor
    return tensor.float() if tensor.dtype.is_floating_point else tensor.double()


def _check(name: str, tensor: Any) -> None:
    if tensor is None:
        return
    if tensor.dtype.is_complex:
        raise TypeError(f"{name} must hold real numbers, got {tensor.dtype}.")
    if tensor.dtype.is_floating_point and not bool(tensor.sum().isfinite()):  # one cheap look before the careful one
        bad = ~tensor.isfinite()
        if bool(bad.any()):
            raise ValueError(f"{name} must be finite, but row {int(bad.nonzero()[0][0])} holds NaN or inf.")
    if tensor.dtype.is_floating_point and float(tensor.abs().max()) > LARGEST:
        moderate_columns(name, "column", tensor.double().cpu().numpy())
