"""A bound as a number in log space, with the statement that it comes from."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
    top = max(logs)
    if math.isinf(top):
        return top
    return top + math.log(math.fsum(math.exp(x - top) for x in logs))


def probability(
    log_value: float, label: str, constants: Mapping[str, float] | None = None, assumptions: tuple[str, ...] = ()
) -> Bound:
    """Return a bound on a probability; one above 1 says nothing and becomes 1."""
    return Bound(min(0.0, log_value), label, constants or {}, assumptions)
