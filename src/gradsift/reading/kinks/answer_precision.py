"""How coarse answers are: a share of their size, and noise or decimals beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..ledger import EPS, Ledger
from ..precision import Precision
from .settings import GRAIN


@dataclass(frozen=True)
class Grain:
    """Standard deviation of an answer's error: ``hypot(sd, relative size)``.

    Attributes
    ----------
    relative : float
        Spacing of the numbers that the box computes with.
    sd : float
        Noise or the rounding to decimals, whatever the size of the answer.
    random : bool
        Whether it is noise, which repeats tell.
    """

    relative: float = EPS
    sd: float = 0.0
    random: bool = False

    @property
    def single(self) -> bool:
        """Whether going far out does not help: errors grow with the answers, and are not small."""
        return self.relative > GRAIN.single

    def of(self, size: float) -> float:
        """Return the error of an answer of this size."""
        return float(np.hypot(self.sd, self.relative * size))


EXACT_ANSWERS = Grain()


def grain_of(precision: Precision) -> Grain:
    """Return the grain of a box whose answers were looked at."""
    if precision.is_exact:
        return EXACT_ANSWERS
    if precision.is_float32:
        return Grain(relative=float(np.finfo(np.float32).eps))
    return Grain(sd=precision.sd, random=precision.has_noise)


def with_repeats(grain: Grain, ledger: Ledger, rng: np.random.Generator) -> Grain:
    """Return the grain with noise measured by more answers to one question; nothing is asked without noise."""
    if not grain.random:
        return grain
    point = rng.standard_normal((1, ledger.n_features))
    answers = ledger.ask(np.repeat(point, GRAIN.asked_again, axis=0), "noise")
    first, more = GRAIN.first_look - 1, GRAIN.asked_again - 1
    return replace(grain, sd=float(np.sqrt((first * grain.sd**2 + more * answers.var(ddof=1)) / (first + more))))
