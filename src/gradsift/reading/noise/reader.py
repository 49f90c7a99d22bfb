"""The reader of one hidden layer of sigmoids behind imperfect answers: noise, rounding, labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...certificate import method_rules as any_method
from ..ledger import Ledger
from ..question import ALGEBRAIC, PLATEAUS, Question
from ..result import Reading
from ..scouts import with_roughness
from .beside_line import identify_beside_line
from .box_stages import identify_noisy_box


def read_stages(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Read units of the first sigmoid that is possible by the table of stages, and a linear term beside them."""
    name, oracle = (*question.of_kinds(PLATEAUS), *question.of_kinds(ALGEBRAIC))[0], ledger.oracle
    precision = with_roughness(question.precision, oracle, rng)
    found = identify_beside_line(
        oracle, name, rng, accuracy=question.goal.accuracy, precision=precision, progress=ledger.progress
    )
    found = replace(found, precision=precision)
    if not precision.remainder:
        return found
    checks = (any_method.remainder(precision.sd), *found.checks)
    return replace(found, judgement=replace(found.judgement, checks=checks))


def read_imperfect_box(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Read units of the first sigmoid that is possible through noise, rounding or labels, by a table of stages."""
    name, precision = question.of_kinds(PLATEAUS, ALGEBRAIC)[0], with_roughness(question.precision, ledger.oracle, rng)
    accuracy, progress = question.goal.accuracy, ledger.progress
    found = identify_noisy_box(ledger.oracle, name, rng, accuracy=accuracy, precision=precision, progress=progress)
    return replace(found, precision=precision)
