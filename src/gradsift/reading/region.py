"""The box in coordinates of its own: centre zero, half-widths one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arguments import Floats
from ..fit import Parameters
from ..oracle import Oracle
from ..oracle.inputs import Bounds
from .ledger import Asked, Ledger


@dataclass(frozen=True)
class Box:
    """Asks inside the bounds only.

    Attributes
    ----------
    ledger : Ledger
        In the oracle's coordinates.
    bounds : Bounds
    middle, half : (d,) arrays
    """

    ledger: Ledger
    bounds: Bounds
    middle: Floats
    half: Floats

    @property
    def X(self) -> Floats:
        """All rows asked so far, in the box's coordinates."""
        return np.asarray((self.ledger.X - self.middle) / self.half)

    @property
    def y(self) -> Floats:
        """Answers to these rows."""
        return self.ledger.y

    def ask(self, rows: Floats, step: str) -> Asked:
        """Ask at rows of [-1, 1]^d; rounding never leaves the bounds."""
        return self.ledger.ask_rows(self._inputs(rows), step)

    def ask_only(self, rows: Floats, step: str) -> Floats:
        """Ask at rows of [-1, 1]^d without keeping them: equations that differ from kept ones by a tiny step."""
        return self.ledger.ask_blocks(len(rows), lambda part: self._inputs(rows[part]), step)

    def _inputs(self, rows: Floats) -> Floats:
        return self.bounds.nearest(self.middle + self.half * np.clip(rows, -1.0, 1.0))

    def draw(self, n: int, radius: float, rng: np.random.Generator) -> Floats:
        """Return n random rows, uniform in the given share of the box."""
        return np.asarray(radius * rng.uniform(-1.0, 1.0, (n, len(self.half))))

    def spread(self, radius: float) -> float:
        """Return the standard deviation of their entries."""
        return radius / float(np.sqrt(3.0))

    def outside(self, theta: Parameters) -> Parameters:
        """Return parameters in the oracle's coordinates."""
        A = theta.A / self.half
        theta = theta._replace(A=A, b=theta.b - A @ self.middle)
        if theta.linear is None:
            return theta
        linear = theta.linear / self.half
        return theta._replace(c=theta.c - float(linear @ self.middle), linear=linear)


def box_of(oracle: Oracle, ledger: Ledger) -> Box:
    """Return the oracle's box; refuse one without room to move in every coordinate."""
    if oracle.bounds is None:
        raise ValueError("oracle must have bounds, got none: use identify or identify_noisy.")
    low, high = oracle.bounds
    half = 0.5 * (high - low)
    stuck = np.flatnonzero(~((half > 0) & np.isfinite(half)))
    if stuck.size:
        raise ValueError(
            f"bounds must leave every coordinate free to vary between two finite numbers, but coordinate {stuck[0]} "
            f"has [{low[stuck[0]]:g}, {high[stuck[0]]:g}]: drop it from the inputs, or give it a finite range."
        )
    return Box(ledger, oracle.bounds, 0.5 * (low + high), half)
