"""The sums of eq:Slope in one fused GPU kernel: scores, weights and weighted sums never leave the chip.

It is attention with points as queries and rows as keys *and* values. A program owns a tile of points and one split of
the rows, walks over the rows with a running maximum (streaming softmax), and writes its partial sums; the splits are
merged in float64 afterwards.

The matrix units multiply 11-bit significands. Each float32 operand is therefore carried as two float16 numbers,
``v = high + low``, and three products (high high, low high, high low) give a float32-accurate one at the rate of
float16, twice that of tf32. Powers of two bring every operand near 2^10, where neither part leaves float16's range.
Blocks are summed in float32 registers rather than in the matrix units, whose accumulation truncates.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl

MAX_FEATURES = 64  # beyond it, accumulators of a tile no longer fit into the registers

_WEIGHT_BITS = tl.constexpr(14)  # weights are kept in (0, 2^14]: their low parts stay clear of float16's subnormals
_OPERAND_BITS = 10


class DeviceSums(NamedTuple):
    """Sums over the rows at m points, weights ``exp(score - shift)``; float64 tensors on the device."""

    shift: torch.Tensor  # (m,)
    mass: torch.Tensor  # (m,)
    mass2: torch.Tensor  # (m,)
    x: torch.Tensor  # (m, d)
    y: torch.Tensor  # (m,)
    yy: torch.Tensor  # (m,)
    xy: torch.Tensor  # (m, d)


class KernelShape(NamedTuple):
    """Launch shape: points and rows per tile, warps, pipeline stages."""

    points: int
    rows: int
    warps: int
    stages: int


# Of nine shapes tried on an H200 at widths 16, 32 and 64, exact or not, the fastest or at most a sixth slower:
# speed/gpu_kernel.py --tune times the runners-up.
TILING = KernelShape(points=64, rows=64, warps=4, stages=3)


@triton.jit  # type: ignore[untyped-decorator]
def _partial_sums(  # type: ignore[no-untyped-def]  # Triton compiles annotations too, and knows only its own
    points_high,
    points_low,
    point_scale,
    keys_high,
    keys_low,
    cross_high,
    cross_low,
    targets,
    row_weights,
    vectors_out,  # (splits, m, 2 D): sums of x and of y x
    scalars_out,  # (splits, 5, m): largest exponent, mass, mass of squares, sums of y and y^2
    n_points,
    n_rows,
    rows_per_split,
    D: tl.constexpr,
    EXACT: tl.constexpr,
    POINTS: tl.constexpr,
    ROWS: tl.constexpr,
):
    point = tl.program_id(0) * POINTS + tl.arange(0, POINTS)
    split = tl.program_id(1)
    column = tl.arange(0, D)
    q_high = tl.load(points_high + point[:, None] * D + column[None, :])
    q_low = tl.load(points_low + point[:, None] * D + column[None, :])
    scale = tl.load(point_scale + point)  # from product to exponent of two

    top = tl.full([POINTS], float("-inf"), tl.float32)
    mass = tl.zeros([POINTS], tl.float32)
    mass2 = tl.zeros([POINTS], tl.float32)
    y_sum = tl.zeros([POINTS], tl.float32)
    yy_sum = tl.zeros([POINTS], tl.float32)
    x_sum = tl.zeros([POINTS, D], tl.float32)
    xy_sum = tl.zeros([POINTS, D], tl.float32)

    begin = split * rows_per_split
    end = tl.minimum(begin + rows_per_split, n_rows)
    for first in range(begin, end, ROWS):
        row = first + tl.arange(0, ROWS)
        tile = row[:, None] * D + column[None, :]
        k_high = tl.load(keys_high + tile)
        c_high = tl.load(cross_high + tile)
        y = tl.load(targets + row)
        row_weight = tl.load(row_weights + row)

        scores = tl.dot(q_high, tl.trans(k_high))
        if EXACT:
            k_low = tl.load(keys_low + tile)
            c_low = tl.load(cross_low + tile)
            scores = tl.dot(q_low, tl.trans(k_high), scores)
            scores = tl.dot(q_high, tl.trans(k_low), scores)
        new_top = tl.maximum(top, tl.max(scores, 1) * scale)
        fade = tl.exp2(top - new_top)
        weight = tl.exp2(scores * scale[:, None] - (new_top - _WEIGHT_BITS)[:, None]) * row_weight[None, :]
        top = new_top

        mass = mass * fade + tl.sum(weight, 1)
        mass2 = mass2 * (fade * fade) + tl.sum(weight * weight, 1)
        weighted_y = weight * y[None, :]
        y_sum = y_sum * fade + tl.sum(weighted_y, 1)
        yy_sum = yy_sum * fade + tl.sum(weighted_y * y[None, :], 1)

        w_high = weight.to(tl.float16)
        x_part = tl.dot(w_high, k_high)
        xy_part = tl.dot(w_high, c_high)
        if EXACT:
            w_low = (weight - w_high.to(tl.float32)).to(tl.float16)
            x_part = tl.dot(w_low, k_high, x_part)
            xy_part = tl.dot(w_low, c_high, xy_part)
            x_part = tl.dot(w_high, k_low, x_part)
            xy_part = tl.dot(w_high, c_low, xy_part)
        x_sum = x_sum * fade[:, None] + x_part
        xy_sum = xy_sum * fade[:, None] + xy_part

    inside = point < n_points
    vectors = vectors_out + (split * n_points + point)[:, None] * (2 * D) + column[None, :]
    tl.store(vectors, x_sum, mask=inside[:, None])
    tl.store(vectors + D, xy_sum, mask=inside[:, None])
    scalars = scalars_out + split * 5 * n_points + point
    tl.store(scalars, top, mask=inside)
    tl.store(scalars + n_points, mass, mask=inside)
    tl.store(scalars + 2 * n_points, mass2, mask=inside)
    tl.store(scalars + 3 * n_points, y_sum, mask=inside)
    tl.store(scalars + 4 * n_points, yy_sum, mask=inside)


def device_sums(
    points: torch.Tensor,
    x: torch.Tensor,
    y: torch.Tensor,
    weight: torch.Tensor | None,
    *,
    exact: bool = True,
    tiling: KernelShape = TILING,
) -> DeviceSums:
    """Sum weights, x, y, y^2 and y x over the rows of `x` at each point.

    Parameters
    ----------
    points : (m, d) float64 tensor, d at most ``MAX_FEATURES``
    x : (n, d) float32 tensor
        Rows, centred by the caller.
    y : (n,) float32 tensor
        Centred as well.
    weight : (n,) float32 tensor of positive numbers, or None
    exact : bool
        False multiplies once, with operands rounded to 11 bits (what tf32 keeps): 1e-4 to 4e-4 relative error.
    tiling : KernelShape

    Notes
    -----
    O(m n d) flops; 8 d + 8 bytes per row (d padded to 16, 32 or 64) beside the rows.
    """
    m, d = points.shape
    width = max(16, 1 << (d - 1).bit_length())
    n_rows = -(-len(x) // tiling.rows) * tiling.rows
    n_tiles = -(-m // tiling.points)

    reach = _power_at_least(x.abs().amax(dim=0))  # (d,)
    y_reach = _power_at_least(y.abs().amax())
    keys = x * (2.0**_OPERAND_BITS / reach)
    unit_y = y / y_reach
    k_high, k_low = _split(keys, n_rows, width)
    c_high, c_low = _split(keys * unit_y[:, None], n_rows, width)
    # Padding rows weigh nothing, and with the key of the first row they cannot set the running maximum either.
    k_high[len(x) :], k_low[len(x) :] = k_high[0], k_low[0]
    largest = 1.0 if weight is None else float(weight.max())
    row_weights = torch.zeros(n_rows, dtype=torch.float32, device=x.device)
    row_weights[: len(x)] = 1.0 if weight is None else weight / largest
    targets = torch.zeros_like(row_weights)
    targets[: len(x)] = unit_y

    queries = points * reach.double()  # (m, d)
    size = _power_at_least(queries.abs().amax(dim=1))  # (m,)
    q_high, q_low = _split((queries * (2.0**_OPERAND_BITS / size)[:, None]).float(), n_tiles * tiling.points, width)
    exponent_scale = torch.zeros(n_tiles * tiling.points, dtype=torch.float32, device=x.device)
    exponent_scale[:m] = size * 4.0**-_OPERAND_BITS * 1.4426950408889634  # log2(e)

    splits, rows_per_split = _split_blocks(n_rows // tiling.rows, n_tiles, x.device)
    vectors = torch.empty((splits, m, 2 * width), dtype=torch.float32, device=x.device)
    scalars = torch.empty((splits, 5, m), dtype=torch.float32, device=x.device)
    with torch.cuda.device(x.device):
        _partial_sums[(n_tiles, splits)](
            q_high, q_low, exponent_scale, k_high, k_low, c_high, c_low, targets, row_weights, vectors, scalars,
            m, n_rows, rows_per_split * tiling.rows,
            D=width, EXACT=exact, POINTS=tiling.points, ROWS=tiling.rows,
            num_warps=tiling.warps, num_stages=tiling.stages,
        )  # fmt: skip

    # Merge the splits in float64.
    top = scalars[:, 0].double()  # (splits, m)
    best = top.amax(dim=0)
    fade = torch.exp2(top - best)
    _, mass, mass2, y_sum, yy_sum = scalars.double().unbind(dim=1)
    summed = torch.einsum("sm,smd->md", fade, vectors.double())
    back = largest * reach.double() * 2.0**-_OPERAND_BITS  # (d,)
    y_back = y_reach.double()
    return DeviceSums(
        shift=(best - _WEIGHT_BITS.value) * 0.6931471805599453,
        mass=largest * (fade * mass).sum(dim=0),
        mass2=largest**2 * (fade**2 * mass2).sum(dim=0),
        x=summed[:, :d] * back,
        y=largest * y_back * (fade * y_sum).sum(dim=0),
        yy=largest * y_back**2 * (fade * yy_sum).sum(dim=0),
        xy=summed[:, width : width + d] * back * y_back,
    )


def _power_at_least(values: torch.Tensor) -> torch.Tensor:
    """Return the power of two at or above each value (1 for zero), so that scaling rounds nothing."""
    return torch.where(values > 0, torch.exp2(torch.ceil(torch.log2(values))), torch.ones_like(values))


def _split(values: torch.Tensor, n_rows: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return float16 tensors (n_rows, width), padded with zeros, whose sum is `values` to 22 bits."""
    high = torch.zeros((n_rows, width), dtype=torch.float16, device=values.device)
    low = torch.zeros_like(high)
    inner = high[: len(values), : values.shape[1]]
    inner.copy_(values)
    low[: len(values), : values.shape[1]] = values - inner
    return high, low


def _split_blocks(n_blocks: int, n_tiles: int, device: torch.device) -> tuple[int, int]:
    """Return (splits, blocks per split): about eight programs for each multiprocessor, none of them empty."""
    wanted = max(1, round(8 * torch.cuda.get_device_properties(device).multi_processor_count / n_tiles))
    blocks = max(8, -(-n_blocks // wanted))  # fewer than eight blocks would not pay for writing the sums
    return -(-n_blocks // blocks), blocks
