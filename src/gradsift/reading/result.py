"""What a reader hands over."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from ..arguments import Floats
from ..certificate import Evidence, Judged, Verdict
from ..network import Network
from ..oracle import InputFrame
from .precision import Precision

FIRST = "first look"  # the step that chose how to read


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
class Reading(Judged):
    """The network inside a black box, and what speaks for it.

    Attributes
    ----------
    network : Network
        Canonical; whatever the number of hidden layers.
    judgement : Verdict
        The checks, and what they add up to; `certified`, `verdict` and `checks` are read from it.
    evidence : Evidence
    precision : Precision or None
        How an answer errs, as it was found first.
    frame : InputFrame or None
        Of the coordinates in which errors and bounds are measured.
    verification : Verification or None
        What fresh inputs say.
    """

    network: Network
    judgement: Verdict
    evidence: Evidence = field(default_factory=Evidence)
    precision: Precision | None = None
    frame: InputFrame | None = None
    verification: Verification | None = None

    @property
    def model(self) -> Any:
        """What was read as a :class:`SigmoidCombination`; as a Network where there are several hidden layers."""
        return self.network if len(self.network.widths) > 1 else self.network.models()[0]

    @property
    def n_queries(self) -> int:
        """Rows asked of an oracle, replayed ones included (0 for a table)."""
        return sum(self.evidence.spent.values())

    @property
    def standard_errors(self) -> dict[str, Floats]:
        """By parameter name ("units", "weights", "slopes", ...), in the order of the model's units.

        Those of units are angles in radians. Only what the method provides.
        """
        errors = dict(self.evidence.errors)
        return errors if self.frame is None else self.frame.errors_outside(errors, self.model)

    @property
    def error_bounds(self) -> Floats:
        """Largest relative error of each unit's parameters, (k,)."""
        bounds = np.asarray(self.evidence.bounds)
        return bounds if self.frame is None else bounds * np.maximum(self.frame.widening(self.model), 1.0)

    @property
    def diagnostics(self) -> dict[str, Any]:
        """Plain numbers about the run."""
        told = dict(self.evidence.notes)
        if len(self.evidence.spent) > 1:  # one step alone says no more than the number of queries
            told["spent"] = dict(self.evidence.spent)
        if self.precision is not None:
            told |= {"answers": str(self.precision), "error_bounds": self.error_bounds.tolist()}
        return told

    def with_note(self, **notes: Any) -> Self:
        """Return the same with these numbers for reports."""
        return self.with_evidence(notes={**self.evidence.notes, **notes})

    def with_evidence(self, **changes: Any) -> Self:
        """Return the same with other evidence."""
        return replace(self, evidence=replace(self.evidence, **changes))

    def spending(self, step: str, n: int) -> Self:
        """Return the same with n more queries for a step."""
        spent = dict(self.evidence.spent)
        spent[step] = spent.get(step, 0) + n
        return self.with_evidence(spent=spent)

    def of_all(self, n_queries: int) -> Self:
        """Return the same with the first of its steps for as many queries as it takes to make so many of all."""
        first = n_queries - self.n_queries + self.evidence.spent.get(FIRST, 0)
        others = {step: n for step, n in self.evidence.spent.items() if step != FIRST}
        return self.with_evidence(spent={FIRST: first, **others}) if first > 0 else self
