"""The reader of several hidden layers of sigmoids with plateaus."""

from __future__ import annotations

import numpy as np

from ...errors import NotIdentifiable
from ..ledger import Ledger
from ..odd_form import link_of
from ..question import PLATEAUS, Narrowing, Question, attempted
from ..result import Reading
from .layerwise import identify_deep


def read_layers(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Read layers of the first activation that is still possible; a refusal leaves the others."""
    name, *others = question.of_kinds(PLATEAUS)
    if question.level != "exact":
        # Far out on slopes, coarse answers say too little about arguments for a fit that begins with some digits.
        ledger.forget_rows()
    ledger.allot(None)
    given = len(question.depths) == 1
    found = attempted(lambda: identify_deep(ledger, link_of(name), rng, min(question.depths) if given else None))
    if isinstance(found, NotIdentifiable):
        if others and found.rules_out is None:
            found.rules_out = Narrowing(frozenset({name}))
        raise found
    return found.noting(
        depth=f"{min(question.depths)} hidden layers were given" if given
        else "opposite points far out do not cancel, as they do with one hidden layer"
    )  # fmt: skip
