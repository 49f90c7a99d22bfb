"""What an identification returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..checking import Floats
from ..checks import Judged, Verdict

__all__ = ["Identification", "Progress"]


class Progress(NamedTuple):
    """What a progress callback receives after each batch of queries."""

    step: str
    n_queries: int
    n_units: int
    budget_left: int | None


@dataclass(frozen=True)
class Identification(Judged):
    """The network inside a black box.

    Attributes
    ----------
    model : SigmoidCombination or Network
        Canonical: positive weights, in decreasing order. A network where there are several hidden layers.
    judgement : Verdict
        The checks, and what they add up to; `certified`, `verdict` and `checks` are read from it.
    n_queries : int
    standard_errors : dict
        For units (k,), slopes (k,), offsets (k,), weights (k,) and intercept: the effect of the oracle's rounding.
    error_bounds : (k,) array
        Largest relative error of each unit's parameters that this rounding explains.
    diagnostics : dict
        chi, smallest_angle, smallest_weight, attempts, spent (queries by step), angles and values (of the first scan).
    """

    model: Any
    judgement: Verdict
    n_queries: int
    standard_errors: dict[str, Floats]
    error_bounds: Floats
    diagnostics: dict[str, Any] = field(default_factory=dict)
