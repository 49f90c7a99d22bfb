"""What was chosen, not derived, where inputs must stay in a box.

Behind a number stands the row of ``boxes/black_box_noisy.py`` that it was tuned on, or the word guess.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...fit.moves import MOVES
from ..ledger import EPS


@dataclass(frozen=True)
class InsidePolicy:
    """Exact answers: derivatives, student, joint fit."""

    exact: float = 1e-7  # standard error of exact answers over their largest that a student can reach; guess
    spare: int = 6  # guess
    most_spare: int = 28  # a student with more is not worth its time; guess
    clear_gap: float = MOVES.margin  # guess
    most_per_unknown: float = 12.0  # guess
    arguments: float = 4.0  # guess
    per_unknown: float = 1.15  # answers at first, and how many times more each time they are too few; guess
    all_per_unknown: float = 3.3  # queries, steps for derivatives among them; guess
    missed: float = 100.0  # residuals over these errors that a span known to four digits explains; guess


@dataclass(frozen=True)
class NearFieldPolicy:
    """Derivatives near the centre."""

    bent: float = 0.25  # share of a difference that is not linear in the distance: arguments of about one; guess
    first_share: float = 0.25  # guess
    # A difference of order m over a step h errs by h and by EPS / h^m: both are least where they are about the same.
    first_step: float = EPS ** (1 / 2)  # of the inputs' size
    second_step: float = EPS ** (1 / 4)  # loses less to rounding than EPS^(1/3), and is corrected by the fit
    negligible: float = EPS ** (1 / 3)  # singular value over the largest: gradients are good to half of the digits
    least_gradients: int = 3  # guess
    sure_of_line: int = 2  # gradients more where their differences span less; box 5 k32d100
    inner: float = 0.5  # of the gradients' distances, for second derivatives: units bend there; guess


INSIDE = InsidePolicy()
NEAR_FIELD = NearFieldPolicy()
