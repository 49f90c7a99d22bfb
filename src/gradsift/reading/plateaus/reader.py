"""Readers of one hidden layer of sigmoids behind exact or finely rounded answers: by plateaus, or by their tails."""

from __future__ import annotations

import numpy as np

from ...errors import BudgetSpent, NotIdentifiable
from ...forecasting import HASTE, QueryLimit
from ..circle import Incomplete
from ..ledger import EPS, Ledger
from ..odd_form import link_of
from ..question import ALGEBRAIC, EVERY_DEPTH, PLATEAUS, Narrowing, Question, all_but, attempted, names_of
from ..result import Reading
from .coarse import identify_coarse
from .search import Search, identify

_OPPOSITE_PAIRS = 8  # with 2, small networks show equal signs on both in every tenth case
_WAYS_SEEN = _OPPOSITE_PAIRS // 2  # where answers differ; "trained logistic" (8,4): at random, all signs turn at once
_DEEPER = Narrowing(depths=frozenset({1}))


def read_plateaus(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Read one layer of units that saturate: rays, circles, probes, joint fit.

    Units of one layer are hard to refute through few digits, so that a search without a budget that takes much longer
    than one layer should is asked about its depth.
    """
    if question.precision.is_exact:
        ledger.limit(QueryLimit("exact"))
        return _one_layer(question, ledger, rng)
    if question.depths > {1} and ledger.oracle.max_queries is None:
        ledger.limit(QueryLimit("float32", patience=HASTE))
        try:
            return _one_layer(question, ledger, rng)
        except BudgetSpent as spent:
            if looks_deeper(ledger, rng):
                raise NotIdentifiable(str(spent), spent.partial, _DEEPER) from None
        ledger.clear()
    ledger.limit(QueryLimit("float32"))
    return _one_layer(question, ledger, rng)


def _one_layer(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Look for one layer; where its units are refuted, sixteen queries tell whether there can be several."""
    found = attempted(lambda: _any_family(question, ledger, rng))
    several = question.depths > {1}
    if not isinstance(found, NotIdentifiable):
        if found.certified or not (several and looks_deeper(ledger, rng)):
            return found
        raise NotIdentifiable(found.verdict, found, _DEEPER)
    excluded = frozenset() if found.rules_out is None else found.rules_out.families
    if not all_but(excluded) or (names_of(PLATEAUS) <= excluded and not question.named):
        raise found  # it jumps, so that nothing is left; or it grows, or has algebraic tails
    if several and looks_deeper(ledger, rng):
        raise NotIdentifiable(str(found), found.partial, _DEEPER)
    if isinstance(found, Incomplete) and ledger.eps == EPS:  # units that cancel may have stopped it: in other planes
        try:
            again = attempted(lambda: _any_family(question, ledger, rng))
        except BudgetSpent:
            again = found
        found = again
    if isinstance(found, NotIdentifiable):
        if (
            found.rules_out is None or not question.named
        ):  # rays have told how it ends far out, and opposite answers its depth
            found.rules_out = Narrowing(all_but(names_of(PLATEAUS)), EVERY_DEPTH - {1})
        raise found
    return found


def _any_family(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Search for units of the first sigmoid, and of another one where their steps have its shape."""
    name, *others = question.of_kinds(PLATEAUS)
    found = attempted(lambda: _of_family(name, question, ledger, rng))
    if not isinstance(found, NotIdentifiable):
        return found
    another = [] if found.rules_out is None else [n for n in others if n not in found.rules_out.families]
    if not another:
        raise found
    return _of_family(another[0], question, ledger, rng)


def _of_family(name: str, question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    if not question.precision.is_exact:
        return identify_coarse(name, rng, ledger)
    return identify(ledger.oracle, name, rng, n_verify=question.goal.n_verify, ledger=ledger)


def read_tails(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Read a few units with algebraic tails: students trained on growing sets of answers."""
    ledger.limit(QueryLimit("exact"))
    search = Search(ledger, rng)
    return search.finished(lambda: search.student(*map(link_of, question.of_kinds(ALGEBRAIC))), question.goal.n_verify)


def looks_deeper(ledger: Ledger, rng: np.random.Generator) -> bool:
    """Say whether opposite points far out do not cancel: with one layer of odd units only its constant is left of them.

    Sixteen queries; none where the function grows far out.
    """
    if ledger.linear is not None or not ledger.spent.get("scan"):
        return False
    ledger.limit(None)  # the queries of deeper networks are not forecast
    ways = rng.standard_normal((_OPPOSITE_PAIRS, ledger.n_features))
    seen = ledger.X[np.unique(ledger.y, return_index=True)[1]]  # by their answers
    seen = seen[np.linalg.norm(seen, axis=1) > 0]
    ways[:_WAYS_SEEN] = seen[np.linspace(0, len(seen) - 1, _WAYS_SEEN + 2)[1:-1].astype(int)]
    ways *= ledger.far / np.linalg.norm(ways, axis=1)[:, None]
    answers = ledger.ask(np.concatenate([ways, -ways]), "depth")
    sums = answers[:_OPPOSITE_PAIRS] + answers[_OPPOSITE_PAIRS:]
    return bool(np.ptp(sums) > 2 * ledger.tolerance(0.0))
