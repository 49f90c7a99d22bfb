"""The reader of one hidden layer of sigmoids behind imperfect answers: noise, rounding, labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...checks import any_method
from ..answers import with_roughness
from ..asking import Ledger
from ..question import ALGEBRAIC, PLATEAUS, Question
from ..result import Identification
from .beside_line import identify_beside_line

__all__ = ["read_stages"]


def read_stages(question: Question, ledger: Ledger, rng: np.random.Generator) -> Identification:
    """Read units of the first sigmoid that is possible by the table of stages, and a linear term beside them."""
    name, oracle = (*question.of_kinds(PLATEAUS), *question.of_kinds(ALGEBRAIC))[0], ledger.oracle
    precision = with_roughness(question.precision, oracle, rng)
    found = identify_beside_line(
        oracle, name, rng, accuracy=question.goal.accuracy, floor=precision, progress=ledger.progress
    )
    found = replace(found, floor=precision)
    if not precision.remainder:
        return found
    checks = (any_method.remainder(precision.sd), *found.checks)
    return replace(found, judgement=replace(found.judgement, checks=checks))
