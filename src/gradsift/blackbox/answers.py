"""How good an oracle's answers are: exact, float32, rounded to decimals, noisy, or only labels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..checking import Floats
from ..oracle import Oracle

__all__ = ["Floor", "choose_path", "grid_of"]

_MOST_DECIMALS = 9
_LABELS_ASKED = 18  # equal repeats of +-1 may be luck: this many more points settle it
_MORE_POINTS = 4  # a round answer may be luck too
_REPEATS = 7
_ULPS = 8.0
_TINY = 1e-10  # noise over the answer, below which it may be rounding after all
_ON_LINE = 16
_SHORT = 1e-3
_FAR, _FAR_POINTS = 1e3, 4
_GROWING = 3.0  # errors of single-precision arithmetic grow with the inputs


@dataclass(frozen=True)
class Floor:
    """What limits the answers.

    Attributes
    ----------
    kind : {"exact", "float32", "rounded", "noisy", "labels"}
    sd : float
        Standard deviation of one answer's error; a first guess where it is noise.
    grid : float
        Spacing of rounded answers, 0 where there is none.
    n_queries : int
        What finding out cost.
    """

    kind: str
    sd: float
    grid: float = 0.0
    n_queries: int = 0

    @property
    def step(self) -> float:
        """Size within which answers to equal values may differ because of rounding; 0 where noise limits them."""
        return max(self.grid, 2 * self.sd) if self.grid else 0.0

    def __str__(self) -> str:
        if self.kind == "labels":
            return "answers are -1 or +1 with the function as their mean"
        if self.kind == "exact":
            return "answers are exact to double precision"
        if self.grid:
            return f"answers are rounded in steps of {self.grid:.2g}"
        return f"answers have noise of standard deviation {self.sd:.2g}"


def choose_path(oracle: Oracle, rng: np.random.Generator) -> Floor:
    """Find out what limits the answers of an oracle with one output.

    Two queries (one point, twice) if the answers are exact, about ten if they are not; none if ``oracle.noise`` says.
    """
    if oracle.noise == "labels":
        return Floor("labels", 1.0)
    if oracle.noise:
        return Floor("noisy", float(oracle.noise))
    before = oracle.n_answered
    first = _points(oracle, 1, rng)
    y = oracle(np.repeat(first, 2, axis=0))
    if abs(y[0] - y[1]) <= _last_bits(y) and grid_of(y) == 0.0:
        return Floor("exact", 0.0, 0.0, oracle.n_answered - before)
    beside = np.empty(0)
    if np.isin(y, (-1.0, 1.0)).all():
        beside = oracle(_points(oracle, _LABELS_ASKED, rng))
        if np.isin(beside, (-1.0, 1.0)).all():
            return Floor("labels", 1.0, 0.0, oracle.n_answered - before)
    if y[0] == y[1]:  # on a grid, unless a round answer was luck
        y = np.concatenate([y, oracle(np.repeat(_points(oracle, _MORE_POINTS, rng), 2, axis=0))])
        if (y[::2] == y[1::2]).all():
            seen = np.concatenate([y, beside])
            floor = Floor("exact", 0.0) if np.ptp(seen) == 0 else _without_noise(seen)  # a constant has no grid
            if floor.kind == "float32":
                floor = _of_single_precision(oracle, first, seen, rng)
            return replace(floor, n_queries=oracle.n_answered - before)
    repeated = np.append(y[:2], oracle(np.repeat(first, _REPEATS, axis=0)))
    apart = float(np.sqrt(0.5 * np.mean((y[::2] - y[1::2]) ** 2)))  # where the first point is quiet, others are not
    sd = float(repeated.std(ddof=1)) or apart
    if sd < _TINY * np.abs(repeated).max():  # large terms may cancel in the first answer
        elsewhere = oracle(_points(oracle, _MORE_POINTS, rng))
        if sd <= _last_bits(elsewhere):
            return Floor("exact", 0.0, 0.0, oracle.n_answered - before)
    return Floor("noisy", sd, 0.0, oracle.n_answered - before)


def _last_bits(y: Floats) -> float:
    """Return a difference that says nothing: a matrix product sums equal rows in an order that may depend on their
    neighbours."""
    return _ULPS * float(np.finfo(np.float64).eps * np.abs(y).max())


def _without_noise(y: Floats) -> Floor:
    grid = grid_of(y)
    kind = "exact" if grid == 0.0 else "float32" if _is_float32(y) and grid == _single_spacing(y) else "rounded"
    return Floor(kind, grid / np.sqrt(12.0), grid)


def _of_single_precision(oracle: Oracle, point: Floats, y: Floats, rng: np.random.Generator) -> Floor:
    """Return the floor of single precision: its spacing at the largest answers, which are those far out."""
    if oracle.bounds is None:
        y = np.append(y, oracle(_FAR * _points(oracle, _FAR_POINTS, rng)))
    grid = _single_spacing(y)
    return Floor("float32", _GROWING * max(grid / np.sqrt(12.0), _roughness(oracle, point, rng)), grid)


def _roughness(oracle: Oracle, point: Floats, rng: np.random.Generator) -> float:
    """Return the standard deviation of the errors of single-precision arithmetic, which exceed the last rounding.

    Third differences on a short line leave nothing of a smooth function.
    """
    way = rng.standard_normal(point.shape[1])
    steps = _SHORT * np.arange(_ON_LINE)[:, None] * way / np.linalg.norm(way)
    bends = np.diff(oracle(point + steps), 3)
    return float(np.sqrt(np.mean(bends**2) / 20))  # 1 + 9 + 9 + 1


def grid_of(y: Floats) -> float:
    """Return the spacing of the decimal grid (up to nine digits) or of the float32 numbers that hold y, or 0.

    A grid near the spacing of the numbers themselves holds everything, and says nothing.
    """
    single = _is_float32(y)
    finest = _single_spacing(y) if single else 64 * float(np.spacing(np.abs(y).max()))
    for decimals in range(_MOST_DECIMALS + 1):
        step, scaled = 10.0**-decimals, y * 10.0**decimals
        if step < finest:
            break
        if (np.abs(scaled - np.round(scaled)) <= 4e-16 * np.abs(scaled) + 1e-300).all():
            return float(step)
    return _single_spacing(y) if single else 0.0


def _single_spacing(y: Floats) -> float:
    return float(np.spacing(np.float32(np.abs(y).max())))


def _is_float32(y: Floats) -> bool:
    with np.errstate(over="ignore"):
        return bool((y.astype(np.float32).astype(np.float64) == y).all())


def _points(oracle: Oracle, n: int, rng: np.random.Generator) -> Floats:
    d = oracle.n_features
    if oracle.bounds is None:
        return np.asarray(rng.standard_normal((n, d)))
    low, high = oracle.bounds
    return np.asarray(low + (high - low) * rng.uniform(0.05, 0.95, (n, d)))
