"""Readers of one hidden layer of units that grow: far out, or within the region in which a box may be asked."""

from __future__ import annotations

import numpy as np

from ...errors import NotIdentifiable
from ..ledger import Ledger
from ..question import BENT, SHARP, SMOOTH, Question
from ..result import Reading
from ..scouts import with_roughness
from .answer_precision import grain_of
from .far_reader import open_kinked
from .region_reader import open_within


def read_kinks(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Read kinks far out, where the network is linear in cells."""
    names, precision = question.of_kinds(SHARP, SMOOTH, BENT), question.precision
    if len(names) > 1 and question.level != "exact":
        raise NotIdentifiable(
            f"Far out the function grows as ReLU or similar units do, and {precision}: name the activation, which is "
            "told only from answers of double precision ('relu', 'leaky_relu', 'softplus', 'silu', 'gelu' or "
            "'gelu_tanh')."
        )
    grain = grain_of(with_roughness(precision, ledger.oracle, rng))
    name = names[0] if len(names) == 1 else "auto"
    return open_kinked(ledger.oracle, name, rng, progress=ledger.progress, grain=grain, earlier=ledger)


def read_region(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Read sharp kinks on rays from the middle of a region."""
    names = question.of_kinds(SHARP) or question.of_kinds(SMOOTH, BENT)
    return open_within(ledger.oracle, names[0], question.precision, rng, progress=ledger.progress)
