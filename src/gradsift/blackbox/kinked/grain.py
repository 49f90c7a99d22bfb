"""How coarse answers are: a share of their size, and noise or decimals beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..answers import Floor
from ..asking import EPS
from .kinked_policy import GRAIN

__all__ = ["EXACT_ANSWERS", "Grain", "grain_of"]


@dataclass(frozen=True)
class Grain:
    """Standard deviation of an answer's error: ``hypot(sd, relative size)``.

    Attributes
    ----------
    relative : float
        Spacing of the numbers that the box computes with.
    sd : float
        Noise or the rounding to decimals, whatever the size of the answer.
    """

    relative: float = EPS
    sd: float = 0.0

    @property
    def single(self) -> bool:
        """Whether going far out does not help: errors grow with the answers, and are not small."""
        return self.relative > GRAIN.single

    def of(self, size: float) -> float:
        """Return the error of an answer of this size."""
        return float(np.hypot(self.sd, self.relative * size))


EXACT_ANSWERS = Grain()


def grain_of(floor: Floor) -> Grain:
    """Return the grain of a box whose answers were looked at."""
    if floor.kind == "exact":
        return EXACT_ANSWERS
    if floor.kind == "float32":
        return Grain(relative=float(np.finfo(np.float32).eps))
    return Grain(sd=floor.sd)
