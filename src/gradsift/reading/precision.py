"""How an answer errs: exact, float32, rounded to decimals, noisy, or only a label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..arguments import Floats
from ..oracle import Oracle
from ..oracle.output_links import OutputLink

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


_LABELS_ASKED = 18  # equal repeats of +-1 may be luck: this many more points settle it
_FINEST = 3e-6  # resolution beyond which too little of a sigmoid can be inverted; guess
_FEW_VALUES = 3  # that a box which only decides has at most; guess
_DECISIONS_ASKED = 12  # further inputs, beside ten answers, that must show no other value; guess
_MORE_POINTS = 4  # a round answer may be luck too
_POINTS_NEARBY = 16  # only so many tell a probability from one less another
_REPEATS = 7
_ULPS, _FLOAT_ULPS = 8.0, 32.0  # between answers to the same question, in double precision and in shorter floats
_TINY = 1e-10  # noise over the answer, below which it may be rounding after all
_ON_LINE = 16
_SHORT = 1e-3
_FAR, _FAR_POINTS = 1e3, 4
_GROWING = 3.0  # errors of single-precision arithmetic grow with the inputs


def _no_more(answers: Floats) -> Floats:
    return np.zeros(len(answers))


class FirstAnswer(NamedTuple):
    """The first row that was asked, (1, d), and its outputs, (1, m)."""

    row: Floats
    outputs: Floats


@dataclass(frozen=True)
class Floor:
    """What limits the answers.

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
    outputs : tuple of Rounding
        How each output is rounded before links are undone and outputs projected; empty where noise limits the answers.
    n_equal : int, optional
        Answers to one question that are equal to the last digit, though others differ; None where none was repeated.
    first : FirstAnswer, optional
        Kept to see whether it is still the answer in the end.
    remainder : bool
        What limits the answers is no noise, but something beside the units that was taken for it.
    values : tuple of float
        The few that a box which only decides has shown.
    """

    kind: str
    sd: float
    grid: float = 0.0
    n_queries: int = 0
    size: float = 0.0
    absolute: float = 0.0
    own: Callable[[Floats], Floats] = _no_more
    outputs: tuple[Rounding, ...] = ()
    n_equal: int | None = None
    first: FirstAnswer | None = field(default=None, repr=False, compare=False)
    remainder: bool = False
    values: tuple[float, ...] = ()

    @property
    def level(self) -> str:
        """How precise answers are: "exact", "fine", "coarse", "noisy", "labels" or "decisions"."""
        if self.kind in ("exact", "noisy", "labels", "decisions"):
            return self.kind
        return "fine" if self.outputs and self.resolution <= _FINEST else "coarse"

    @property
    def eps(self) -> float:
        """Spacing of the numbers that the box calculates with, relative to their size."""
        return SPACING.get(self.kind, DOUBLE)

    @property
    def grain(self) -> dict[str, Any]:
        """What a ledger must know of rounding: nothing where answers are exact."""
        if self.kind == "exact":
            return {}
        return {"step": self.absolute, "eps": self.eps, "own": self.own}

    @property
    def resolution(self) -> float:
        """Smallest difference of answers that says something, over the largest answer."""
        return max(self.eps, self.absolute / max(self.size, 1e-300))

    @property
    def step(self) -> float:
        """Size within which answers to equal values may differ because of rounding; 0 where noise limits them."""
        return max(self.grid, 2 * self.sd) if self.grid else 0.0

    def __str__(self) -> str:
        if self.kind == "decisions":
            return f"answers take only {len(self.values)} values and never change: the box only decides"
        if self.kind == "labels":
            return "answers are -1 or +1 with the function as their mean"
        if self.kind == "exact":
            return "answers are exact to double precision"
        if self.kind in SPACING and not self.absolute:
            return f"answers are {self.kind} numbers"
        if self.grid:
            return f"answers are rounded in steps of {self.grid:.2g}"
        return f"answers have noise of standard deviation {self.sd:.2g}"


class _Asked(NamedTuple):
    """Outputs (n, m) of a box at rows (n, d) that were asked twice, one after the other; `beside` only once."""

    rows: Floats
    outputs: Floats
    beside: Floats

    def further(self, oracle: Oracle, points: Floats) -> _Asked:
        """Ask for more, each point twice."""
        rows = np.repeat(points, 2, axis=0)
        return self._replace(
            rows=np.concatenate([self.rows, rows]), outputs=np.concatenate([self.outputs, oracle.outputs(rows)])
        )  # fmt: skip

    @property
    def roundings(self) -> tuple[Rounding, ...]:
        """How each output is rounded."""
        return tuple(rounding_of(column) for column in np.concatenate([self.outputs, self.beside]).T)

    @property
    def repeats(self) -> bool:
        """Whether the same question got the same answer up to last bits of the output's own arithmetic.

        A matrix product sums equal rows in an order that may depend on their neighbours.
        """
        apart = np.abs(self.outputs[::2] - self.outputs[1::2]).max(axis=0)
        return bool((apart <= [(_FLOAT_ULPS if r.kind in SPACING else _ULPS) * r.ulp for r in self.roundings]).all())

    @property
    def short(self) -> bool:
        """Whether all outputs are shorter floats than doubles."""
        return all(r.kind in SPACING for r in self.roundings)


def choose_path(oracle: Oracle, rng: np.random.Generator, *, far: bool = True) -> Floor:
    """Find out what limits the answers of an oracle with one output, or of a view of several.

    Two queries (one point, twice) if the answers are exact, about ten if they are not; none if ``oracle.noise`` says.
    Without `far` a link is looked at nearby only: what grows behind it leaves its range far out.
    """
    if oracle.noise == "labels":
        return Floor("labels", 1.0)
    if oracle.noise:
        return Floor("noisy", float(oracle.noise))
    before = oracle.n_answered
    rows = np.repeat(usual_points(oracle, 1, rng), 2, axis=0)
    outputs = oracle.outputs(rows)
    look = _Asked(rows, outputs, outputs[:0])
    floor = _limits(oracle, look, rng, far)
    return replace(floor, n_queries=oracle.n_answered - before, first=FirstAnswer(rows[:1], outputs[:1]))


def _limits(oracle: Oracle, look: _Asked, rng: np.random.Generator, far: bool) -> Floor:
    """Return what limits the answers, from the first one and others that are asked if need be."""
    first, outputs, y = look.rows[:1], look.outputs, oracle.seen(look.outputs, look.rows)
    if oracle.link is None and look.repeats and not any(grid_of(column) for column in outputs.T):
        return Floor("exact", 0.0, outputs=look.roundings)
    if np.isin(y, (-1.0, 1.0)).all():
        look = look._replace(beside=oracle.outputs(usual_points(oracle, _LABELS_ASKED, rng)))
        if np.isin(look.beside, (-1.0, 1.0)).all():
            return Floor("labels", 1.0)
    if look.repeats or look.short:  # on a grid, unless a round answer was luck
        look = look.further(oracle, usual_points(oracle, _MORE_POINTS if far else _POINTS_NEARBY, rng))
        if (
            (look.short or oracle.link is not None) and oracle.bounds is None and far
        ):  # rounding is worst at large answers
            look = look.further(oracle, _FAR * usual_points(oracle, _FAR_POINTS, rng))
        if look.repeats:
            return _decisions(oracle, look, rng) or _silent(oracle, look)
        y = oracle.seen(look.outputs, look.rows)
    repeated = np.append(y[:2], oracle(np.repeat(first, _REPEATS, axis=0)))
    apart = float(np.sqrt(0.5 * np.mean((y[::2] - y[1::2]) ** 2)))  # where the first point is quiet, others are not
    sd = float(repeated.std(ddof=1)) or apart
    if sd < _TINY * np.abs(repeated).max():  # large terms may cancel in the first answer
        elsewhere = oracle(usual_points(oracle, _MORE_POINTS, rng))
        if sd <= _ULPS * DOUBLE * np.abs(elsewhere).max():
            return Floor("exact", 0.0, outputs=look.roundings)
    return Floor("noisy", sd, n_equal=_n_equal(repeated))


def _decisions(oracle: Oracle, look: _Asked, rng: np.random.Generator) -> Floor | None:
    """Return the floor of a box that only decides: few values at all inputs, which never change; else None."""
    if oracle.link is not None or len(np.unique(look.outputs)) > _FEW_VALUES:
        return None
    beside = oracle.outputs(usual_points(oracle, _DECISIONS_ASKED, rng))
    values = np.unique(np.concatenate([look.outputs, beside]))
    if not 1 < len(values) <= _FEW_VALUES:
        return None
    return Floor("decisions", 0.0, outputs=look.roundings, values=tuple(values.tolist()))


def _n_equal(repeated: Floats) -> int:
    """Return how many answers to one question are equal to the commonest one, if these are most; 0 on a grid."""
    values, counts = np.unique(repeated, return_counts=True)
    gaps = np.diff(values)
    steps = np.arange(1, 5)[:, None] * gaps / gaps.min(initial=np.inf)  # of the grid the smallest gap is 1 to 4 steps
    on_grid = len(values) > 2 and bool((np.abs(steps - np.round(steps)) < 1e-6 * steps).all(axis=1).any())
    return 0 if on_grid or 2 * counts.max() <= len(repeated) else int(counts.max()) - 1


def _silent(oracle: Oracle, look: _Asked) -> Floor:
    """Return the floor of answers without noise, from the roundings of all outputs."""
    roundings, answers = look.roundings, oracle.seen(look.outputs, look.rows)
    kinds = {r.kind for r in roundings}
    kind = next((kind for kind in (*SPACING, "rounded") if kind in kinds), "exact")
    weights = np.abs(oracle.weights)
    own: Callable[[Floats], Floats] = _no_more
    if oracle.link is None:
        absolute = float(weights @ [r.grid for r in roundings])
    else:
        if len(roundings) > 1:
            roundings = tuple(map(rounding_of_share, look.outputs.T))
        errors = np.stack([r.errors(column) for r, column in zip(roundings, look.outputs.T)], axis=1)
        left = oracle.link.errors(look.outputs, errors) @ weights
        if len(roundings) == 1 and oracle.link.redo is not None:
            own, absolute = _Undone(oracle.link, roundings[0]), float(np.median(left))
        else:
            absolute = float(left.max())
        kind = "rounded" if kind == "exact" else kind
    size = float(np.abs(answers).max())
    spacing = SPACING.get(kind, 0.0) / SPACING["float32"] * single_spacing(answers)
    grid = max(absolute, spacing)
    return Floor(kind, grid / np.sqrt(12.0), grid, 0, size, absolute, own, roundings)


@dataclass(frozen=True)
class _Undone:
    """The size of rounding in answers whose link was undone, from these answers."""

    link: OutputLink
    rounding: Rounding

    def __call__(self, answers: Floats) -> Floats:
        outputs = self.link.redo(answers) if self.link.redo is not None else answers
        low, high = self.link.inside
        outputs = np.clip(outputs, np.nextafter(low, high), np.nextafter(high, low))[:, None]
        return self.link.errors(outputs, self.rounding.errors(outputs))[:, 0]


def with_roughness(floor: Floor, oracle: Oracle, rng: np.random.Generator) -> Floor:
    """Return the floor of short floats with the errors of their arithmetic, more than the last rounding, as noise."""
    if floor.kind not in SPACING:
        return floor
    before = oracle.n_answered
    sd = _GROWING * max(floor.grid / np.sqrt(12.0), _roughness(oracle, usual_points(oracle, 1, rng), rng))
    return replace(floor, sd=sd, n_queries=floor.n_queries + oracle.n_answered - before)


def _roughness(oracle: Oracle, point: Floats, rng: np.random.Generator) -> float:
    """Return the standard deviation of these errors: third differences on a short line leave nothing of a smooth
    function."""
    way = rng.standard_normal(point.shape[1])
    steps = _SHORT * np.arange(_ON_LINE)[:, None] * way / np.linalg.norm(way)
    bends = np.diff(oracle(point + steps), 3)
    return float(np.sqrt(np.mean(bends**2) / 20))  # 1 + 9 + 9 + 1


def usual_points(oracle: Oracle, n: int, rng: np.random.Generator) -> Floats:
    """Return n inputs, (n, d): standard normal, or uniform a little inside the bounds."""
    d = oracle.n_features
    if oracle.bounds is None:
        return np.asarray(rng.standard_normal((n, d)))
    low, high = oracle.bounds
    return np.asarray(low + (high - low) * rng.uniform(0.05, 0.95, (n, d)))
