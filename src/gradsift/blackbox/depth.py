"""One hidden layer or several: what a refusal of one layer means, and who goes on with its answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import NotIdentifiable
from ..forecasting import most_without_asking
from ..oracle import Oracle
from .asking import Ledger
from .deep import identify_deep
from .exact import identify
from .links import link_of
from .result import Identification, Progress

__all__ = ["identify_exact", "looks_deeper"]

_OPPOSITE_PAIRS = 8  # with 2, small networks show equal signs on both in every tenth case


def identify_exact(
    oracle: Oracle,
    activation: str,
    rng: np.random.Generator,
    *,
    layers: int | str = "auto",
    max_queries: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    n_verify: int = 0,
) -> Identification:
    """Find the network behind exact answers, with one hidden layer or several.

    Parameters
    ----------
    layers : {"auto", 1, 2, 3}
        "auto" looks for one layer first, at no cost beyond that of one layer if there is one; if its units are refuted,
        sixteen queries tell whether there can be several, which are then read with all answers asked so far.
    """
    ledger = Ledger(oracle, max_queries, progress, patience=most_without_asking("exact", False))
    family = "tanh" if activation == "auto" else activation
    if layers in (2, 3):
        ledger.lose_no_patience()
        return _decided(identify_deep(ledger, link_of(family), rng, int(layers)), f"{layers} hidden layers were given")
    try:
        found = identify(oracle, activation, rng, n_verify=n_verify, ledger=ledger)
        if layers == 1 or found.certified or not looks_deeper(ledger, rng):
            return found
        refusal = found.verdict
    except NotIdentifiable as refused:
        if layers == 1 or not looks_deeper(ledger, rng):
            raise
        refusal = str(refused)
    ledger.lose_no_patience()  # the queries of deeper networks are not forecast
    try:
        deep = identify_deep(ledger, link_of(family), rng)
    except NotIdentifiable as refused:
        raise NotIdentifiable(
            f"Neither one hidden layer nor several explain the answers. One: {refusal} Several: {refused}",
            refused.partial,
        ) from None
    return _decided(deep, "opposite points far out do not cancel, as they do with one hidden layer")


def looks_deeper(ledger: Ledger, rng: np.random.Generator) -> bool:
    """Say whether opposite points far out do not cancel: with one layer of odd units only its constant is left of them.

    Sixteen queries; none where the function grows far out.
    """
    if ledger.linear is not None or not ledger.spent.get("scan"):
        return False
    ways = rng.standard_normal((_OPPOSITE_PAIRS, ledger.n_features))
    ways *= ledger.far / np.linalg.norm(ways, axis=1)[:, None]
    answers = ledger.ask(np.concatenate([ways, -ways]), "depth")
    sums = answers[:_OPPOSITE_PAIRS] + answers[_OPPOSITE_PAIRS:]
    return bool(np.ptp(sums) > 2 * ledger.tolerance(0.0))


def _decided(found: Identification, why: str) -> Identification:
    """Keep in the diagnostics how the number of layers was decided."""
    found.diagnostics["depth"] = why
    return found
