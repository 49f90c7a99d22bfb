"""One side of an inequality (a bound, with the statement that it comes from), and both held against each other.

Both are carried as logarithms, because the theorems' numbers leave the range of double precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Bound:
    """One side of an inequality.

    Attributes
    ----------
    log_value : float
        Natural logarithm of the bound.
    label : str
        LaTeX label of the statement it comes from; "ours" where the paper has none.
    constants : mapping
        Values given to the absolute constants that the paper leaves unnamed.
    assumptions : tuple of str
        What must hold beside the model.
    """

    log_value: float
    label: str
    constants: Mapping[str, float] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """The bound itself; inf where it overflows."""
        return math.exp(self.log_value) if self.log_value < 709 else math.inf

    @property
    def log10(self) -> float:
        """Decimal logarithm of the bound."""
        return self.log_value / math.log(10)


def log_add(*logs: float) -> float:
    """Log of a sum of exponentials."""
    # Factor the largest out: then the sum lies between one and the number of terms, and nothing over- or underflows.
    top = max(logs)
    if math.isinf(top):
        return top
    return top + math.log(math.fsum(math.exp(x - top) for x in logs))


def chance_of(
    log_value: float, label: str, constants: Mapping[str, float] | None = None, assumptions: tuple[str, ...] = ()
) -> Bound:
    """Return a bound on a probability; one above 1 says nothing and becomes 1."""
    return Bound(min(0.0, log_value), label, constants or {}, assumptions)


Pair = tuple[float, float]  # logarithms: claimed, measured


@dataclass(frozen=True)
class Comparison:
    """The tightest case of one statement over a grid of cases.

    Attributes
    ----------
    label : str
        LaTeX label of the statement.
    claim : str
        What is compared, in words.
    relation : {"<=", ">=", "=="}
        How the measured value must stand to the claimed one.
    log_claimed, log_measured : float
        Natural logarithms, at the tightest case.
    log_slack : float
        Room left there; negative when the statement fails. For "==", minus the relative difference.
    holds : bool
    how : str
        Second way by which the measured value was found.
    n_cases : int
    """

    label: str
    claim: str
    relation: str
    log_claimed: float
    log_measured: float
    log_slack: float
    holds: bool
    how: str
    n_cases: int

    @property
    def claimed(self) -> float:
        """Claimed value; inf where it overflows."""
        return math.exp(self.log_claimed) if self.log_claimed < 709 else math.inf

    @property
    def measured(self) -> float:
        """Measured value."""
        return math.exp(self.log_measured) if self.log_measured < 709 else math.inf


@dataclass(frozen=True)
class Verified:
    """One labelled statement with everything that was compared for it.

    Attributes
    ----------
    label : str
    parts : tuple of Comparison
    """

    label: str
    parts: tuple[Comparison, ...]

    @property
    def holds(self) -> bool:
        """Whether every part holds."""
        return all(part.holds for part in self.parts)

    @property
    def worst(self) -> Comparison:
        """The part with the least room; a failing one, if there is any."""
        return min(self.parts, key=lambda part: (part.holds, part.relation == "==", part.log_slack))


def log_share_limit(hits: int, n: int) -> float:
    """Log of a frequency with four standard errors added (and one hit, for frequencies near zero)."""
    p = hits / n
    # Four standard errors: a false alarm is rare over hundreds of comparisons. 1/n keeps the error of p = 0 positive.
    return math.log(p + 4 * math.sqrt((p * (1 - p) + 1 / n) / n) + 1 / n)


def _compared(label: str, claim: str, relation: str, pairs: Iterable[Pair], how: str, tolerance: float) -> Comparison:
    def room(pair: Pair) -> float:
        claimed, measured = pair
        if claimed == measured:  # also for two zeros, whose logarithms are both -inf
            return 0.0
        gap = claimed - measured
        return gap if relation == "<=" else -gap if relation == ">=" else -abs(gap)

    cases = list(pairs)
    if not cases or any(math.isnan(x) for pair in cases for x in pair):
        raise ValueError(f"The check of {label} has no cases or an undefined one.")
    worst = min(cases, key=room)
    slack = room(worst)
    return Comparison(label, claim, relation, *worst, slack, slack >= -tolerance, how, len(cases))


def at_most(label: str, claim: str, pairs: Iterable[Pair], how: str, tolerance: float = 1e-9) -> Comparison:
    """Check that every measured value is at most the claimed one, up to rounding."""
    return _compared(label, claim, "<=", pairs, how, tolerance)


def at_least(label: str, claim: str, pairs: Iterable[Pair], how: str, tolerance: float = 1e-9) -> Comparison:
    """Check that every measured value is at least the claimed one, up to rounding."""
    return _compared(label, claim, ">=", pairs, how, tolerance)


def equal(label: str, claim: str, pairs: Iterable[Pair], how: str, tolerance: float = 1e-9) -> Comparison:
    """Check that claimed and measured agree to a relative `tolerance`."""
    return _compared(label, claim, "==", pairs, how, tolerance)
