"""Readers of one hidden layer inside bounds: by derivatives, or by a student."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...errors import NotIdentifiable
from ..ledger import Ledger
from ..question import PLATEAUS, SMOOTH, Narrowing, Question, all_but, attempted
from ..result import Reading
from ..scouts import straight_in_parts
from .inside import identify_bounded


def read_derivatives(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Read units by derivatives near the middle; a student goes on unless the function is straight in parts."""
    if question.named:
        return _read(question, ledger, rng, lambda: False)
    told: list[bool] = []

    def straight() -> bool:
        told.append(straight_in_parts(ledger.oracle, rng))
        return told[0]

    found = attempted(lambda: _read(question, ledger, rng, straight))
    if not isinstance(found, NotIdentifiable):
        return found
    if not (told[0] if told else straight()):
        found.rules_out = Narrowing(all_but(frozenset()))  # neither kinks nor a student are left to try
    raise found


def read_student(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Read units by a student, though the function looks straight in parts: steep units may do so, too."""
    return _read(question, ledger, rng, lambda: False)


def _read(question: Question, ledger: Ledger, rng: np.random.Generator, straight: Callable[[], bool]) -> Reading:
    name, *others = (*question.of_kinds(PLATEAUS), *question.of_kinds(SMOOTH))
    return identify_bounded(
        ledger.oracle, name, rng, others=tuple(others), precision=question.precision, region=question.region,
        ledger=ledger, straight=straight,
    )  # fmt: skip
