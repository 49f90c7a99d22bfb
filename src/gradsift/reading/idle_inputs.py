"""How is a box of one or two inputs read by a reader that needs three? It is given inputs that count for nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..errors import NotIdentifiable
from ..network import Network
from .ledger import Ledger
from .question import GROWING_KINDS, Question, attempted, names_of
from .region import Region
from .result import Reading

PARALLEL = "In one dimension all sigmoids are parallel and cannot be separated; fit samples instead."
_ROOM = 3  # inputs from which on a path has room to go around


def with_room(read: Callable[..., Reading]) -> Callable[..., Reading]:
    """Return a reader that is asked in three dimensions at least, and says what it found of the box's own inputs."""

    def read_with_room(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
        d = ledger.n_features
        if d >= _ROOM:
            return read(question, ledger, rng)
        oracle = ledger.oracle.with_idle_inputs(_ROOM - d)
        wider = Ledger(oracle, ledger.max_queries, ledger.progress, ledger.precision)
        found = attempted(lambda: read(replace(question, region=Region.of(oracle)), wider, rng))
        if isinstance(found, NotIdentifiable):
            if d > 1 or question.named:
                raise found
            grows = found.rules_out is None or not names_of(*GROWING_KINDS) <= found.rules_out.families
            raise NotIdentifiable(f"{PARALLEL} As units that grow: {found}" if grows else PARALLEL)
        errors = dict(found.evidence.errors)
        if "linear" in errors:
            errors["linear"] = errors["linear"][:d]
        return replace(found, network=_of_first_inputs(found.network, d)).with_evidence(errors=errors)

    return read_with_room


def _of_first_inputs(network: Network, d: int) -> Network:
    """Return a network without the weights of all inputs but the first d, which are roundings of zero."""
    (weights, offsets), *above = network.layers
    return Network([(weights[:, :d], offsets), *above], network.activation, network.linear[:, :d]).canonical()
