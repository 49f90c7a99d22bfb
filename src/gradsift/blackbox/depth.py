"""One hidden layer or several: what a refusal of one layer means, and who goes on with its answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import BudgetSpent, NotIdentifiable
from ..forecasting import HASTE, Allotment
from ..oracle import Oracle
from .answers import Floor
from .asking import EPS, Ledger
from .deep import identify_deep
from .exact import Discontinuous, Incomplete, coarse_ledger, identify, identify_coarse
from .links import link_of
from .result import Identification, Progress

__all__ = ["NeitherOneNorSeveral", "identify_exact", "identify_fine", "looks_deeper"]

_OPPOSITE_PAIRS = 8  # with 2, small networks show equal signs on both in every tenth case
_WAYS_SEEN = 4  # of these where answers differ; "trained logistic" (8,4): at random, all signs turn at once
_WHY = "opposite points far out do not cancel, as they do with one hidden layer"


class NeitherOneNorSeveral(NotIdentifiable):
    """Opposite points far out speak for several hidden layers, which could not be read; carries what was found."""


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
    ledger = Ledger(oracle, max_queries, progress, allotment=Allotment("exact"))
    return _one_or_several(
        ledger, activation, rng, layers, lambda: identify(oracle, activation, rng, n_verify=n_verify, ledger=ledger)
    )


def identify_fine(
    oracle: Oracle,
    activation: str,
    rng: np.random.Generator,
    floor: Floor,
    *,
    layers: int | str = "auto",
    progress: Callable[[Progress], None] | None = None,
) -> Identification:
    """Find the same behind answers that are rounded finely, as in single precision.

    Units of one layer are hard to refute through few digits, so that a search without a budget that takes much longer
    than one layer should is asked about its depth, too.
    """
    if layers == "auto" and oracle.max_queries is None:
        ledger = coarse_ledger(oracle, floor, progress, HASTE)
        try:
            return _one_or_several(ledger, activation, rng, layers, lambda: identify_coarse(activation, rng, ledger))
        except BudgetSpent:
            if looks_deeper(ledger, rng):
                return _decided(identify_deep(_afresh(ledger), link_of(_family(activation)), rng), _WHY)
    whole = coarse_ledger(oracle, floor, progress)
    return _one_or_several(whole, activation, rng, layers, lambda: identify_coarse(activation, rng, whole))


def _afresh(ledger: Ledger) -> Ledger:
    """Return the ledger for several layers: the same, or an empty one that counts what was spent where answers are
    coarse. Far out on slopes they say too little about arguments for a fit that begins with some digits."""
    if ledger.eps == EPS:
        return ledger
    empty = ledger.only(slice(0, 0))
    empty.max_queries, empty.progress, empty.spent = ledger.max_queries, ledger.progress, dict(ledger.spent)
    return empty


def _one_or_several(
    ledger: Ledger, activation: str, rng: np.random.Generator, layers: int | str, one: Callable[[], Identification]
) -> Identification:
    """Look for one hidden layer with `one`, and for several with its answers where these refute it."""
    family = _family(activation)
    if layers in (2, 3):
        ledger.lose_no_patience()
        return _decided(identify_deep(ledger, link_of(family), rng, int(layers)), f"{layers} hidden layers were given")
    try:
        found = one()
        if layers == 1 or found.certified or not looks_deeper(ledger, rng):
            return found
        refusal = found.verdict
    except Discontinuous:
        raise
    except NotIdentifiable as refused:
        if layers == 1 or not looks_deeper(ledger, rng):
            return _searched_again(ledger, refused, one)
        refusal = str(refused)
    try:
        deep = identify_deep(_afresh(ledger), link_of(family), rng)
    except NotIdentifiable as refused:
        raise NeitherOneNorSeveral(
            f"Neither one hidden layer nor several explain the answers. One: {refusal} Several: {refused}",
            refused.partial,
        ) from None
    return _decided(deep, _WHY)


def _searched_again(ledger: Ledger, refused: NotIdentifiable, one: Callable[[], Identification]) -> Identification:
    """Search once more, in other planes, where units that cancel may have stopped the first search; else refuse."""
    if not isinstance(refused, Incomplete) or ledger.eps != EPS:  # through fewer digits several searches are the rule
        raise refused
    try:
        return one()
    except BudgetSpent:
        raise refused from None


def _family(activation: str) -> str:
    return "tanh" if activation == "auto" else activation


def looks_deeper(ledger: Ledger, rng: np.random.Generator) -> bool:
    """Say whether opposite points far out do not cancel: with one layer of odd units only its constant is left of them.

    Sixteen queries; none where the function grows far out.
    """
    if ledger.linear is not None or not ledger.spent.get("scan"):
        return False
    ledger.lose_no_patience()  # the queries of deeper networks are not forecast
    ways = rng.standard_normal((_OPPOSITE_PAIRS, ledger.n_features))
    seen = ledger.X[np.unique(ledger.y, return_index=True)[1]]  # by their answers
    seen = seen[np.linalg.norm(seen, axis=1) > 0]
    ways[:_WAYS_SEEN] = seen[np.linspace(0, len(seen) - 1, _WAYS_SEEN + 2)[1:-1].astype(int)]
    ways *= ledger.far / np.linalg.norm(ways, axis=1)[:, None]
    answers = ledger.ask(np.concatenate([ways, -ways]), "depth")
    sums = answers[:_OPPOSITE_PAIRS] + answers[_OPPOSITE_PAIRS:]
    return bool(np.ptp(sums) > 2 * ledger.tolerance(0.0))


def _decided(found: Identification, why: str) -> Identification:
    """Keep in the diagnostics how the number of layers was decided."""
    found.diagnostics["depth"] = why
    return found
