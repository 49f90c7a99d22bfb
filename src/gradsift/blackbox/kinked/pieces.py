"""Straight pieces of a function along a line: answers that lie on one of them, and where two of them meet."""

from __future__ import annotations

import numpy as np

from .kinked_policy import PIECE

__all__ = ["Piece", "meeting"]


class Piece:
    """Answers on one straight stretch of the function along a line, and the line through them.

    Errors are in units of the rounding error of one answer.

    Attributes
    ----------
    times, values : lists of float
        Places along the line, and the answers there.
    fixed : bool
        A piece that stays whatever happens: that of an end, or one that ends in a kink which was tested.
    """

    def __init__(self, times: list[float], values: list[float], fixed: bool = False) -> None:
        self.times, self.values, self.fixed = list(times), list(values), fixed
        self._fit()

    def _fit(self) -> None:
        t, y = np.array(self.times), np.array(self.values)
        self._middle, self._level = float(t.mean()), float(y.mean())
        away = t - self._middle
        self._spread = float(away @ away)
        self.slope = float(away @ (y - self._level)) / self._spread

    @property
    def low(self) -> float:
        """Where it begins, as far as known."""
        return min(self.times)

    @property
    def high(self) -> float:
        """Where it ends, as far as known."""
        return max(self.times)

    @property
    def slope_error(self) -> float:
        """Error of the slope."""
        return float(1 / np.sqrt(self._spread))

    def at(self, t: float) -> float:
        """Return the height of the line at t."""
        return self._level + self.slope * (t - self._middle)

    def error(self, t: float) -> float:
        """Return the error of that height."""
        return float(np.sqrt(1 / len(self.times) + (t - self._middle) ** 2 / self._spread))

    def holds(self, t: float, y: float, sigma: float) -> bool:
        """Say whether an answer lies on the line."""
        return abs(y - self.at(t)) <= PIECE.on * sigma * float(np.hypot(1.0, self.error(t)))

    def add(self, t: float, y: float) -> None:
        """Take an answer that lies on the line."""
        self.times.append(t)
        self.values.append(y)
        self._fit()

    def take(self, other: Piece) -> None:
        """Take all answers of another piece of the same line."""
        self.times += other.times
        self.values += other.values
        self.fixed = self.fixed or other.fixed
        self._fit()

    def without(self, times: list[float]) -> Piece | None:
        """Return the piece without the answers at these times; None if less than two are left."""
        kept = [(t, y) for t, y in zip(self.times, self.values) if t not in times]
        if len(kept) < 2:
            return None
        return Piece([t for t, _ in kept], [y for _, y in kept], self.fixed)

    def same_line(self, other: Piece, sigma: float) -> bool:
        """Say whether two pieces lie on one line: each passes through both ends of the gap between them."""
        return all(
            abs(self.at(t) - other.at(t)) <= PIECE.on * sigma * np.hypot(self.error(t), other.error(t))
            for t in (self.high, other.low)
        )


def meeting(left: Piece, right: Piece) -> tuple[float, float, float]:
    """Return where two lines meet, the change of slope there, and the error of the place (in units of rounding).

    Lines whose slopes do not differ meet nowhere: the place is NaN then.
    """
    change = right.slope - left.slope
    if change == 0:
        return np.nan, 0.0, np.inf
    near = 0.5 * (left.high + right.low)
    t = near + (left.at(near) - right.at(near)) / change
    return t, change, float(np.hypot(left.error(t), right.error(t))) / abs(change)
