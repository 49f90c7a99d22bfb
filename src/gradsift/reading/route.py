"""What a call of a black box means, and the way from it to a network that was verified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..certificate import noise_rules as imperfect
from ..errors import NotIdentifiable, OracleFailure
from ..oracle import Oracle
from .ledger import Ledger
from .precision import Precision
from .question import GROWING_KINDS, Goal, Narrowing, Question, all_but, ask_of, names_of
from .readers import read
from .region import Region
from .result import Progress, Reading
from .scouts import constant_in_pieces, measure_precision
from .verify import verified


def identify_box(
    oracle: Oracle,
    activation: str | None,
    rng: np.random.Generator,
    *,
    accuracy: float | None = None,
    layers: int | str = "auto",
    progress: Callable[[Progress], None] | None = None,
    n_verify: int = 0,
) -> Reading:
    """Find out how good the answers are (two queries if they are exact), and let the cheapest reader read.

    Parameters
    ----------
    oracle : Oracle
        With one output.
    activation : str, optional
        None or "auto": told from the answers where they are precise enough, else tanh.
    accuracy : float, optional
        Direction error wanted.
    layers : "auto" or int
        Hidden layers; several only where answers are exact or finely rounded, and not bounded.
    n_verify : int
        Fresh inputs to ask at the end, for nothing but to see whether the network foretells their answers.
    """
    try:
        question = first_question(oracle, activation, layers, Goal(accuracy, n_verify), rng)
        ledger = Ledger(oracle, None, progress, question.precision)
        found = read(question, ledger, rng)
    except OracleFailure as lost:  # a link's range was left
        pieces = "" if oracle.link is None else constant_in_pieces(oracle, rng)
        if not pieces:
            raise
        raise NotIdentifiable(pieces) from lost
    found = found if found.verification is not None else verified(found, oracle, n_verify, rng)
    return _check_accuracy(found, question)


def first_question(
    oracle: Oracle, activation: str | None, layers: int | str, goal: Goal, rng: np.random.Generator
) -> Question:
    """Return the question as first answers narrow it: what grows behind a link leaves its range far out."""
    region, nearby = Region.of(oracle), activation in names_of(*GROWING_KINDS) and oracle.link is not None
    try:
        return ask_of(region, activation, layers, measure_precision(oracle, rng, far=not nearby), goal)
    except OracleFailure:
        if oracle.link is None or activation not in (None, "auto"):
            raise
    precision: Precision = measure_precision(oracle, rng, far=False)
    return ask_of(region, activation, layers, precision, goal).narrowed(Narrowing(all_but(names_of(*GROWING_KINDS))))


def _check_accuracy(found: Reading, question: Question) -> Reading:
    """Hold an accuracy that was asked for against the error bound of answers without noise."""
    if question.goal.accuracy is None or not (question.precision.is_exact or question.is_fine):
        return found
    check = imperfect.accuracy(float(np.nanmax(found.evidence.bounds, initial=0.0)), question.goal.accuracy)
    return replace(found, judgement=found.judgement.add(check))
