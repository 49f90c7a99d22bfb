"""How an answer errs: exact, float32, rounded to decimals, noisy, or only a label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ..arguments import Floats
from ..oracle.output_links import OutputLink

DOUBLE = float(np.finfo(np.float64).eps)
SPACING = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23}  # of numbers, relative to their size
_BETWEEN = float(np.sqrt(DOUBLE * SPACING["float32"]))  # relative errors from here on are those of single precision
_MOST_DECIMALS = 9
_BELOW_ONE = float(np.finfo(np.float64).epsneg)  # spacing of numbers just below one
_LEAST_RESULT = float(np.finfo(np.float64).smallest_subnormal)
_STEPS = (50, 25, 20, 5, 2)  # of the last decimal: quarters, halves, twentieths
_LUCK = 1e-5  # chance that so many numbers are multiples of such a step
FEW_ULPS = 4.0  # of an output: it is the sum of some terms
_FINEST = 3e-6  # resolution beyond which too little of a sigmoid can be inverted; guess


def no_more(answers: Floats) -> Floats:
    return np.zeros(len(answers))


class FirstAnswer(NamedTuple):
    """The first row that was asked, (1, d), and its outputs, (1, m)."""

    row: Floats
    outputs: Floats


@dataclass(frozen=True)
class Precision:
    """How one answer errs.

    Attributes
    ----------
    kind : {"exact", "float32", "float16", "bfloat16", "rounded", "noisy", "labels", "decisions"}
    sd : float
        Standard deviation of one answer's error; a first guess where it is noise.
    grid : float
        Spacing of rounded answers, 0 where there is none.
    n_queries : int
        What finding out cost.
    size : float
        Of the largest answer seen.
    absolute : float
        What rounding to decimals and undoing a link do to an answer, whatever its size.
    own : callable
        Answers -> what else rounding does to each of them, where one output's link is undone.
    outputs : tuple of Precision
        How each output is rounded before links are undone and outputs projected; empty where noise limits the answers.
    n_equal : int, optional
        Answers to one question that are equal to the last digit, though others differ; None where none was repeated.
    first : FirstAnswer, optional
        Kept to see whether it is still the answer in the end.
    remainder : bool
        What limits the answers is no noise, but something beside the units that was taken for it.
    values : tuple of float
        The few that a box which only decides has shown.
    relative : float
        Error of an answer over its size, where it is more than the spacing of numbers.
    """

    kind: str = "exact"
    sd: float = 0.0
    grid: float = 0.0
    n_queries: int = 0
    size: float = 0.0
    absolute: float = 0.0
    own: Callable[[Floats], Floats] = no_more
    outputs: tuple[Precision, ...] = ()
    n_equal: int | None = None
    first: FirstAnswer | None = field(default=None, repr=False, compare=False)
    remainder: bool = False
    values: tuple[float, ...] = ()
    relative: float = 0.0

    @property
    def is_exact(self) -> bool:
        """Whether answers have all digits of double precision."""
        return self.kind == "exact"

    @property
    def has_noise(self) -> bool:
        """Whether errors are random, of a size that is not known."""
        return self.kind == "noisy"

    @property
    def is_label(self) -> bool:
        """Whether answers are -1 or +1, with the function as their mean."""
        return self.kind == "labels"

    @property
    def is_decision(self) -> bool:
        """Whether the box only decides."""
        return self.kind == "decisions"

    @property
    def is_float32(self) -> bool:
        """Whether answers are numbers of single precision."""
        return self.kind == "float32"

    @property
    def is_short(self) -> bool:
        """Whether answers are shorter floats than doubles."""
        return self.kind in SPACING

    @property
    def is_rounded(self) -> bool:
        """Whether answers are rounded to decimals, or by undoing a link."""
        return self.kind == "rounded"

    @property
    def level(self) -> str:
        """How precise answers are: "exact", "fine", "coarse", "noisy", "labels" or "decisions"."""
        if self.is_short or self.is_rounded:
            return "fine" if self.is_fine else "coarse"
        return self.kind

    @property
    def is_fine(self) -> bool:
        """Whether answers are rounded so finely that sigmoids can be inverted."""
        return (self.is_short or self.is_rounded) and bool(self.outputs) and self.resolution <= _FINEST

    @property
    def eps(self) -> float:
        """Spacing of the numbers that the box calculates with, relative to their size."""
        return max(SPACING.get(self.kind, DOUBLE), self.relative)

    @property
    def few_digits(self) -> float:
        """A quarter of the digits: what differs by more is neither rounding nor its consequences."""
        return float(self.eps**0.25)

    @property
    def rounding(self) -> float:
        """Spacing of these numbers at the largest answer."""
        return self.eps * self.size

    @property
    def resolution(self) -> float:
        """Smallest difference of answers that says something, over the largest answer."""
        return max(self.eps, self.absolute / max(self.size, 1e-300))

    @property
    def step(self) -> float:
        """Size within which answers to equal values may differ because of rounding; 0 where noise limits them."""
        return max(self.grid, 2 * self.sd) if self.grid else 0.0

    @property
    def is_single(self) -> bool:
        """Whether errors grow with the answers and are not small: going far out does not help."""
        return self.eps > _BETWEEN

    def error_of(self, size: float) -> float:
        """Return the error of an answer of this size."""
        return float(np.hypot(self.sd, self.eps * size))

    def errors(self, outputs: Floats) -> Floats:
        """Return the size of rounding in such outputs of a box, (n,)."""
        return np.asarray(FEW_ULPS * self.eps * np.abs(outputs) + 0.5 * self.grid + _LEAST_RESULT)

    def __str__(self) -> str:
        if self.is_decision:
            return f"answers take only {len(self.values)} values and never change: the box only decides"
        if self.is_label:
            return "answers are -1 or +1 with the function as their mean"
        if self.is_exact:
            return "answers are exact to double precision"
        if self.is_short and not self.absolute:
            return f"answers are {self.kind} numbers"
        if self.grid:
            return f"answers are rounded in steps of {self.grid:.2g}"
        return f"answers have noise of standard deviation {self.sd:.2g}"


EXACT_ANSWERS = Precision()


def rounding_of(y: Floats) -> Precision:
    """Tell how an output is rounded from some of its values, (n,); a constant shows nothing."""
    size = float(np.abs(y).max(initial=0.0))
    if np.ptp(y) == 0:
        return Precision(size=size)
    decimals = _decimal_grid(y)
    if decimals:
        return Precision("rounded", grid=decimals, size=size)
    kind = next((kind for kind, spacing in SPACING.items() if _holds(y, spacing)), "exact")
    return Precision(kind, size=size)


def rounding_of_share(y: Floats) -> Precision:
    """The same for one of several probabilities.

    It may be what others leave of one, as it is of two: its small values have lost digits, which their own spacing does
    not tell. All of them are multiples of the spacing just below one.
    """
    rounding, steps = rounding_of(y), y / _BELOW_ONE
    left = rounding.is_exact and bool((np.abs(y) <= 1).all() and (steps == np.round(steps)).all())
    return replace(rounding, grid=_BELOW_ONE) if left else rounding


def grid_of(y: Floats) -> float:
    """Return the spacing of the decimal grid (up to nine digits) or of the float32 numbers that hold y, or 0.

    A grid near the spacing of the numbers themselves holds everything, and says nothing.
    """
    return _decimal_grid(y) or (float32_step(y) if _holds(y, SPACING["float32"]) else 0.0)


def float32_step(y: Floats) -> float:
    """Return the spacing of float32 numbers at the largest of y."""
    return float(np.spacing(np.float32(np.abs(y).max())))


def _decimal_grid(y: Floats) -> float:
    finest = float32_step(y) if _holds(y, SPACING["float32"]) else 64 * float(np.spacing(np.abs(y).max()))
    for decimals in range(_MOST_DECIMALS + 1):
        step, scaled = 10.0**-decimals, y * 10.0**decimals
        if step < finest:
            break
        if (np.abs(scaled - np.round(scaled)) <= 4e-16 * np.abs(scaled) + 1e-300).all():
            return float(step) * _grid_step(np.unique(np.round(scaled)))
    return 0.0


def _grid_step(whole: Floats) -> int:
    """Return the coarsest of a few steps that holds these different whole numbers, unless that may be luck."""
    for step in _STEPS:
        if step ** -float(len(whole)) < _LUCK and (whole % step == 0).all():
            return step
    return 1


def _holds(y: Floats, spacing: float) -> bool:
    """Whether numbers of this relative spacing hold y, whatever their range."""
    mantissas = np.frexp(y)[0] * (2 / spacing)  # in [1/2, 1) before
    return bool((mantissas == np.round(mantissas)).all())


@dataclass(frozen=True)
class Undone:
    """The size of rounding in answers whose link was undone, from these answers."""

    link: OutputLink
    rounding: Precision

    def __call__(self, answers: Floats) -> Floats:
        outputs = self.link.redo(answers) if self.link.redo is not None else answers
        low, high = self.link.inside
        outputs = np.clip(outputs, np.nextafter(low, high), np.nextafter(high, low))[:, None]
        return self.link.errors(outputs, self.rounding.errors(outputs))[:, 0]
