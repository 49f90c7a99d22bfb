"""What an identification returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..arguments import Floats
from ..certificate import Judged, Verdict
from .precision import Precision


class Progress(NamedTuple):
    """What a progress callback receives after each batch of queries.

    `expected` is how many queries the units seen so far should cost in all; None before there are any, once that many
    are asked, and where it depends on more than them.
    """

    step: str
    n_queries: int
    n_units: int
    budget_left: int | None
    expected: int | None = None


@dataclass(frozen=True)
class Verification:
    """How fresh inputs were answered.

    Attributes
    ----------
    n, n_different : int
        Inputs asked, and those whose answers differ from the network by more than errors of both explain.
    worst : float
        Largest difference, of those that differ or, without such, of all.
    where : (d,) array
        The input that it was found at.
    share : float
        Share of such inputs that may differ: upper bound of 95%, about 3/n when none does.
    known : float
        Error bound of the network's own values, the largest at these inputs.
    unseen : float
        Difference that the noise of an answer may hide; 0 where there is none.
    """

    n: int
    n_different: int
    worst: float
    where: Floats
    share: float
    known: float
    unseen: float = 0.0


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
    verification : Verification or None
        What fresh inputs say.
    precision : Precision or None
        What limits the answers, as it was found first.
    """

    model: Any
    judgement: Verdict
    n_queries: int
    standard_errors: dict[str, Floats]
    error_bounds: Floats
    diagnostics: dict[str, Any] = field(default_factory=dict)
    verification: Verification | None = None
    precision: Precision | None = None
