"""The kernel summary of rows that are torch tensors, computed on their device.

Plain blocked torch is the reference and works for every device and precision; float32 rows on a CUDA device with at
most 64 columns take the fused kernel of :mod:`gradsift.paper.method.fused_kernel` where Triton is installed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
from collections.abc import Iterator
from typing import Any

import torch

from ...arguments import Floats
from ...sources.torch_tensors import DEVICE_ENTRIES
from .kernel import KernelState

_DEVICE_TILE_POINTS = 8192


def kernel_state(points: Floats, X: Any, y: Any, weight: Any = None, *, precision: str = "full") -> KernelState:
    """Summarise the rows of `X` (n, d) and `y` (n,) at each of the points (m, d).

    Rows are centred in their own precision, sums are combined in float64. Relative error about 1e-6 for float32
    rows, 1e-4 to 4e-4 with ``precision="tf32"`` (fused kernel only), rounding for float64 rows.
    """
    xi = torch.as_tensor(points, dtype=torch.float64, device=X.device)
    heaviest = 1.0
    if weight is not None:
        keep = weight > 0  # a row that weighs nothing must not set the shift either
        X, y, heaviest = X[keep], y[keep], float(weight.max())
        weight = (weight[keep] / heaviest).to(X.dtype)
    center, y_center = _mean(X, weight).to(X.dtype), _mean(y[:, None], weight)[0].to(y.dtype)
    x, t = X - center, y - y_center
    column_mass = heaviest * (float(len(X)) if weight is None else float(weight.sum(dtype=torch.float64)))
    left_over = _mean(x, weight)  # the centre was rounded to the rows' precision
    scatter = _mean(x, weight, power=2) - left_over**2
    if _fits_kernel(X):
        from .fused_kernel import device_sums

        sums: Any = device_sums(xi, x, t, weight, exact=precision == "full")
    else:
        sums = plain_sums(xi, x, t, weight)
    mass = sums.mass[:, None]
    x_mean, y_mean = sums.x / mass, sums.y / sums.mass
    center, y_center = center.double(), y_center.double()
    return KernelState(
        column_mass=column_mass,
        column_mean=_numpy(center + left_over),
        column_scatter=column_mass * _numpy(scatter),
        shift=_numpy(sums.shift + xi @ center) + math.log(heaviest),
        mass=_numpy(sums.mass),
        mass2=_numpy(sums.mass2),
        x_mean=_numpy(x_mean + center),
        y_mean=_numpy(y_mean + y_center),
        y_scatter=_numpy((sums.yy / sums.mass - y_mean**2).clamp(min=0.0)),
        comoment=_numpy(sums.xy / mass - x_mean * y_mean[:, None]),
    )


def _mean(columns: Any, weight: Any, power: int = 1) -> Any:
    """Weighted mean of a power of each column, summed in float64 piece by piece."""
    weight = columns.new_ones(len(columns)) if weight is None else weight
    pieces = zip(columns.split(2**18), weight.split(2**18))
    total = sum(w.double() @ part.double() ** power for part, w in pieces)
    return total / weight.sum(dtype=torch.float64)


def _fits_kernel(X: Any) -> bool:
    if X.device.type != "cuda" or X.dtype != torch.float32 or importlib.util.find_spec("triton") is None:
        return False
    from .fused_kernel import MAX_FEATURES

    return bool(X.shape[1] <= MAX_FEATURES)


class PlainSums:
    """Running sums at m points under a running shift, in float64."""

    def __init__(self, points: Any, width: int) -> None:
        m = len(points)
        self.shift = torch.full((m,), -torch.inf, dtype=torch.float64, device=points.device)
        self.columns = torch.zeros((m, width), dtype=torch.float64, device=points.device)
        self.mass2 = torch.zeros(m, dtype=torch.float64, device=points.device)
        d = (width - 3) // 2
        self.x, self.mass, self.xy = self.columns[:, :d], self.columns[:, d], self.columns[:, d + 1 : 2 * d + 1]
        self.y, self.yy = self.columns[:, -2], self.columns[:, -1]


def plain_sums(points: Any, x: Any, y: Any, weight: Any) -> PlainSums:
    """Sum weights, x, y, y^2 and y x by blocks of rows; O(m n d) flops, 0.5 GB of temporaries at most."""
    d = x.shape[1]
    total = PlainSums(points, 2 * d + 3)
    rows_per_block = max(1024, DEVICE_ENTRIES // min(len(points), _DEVICE_TILE_POINTS))
    with _without_rounding():
        for start in range(0, len(x), rows_per_block):
            here = slice(start, start + rows_per_block)
            keys, target = x[here], y[here]
            ones = torch.ones_like(target)
            values = torch.column_stack((keys, ones, keys * target[:, None], target, target * target))
            row_weight = None if weight is None else weight[here]
            for i in range(0, len(points), _DEVICE_TILE_POINTS):
                _add_points(total, slice(i, i + _DEVICE_TILE_POINTS), points, keys, values, row_weight)
    return total


def _add_points(total: PlainSums, some: slice, points: Any, keys: Any, values: Any, row_weight: Any) -> None:
    scores = points[some].to(keys.dtype) @ keys.T  # (p, rows)
    shift = torch.maximum(total.shift[some], scores.amax(dim=1).double())
    scores.sub_(shift.to(scores.dtype)[:, None]).exp_()
    fade = torch.exp(total.shift[some] - shift)
    if row_weight is not None:
        scores.mul_(row_weight)
    total.columns[some] = total.columns[some] * fade[:, None] + (scores @ values).double()
    total.mass2[some] = total.mass2[some] * fade**2 + scores.square_().sum(dim=1).double()
    total.shift[some] = shift


@contextlib.contextmanager
def _without_rounding() -> Iterator[None]:
    """A user may have allowed tf32 products for a network; sums of exponentials cannot afford them."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _numpy(tensor: Any) -> Floats:
    values: Floats = tensor.cpu().numpy()
    return values
