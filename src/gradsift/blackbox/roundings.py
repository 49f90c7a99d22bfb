"""How the outputs of a box are rounded: to doubles, to shorter floats, to decimals. Told from the numbers alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..checking import Floats

__all__ = ["DOUBLE", "SPACING", "Rounding", "grid_of", "rounding_of", "rounding_of_share", "single_spacing"]

DOUBLE = 2.0**-52
SPACING = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23}  # of numbers, relative to their size
_MOST_DECIMALS = 9
_BELOW_ONE = 2.0**-53  # spacing of numbers just below one
_LEAST_RESULT = 2.0**-1074  # spacing of the smallest numbers
_STEPS = (50, 25, 20, 5, 2)  # of the last decimal: quarters, halves, twentieths
_LUCK = 1e-5  # chance that so many numbers are multiples of such a step
_FEW_ULPS = 4.0  # of an output: it is the sum of some terms


class Rounding(NamedTuple):
    """How one output is rounded.

    Attributes
    ----------
    kind : {"exact", "float32", "float16", "bfloat16", "rounded"}
    grid : float
        Spacing of decimals, 0 where there is none.
    size : float
        Largest absolute output seen.
    """

    kind: str
    grid: float
    size: float

    @property
    def eps(self) -> float:
        """Spacing of the numbers that the box calculates with, relative to their size."""
        return SPACING.get(self.kind, DOUBLE)

    @property
    def ulp(self) -> float:
        """Spacing of these numbers at the largest output."""
        return self.eps * self.size

    def errors(self, outputs: Floats) -> Floats:
        """Return the size of the errors of such outputs, (n,)."""
        return np.asarray(_FEW_ULPS * self.eps * np.abs(outputs) + 0.5 * self.grid + _LEAST_RESULT)


def rounding_of(y: Floats) -> Rounding:
    """Tell how an output is rounded from some of its values, (n,); a constant shows nothing."""
    size = float(np.abs(y).max(initial=0.0))
    if np.ptp(y) == 0:
        return Rounding("exact", 0.0, size)
    decimals = _decimal_grid(y)
    if decimals:
        return Rounding("rounded", decimals, size)
    kind = next((kind for kind, spacing in SPACING.items() if _holds(y, spacing)), "exact")
    return Rounding(kind, 0.0, size)


def rounding_of_share(y: Floats) -> Rounding:
    """The same for one of several probabilities.

    It may be what others leave of one, as it is of two: its small values have lost digits, which their own spacing does
    not tell. All of them are multiples of the spacing just below one.
    """
    rounding, steps = rounding_of(y), y / _BELOW_ONE
    left = rounding.kind == "exact" and bool((np.abs(y) <= 1).all() and (steps == np.round(steps)).all())
    return rounding._replace(grid=_BELOW_ONE) if left else rounding


def grid_of(y: Floats) -> float:
    """Return the spacing of the decimal grid (up to nine digits) or of the float32 numbers that hold y, or 0.

    A grid near the spacing of the numbers themselves holds everything, and says nothing.
    """
    return _decimal_grid(y) or (single_spacing(y) if _holds(y, SPACING["float32"]) else 0.0)


def single_spacing(y: Floats) -> float:
    """Return the spacing of float32 numbers at the largest of y."""
    return float(np.spacing(np.float32(np.abs(y).max())))


def _decimal_grid(y: Floats) -> float:
    finest = single_spacing(y) if _holds(y, SPACING["float32"]) else 64 * float(np.spacing(np.abs(y).max()))
    for decimals in range(_MOST_DECIMALS + 1):
        step, scaled = 10.0**-decimals, y * 10.0**decimals
        if step < finest:
            break
        if (np.abs(scaled - np.round(scaled)) <= 4e-16 * np.abs(scaled) + 1e-300).all():
            return float(step) * _multiple(np.unique(np.round(scaled)))
    return 0.0


def _multiple(whole: Floats) -> int:
    """Return the coarsest of a few steps that holds these different whole numbers, unless that may be luck."""
    for step in _STEPS:
        if step ** -float(len(whole)) < _LUCK and (whole % step == 0).all():
            return step
    return 1


def _holds(y: Floats, spacing: float) -> bool:
    """Whether numbers of this relative spacing hold y, whatever their range."""
    mantissas = np.frexp(y)[0] * (2 / spacing)  # in [1/2, 1) before
    return bool((mantissas == np.round(mantissas)).all())
