"""Readers of one hidden layer of sigmoids behind exact or finely rounded answers: by plateaus, or by their tails."""

from __future__ import annotations

import numpy as np

from ...errors import BudgetSpent, NotIdentifiable
from ...forecasting import HASTE, QueryLimit
from ..circle import Incomplete
from ..ledger import EPS, Ledger
from ..odd_form import link_of
from ..question import ALGEBRAIC, EVERY_DEPTH, PLATEAUS, Narrowing, Question, all_but, attempted, names_of
from ..rays import opposites_cancel
from ..result import Reading
from .coarse import identify_coarse
from .search import Search, identify

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
            if _has_several(ledger, rng):
                raise NotIdentifiable(str(spent), spent.partial, _DEEPER) from None
        ledger.clear()
    ledger.limit(QueryLimit("float32"))
    return _one_layer(question, ledger, rng)


def _one_layer(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Look for one layer; where its units are refuted, sixteen queries tell whether there can be several."""
    found = attempted(lambda: _any_family(question, ledger, rng))
    several = question.depths > {1}
    if not isinstance(found, NotIdentifiable):
        if found.certified or not several or not _has_several(ledger, rng):
            return found
        raise NotIdentifiable(found.verdict, found, _DEEPER)
    excluded = frozenset() if found.rules_out is None else found.rules_out.families
    if not all_but(excluded) or (names_of(PLATEAUS) <= excluded and not question.named):
        raise found  # it jumps, so that nothing is left; or it grows, or has algebraic tails
    if found.rules_out == _DEEPER:
        raise found
    if several and _has_several(ledger, rng):
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


def _has_several(ledger: Ledger, rng: np.random.Generator) -> bool:
    """Say whether opposite points far out tell of several layers, where circles were looked at in vain."""
    return bool(ledger.spent.get("scan")) and not opposites_cancel(ledger, rng)


def _any_family(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Search for units of the first sigmoid, and of another one where their steps have its shape."""
    name, *others = question.of_kinds(PLATEAUS)
    found = attempted(lambda: _of_family(name, question, ledger, rng))
    if not isinstance(found, NotIdentifiable):
        return found
    excluded = frozenset() if found.rules_out is None else found.rules_out.families
    another = [name for name in others if excluded and name not in excluded]
    if not another:
        raise found
    return _of_family(another[0], question, ledger, rng)


def _of_family(name: str, question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    if not question.precision.is_exact:
        return identify_coarse(name, rng, ledger)
    several = question.depths > {1} and ledger.oracle.link is None
    return identify(ledger.oracle, name, rng, n_verify=question.goal.n_verify, ledger=ledger, several=several)


def read_tails(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Read a few units with algebraic tails: students trained on growing sets of answers."""
    ledger.limit(QueryLimit("exact"))
    search = Search(ledger, rng)
    return search.finished(lambda: search.student(*map(link_of, question.of_kinds(ALGEBRAIC))), question.goal.n_verify)
