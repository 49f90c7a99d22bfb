"""Where a black box may be asked, and in which coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..arguments import Floats
from ..oracle import Oracle
from ..oracle.inputs import Bounds
from .precision import DOUBLE


@dataclass(frozen=True, eq=False)
class Region:
    """Inputs ``x = middle + half * u``: all of them, or those inside bounds, where entries of u lie within -1 and 1.

    Attributes
    ----------
    middle, half : (d,) arrays
        Zeros and ones without bounds.
    bounds : Bounds or None
    link : str
        What the box applies at its end, which leaves answers far out no digits; "" where that is nothing.
    """

    middle: Floats
    half: Floats
    bounds: Bounds | None = None
    link: str = ""

    @classmethod
    def of(cls, oracle: Oracle) -> Self:
        """Return the region of a box; refuse bounds without room to move in every coordinate."""
        d, link = oracle.n_features, "" if oracle.link is None else oracle.link.name
        if oracle.bounds is None:
            return cls(np.zeros(d), np.ones(d), None, link)
        low, high = oracle.bounds
        half = 0.5 * (high - low)
        if not ((half > 0) & np.isfinite(half)).all():
            raise ValueError("bounds must all be finite to find units inside them: name a range for every input.")
        return cls(0.5 * (low + high), half, oracle.bounds, link)

    @property
    def n_features(self) -> int:
        """Number of inputs."""
        return len(self.middle)

    @property
    def is_bounded(self) -> bool:
        """Whether inputs must stay inside bounds."""
        return self.bounds is not None

    @property
    def has_link(self) -> bool:
        """Whether a link leaves answers far out no digits."""
        return bool(self.link)

    @property
    def is_open(self) -> bool:
        """Whether all inputs may be asked, and all answers have their digits."""
        return not (self.is_bounded or self.has_link)

    @property
    def name(self) -> str:
        """The word for it in the table of readers: "open", "linked" or "bounded"."""
        return "bounded" if self.is_bounded else "linked" if self.has_link else "open"

    def __str__(self) -> str:
        return "bounds" if self.is_bounded else f"the range of link='{self.link}'" if self.has_link else "all inputs"

    def inputs(self, rows: Floats) -> Floats:
        """Return the inputs at these u, (n, d); rounding never leaves the bounds."""
        return rows if self.bounds is None else self.bounds.nearest(self.middle + self.half * rows)

    def rows(self, inputs: Floats) -> Floats:
        """Return u at these inputs, (n, d)."""
        return np.asarray((inputs - self.middle) / self.half) if self.is_bounded else inputs

    def holds(self, rows: Floats) -> NDArray[np.bool_]:
        """Say which of these u, (n, d), lie in the region, up to rounding."""
        return np.asarray((np.abs(rows).max(axis=1) <= 1 + 8 * DOUBLE) | (not self.is_bounded))

    def draw(self, n: int, radius: float, rng: np.random.Generator) -> Floats:
        """Return n random u, (n, d): uniform in this share of the bounds, or normal with this standard deviation."""
        draw = (lambda size: rng.uniform(-1.0, 1.0, size)) if self.is_bounded else rng.standard_normal
        return np.asarray(radius * draw((n, self.n_features)))

    def spread(self, radius: float) -> float:
        """Return the standard deviation of the entries of random u."""
        return radius / float(np.sqrt(3.0)) if self.is_bounded else radius

    def outside(self, A: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Return slopes and constants of ``A u + b`` as those of a function of the inputs, (m, d) and (m,)."""
        # u = (x - middle) / half, so that A u + b = (A / half) x + (b - (A / half) middle).
        A = A / self.half
        return A, b - A @ self.middle

    def errors_outside(self, errors: Floats) -> Floats:
        """Return standard errors of slopes of functions of u, their constants' last, as of functions of the inputs."""
        slopes = errors[:, :-1] / self.half
        moved = np.linalg.norm(slopes * self.middle, axis=1)
        return np.concatenate([slopes, np.hypot(errors[:, -1], moved)[:, None]], axis=1)
