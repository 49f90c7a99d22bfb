"""Readers of one hidden layer inside bounds: by derivatives, by a student, or through imperfect answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...errors import NotIdentifiable
from ..answers import with_roughness
from ..asking import Ledger
from ..kinked import straight_in_parts
from ..question import ALGEBRAIC, PLATEAUS, SMOOTH, Narrowing, Question, all_but, attempted
from ..result import Identification
from .inside import identify_bounded

__all__ = ["read_derivatives", "read_imperfect", "read_student"]


def read_derivatives(question: Question, ledger: Ledger, rng: np.random.Generator) -> Identification:
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


def read_student(question: Question, ledger: Ledger, rng: np.random.Generator) -> Identification:
    """Read units by a student, though the function looks straight in parts: steep units may do so, too."""
    return _read(question, ledger, rng, lambda: False)


def read_imperfect(question: Question, ledger: Ledger, rng: np.random.Generator) -> Identification:
    """Read units of the first sigmoid that is possible through noise, rounding or labels, by a table of stages."""
    name, precision = (
        question.of_kinds(PLATEAUS, ALGEBRAIC)[0],
        with_roughness(question.precision, ledger.oracle, rng),
    )
    accuracy, progress = question.goal.accuracy, ledger.progress
    found = identify_bounded(ledger.oracle, name, rng, accuracy=accuracy, floor=precision, progress=progress)
    return replace(found, floor=precision)


def _read(question: Question, ledger: Ledger, rng: np.random.Generator, straight: Callable[[], bool]) -> Identification:
    name, *others = (*question.of_kinds(PLATEAUS), *question.of_kinds(SMOOTH))
    return identify_bounded(
        ledger.oracle, name, rng, others=tuple(others), floor=question.precision, progress=ledger.progress,
        straight=straight,
    )  # fmt: skip
