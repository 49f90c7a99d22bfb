"""Where a box may be asked: bounds, typical rows, and the frame that these give; and where it was, with its answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Floats, finite_matrix
from ..model import SigmoidCombination
from ..network import Network


class Answers(NamedTuple):
    """Everything an oracle was asked: X (n, d), and Y (n,) or, with several outputs, (n, m)."""

    X: Floats
    Y: Floats


class Bounds(NamedTuple):
    """The box that queries must stay in: low and high, (d,) each."""

    low: Floats
    high: Floats

    def nearest(self, rows: Floats) -> Floats:
        """Return the rows (n, d), moved to the box where they lie outside: by rounding, if they were meant to be in."""
        return np.clip(rows, self.low, self.high)

    def require(self, rows: Floats) -> None:
        """Raise a ValueError that names the first of the rows, (n, d), outside."""
        outside = (rows < self.low) | (rows > self.high)
        if outside.any():
            i, j = (int(index) for index in np.argwhere(outside)[0])
            raise ValueError(
                f"X must stay in the bounds, but row {i} has {rows[i, j]:g} in column {j}, outside "
                f"[{self.low[j]:g}, {self.high[j]:g}]."
            )


class InputFrame(NamedTuple):
    """Centre and scale of each input, (d,) each: a view in this frame is asked at ``(x - center) / scale``."""

    center: Floats
    scale: Floats

    def inside(self, model: SigmoidCombination | Network) -> SigmoidCombination | Network:
        """Return a model of x as one of ``(x - center) / scale``."""
        if isinstance(model, Network):
            return model.from_frame(-self.center / self.scale, 1 / self.scale)
        a = model.units * model.slopes[:, None]
        return SigmoidCombination(
            a * self.scale, model.weights, 1.0, model.offsets + a @ self.center,
            model.intercept + float(model.linear @ self.center), model.activation, model.linear * self.scale,
        )  # fmt: skip

    def outside(self, model: SigmoidCombination | Network) -> SigmoidCombination | Network:
        """Return a model of ``(x - center) / scale`` as one of x."""
        if isinstance(model, Network):
            return model.from_frame(self.center, self.scale).canonical()
        a = model.units * model.slopes[:, None] / self.scale
        linear = model.linear / self.scale
        return SigmoidCombination(
            a, model.weights, 1.0, model.offsets - a @ self.center,
            model.intercept - float(linear @ self.center), model.activation, linear,
        )  # fmt: skip

    def widening(self, model: SigmoidCombination | Network) -> Floats:
        """Return by which factor directions of a model of x are known less well than in the frame, (k,).

        By at most the ratio of the largest to the typical entry of ``1 / scale``: these are those of the worst case.
        """
        if isinstance(model, Network):
            return np.ones(1)
        return np.asarray(self._slopes(model) / self.scale.min() / model.slopes)

    def _slopes(self, model: SigmoidCombination) -> Floats:
        """Return the slopes of a model of x in the frame, (k,)."""
        return np.asarray(np.linalg.norm(model.units * model.slopes[:, None] * self.scale, axis=1))

    def errors_outside(self, errors: dict[str, Floats], model: SigmoidCombination | Network) -> dict[str, Floats]:
        """Return standard errors of parameters in the frame as those of a model of x."""
        moved = dict(errors)
        if "units" in errors and not isinstance(model, Network):
            slopes, worse = self._slopes(model), self.widening(model)
            away = np.linalg.norm(self.center / self.scale)
            across = np.hypot(slopes * errors["units"], errors["slopes"])
            moved["offsets"] = np.hypot(errors["offsets"], away * across)
            moved["units"] = errors["units"] * worse
            moved["slopes"] = errors["slopes"] * model.slopes / slopes * np.maximum(worse, 1.0)
        if "linear" in errors:
            moved["linear"] = errors["linear"] / self.scale
        return moved


def read_inputs(inputs: ArrayLike | None, n_features: int) -> Floats | None:
    """Return a sample of typical rows, (n, d), as numbers."""
    if inputs is None:
        return None
    rows = finite_matrix("inputs", inputs, n_features)
    if len(rows) < 2:
        raise ValueError(f"inputs must be a sample of at least 2 typical rows, got {len(rows)}.")
    return rows


def read_bounds(bounds: tuple[ArrayLike, ArrayLike] | None, n_features: int) -> Bounds | None:
    """Return bounds for every input."""
    if bounds is None:
        return None
    try:
        low, high = (np.broadcast_to(np.asarray(b, dtype=np.float64), (n_features,)).copy() for b in bounds)
    except (TypeError, ValueError):
        raise ValueError(
            f"bounds must be a pair (low, high) of numbers or of vectors of length {n_features}, got {bounds!r}."
        ) from None
    if not (low < high).all():  # NaN too
        raise ValueError(f"bounds must have low < high in every coordinate, got {bounds!r}.")
    return Bounds(low, high)
