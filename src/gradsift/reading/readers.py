"""Who can read a black box, at which cost, and in which order: a table, and the walk through it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..errors import BudgetSpent, NotIdentifiable
from ..forecasting import median_decisions, median_kinks, median_queries
from ..network import MOST_LAYERS
from .ledger import Ledger, n_affordable
from .question import (
    ALGEBRAIC,
    BENT,
    EVERY_DEPTH,
    PLATEAUS,
    SHARP,
    SMOOTH,
    Narrowing,
    Question,
    Refusal,
    all_but,
    attempted,
    names_of,
)
from .result import Reading
from .scouts import LOOK_COST, detect_noise

_MOST_TAUGHT = 64  # units beyond which no student is trained to come close to the box; guess


class Reader(NamedTuple):
    """What one reader can read, what that costs, and where it lives.

    Attributes
    ----------
    name, reads : str
        Short, and as part of a sentence.
    kinds : frozenset of str
        Of activations (:func:`gradsift.reading.question.kind_of`).
    depths : frozenset of int
    precisions : frozenset of str
        Levels of :class:`Precision`.
    regions : frozenset of str
    cost : callable
        Queries for d inputs and k units: the order in which readers are tried.
    home : str
        Module and function, ``read(question, ledger, rng) -> Reading``; raises NotIdentifiable to refuse.
    """

    name: str
    reads: str
    kinds: frozenset[str]
    depths: frozenset[int]
    precisions: frozenset[str]
    regions: frozenset[str]
    cost: Callable[[int, int], float]
    home: str

    def accepts(self, question: Question) -> bool:
        """Say whether a question may be one for this reader."""
        return (
            bool(question.of_kinds(*self.kinds))
            and bool(question.depths & self.depths)
            and {question.level} <= self.precisions
            and question.region.name in self.regions
        )

    def part_of(self, question: Question) -> tuple[Any, ...]:
        """Return what of a question this reader looks at."""
        return question.of_kinds(*self.kinds), question.depths & self.depths, question.level

    def read(self, question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
        """Read a box; imported when its turn comes."""
        module, function = self.home.split(":")
        read: Callable[..., Reading] = getattr(import_module(module, __package__), function)
        return read(question, ledger, rng)


def _row(
    name: str, reads: str, kinds: set[str], depths: set[int], precisions: str, regions: str, cost: Any, home: str
) -> Reader:
    return Reader(
        name, reads, frozenset(kinds), frozenset(depths), frozenset(precisions.split()), frozenset(regions.split()),
        cost, home,
    )  # fmt: skip


def _unknowns(d: int, k: int) -> float:
    return k * (d + 2) + 1.0


_UNBOUNDED = "open linked"
READERS: list[Reader] = [
    _row("plateaus", "one layer of sigmoids", {PLATEAUS}, {1}, "exact fine", _UNBOUNDED,
         lambda d, k: median_queries(d, k), ".plateaus.reader:read_plateaus"),
    _row("kinks", "one layer of units that grow", {SHARP, SMOOTH, BENT}, {1}, "exact fine coarse noisy", "open",
         lambda d, k: median_kinks(d, k), ".kinks.reader:read_kinks"),
    _row("derivatives", "one layer inside bounds", {PLATEAUS, SMOOTH}, {1}, "exact", "bounded",
         lambda d, k: 20 + 2.5 * _unknowns(d, k), ".box.reader:read_derivatives"),
    _row("derivatives", "one layer inside bounds", {SMOOTH}, {1}, "fine coarse noisy", "bounded",
         lambda d, k: 20 + 2.5 * _unknowns(d, k), ".box.reader:read_derivatives"),
    _row("tails", "one layer of sigmoids with algebraic tails", {ALGEBRAIC}, {1}, "exact", _UNBOUNDED,
         lambda d, k: 30 + 4 * _unknowns(d, k), ".plateaus.reader:read_tails"),
    _row("layers", "several layers of sigmoids", {PLATEAUS}, {2, 3}, "exact fine", _UNBOUNDED,
         lambda d, k: 100 + 5 * _unknowns(d, k), ".layers.reader:read_layers"),
    _row("relu_layers", "several layers of ReLU units", {SHARP}, set(range(2, MOST_LAYERS)), "exact", "open",
         lambda d, k: 100 + 6 * _unknowns(d, k), ".relu_layers.reader:read_relu_layers"),
    _row("region", "one layer of sharp units inside bounds", {SHARP, BENT}, {1}, "exact fine coarse noisy", "bounded",
         lambda d, k: 60 + 5.5 * _unknowns(d, k), ".kinks.region_reader:read_region"),
    _row("region", "one layer of sharp units behind a link", {SHARP, SMOOTH, BENT}, {1}, "exact fine coarse noisy",
         "linked", lambda d, k: 60 + 5.5 * _unknowns(d, k), ".kinks.region_reader:read_region"),
    _row("student", "one layer of sigmoids inside bounds, by a student", {PLATEAUS}, {1}, "exact", "bounded",
         lambda d, k: 100 + 12 * _unknowns(d, k), ".box.reader:read_student"),
    _row("stages", "one layer of sigmoids behind imperfect answers", {PLATEAUS, ALGEBRAIC}, {1}, "coarse noisy labels",
         _UNBOUNDED, lambda d, k: 150 + 20 * _unknowns(d, k), ".noise.reader:read_noise"),
    _row("stages", "one layer of algebraic tails behind rounded answers", {ALGEBRAIC}, {1}, "fine", _UNBOUNDED,
         lambda d, k: 150 + 20 * _unknowns(d, k), ".noise.reader:read_noise"),
    _row("stages", "one layer of sigmoids inside bounds, behind imperfect answers", {PLATEAUS, ALGEBRAIC}, {1},
         "fine coarse noisy labels", "bounded",
         lambda d, k: 150 + 20 * _unknowns(d, k), ".noise.reader:read_noise"),
    _row("decisions", "one layer behind decisions", {PLATEAUS, SHARP}, {1}, "decisions", "open",
         lambda d, k: median_decisions(d, k), ".decisions.reader:read_decisions"),
]  # fmt: skip


def best_reader(question: Question, d: int, tried: list[tuple[str, Any]], readers: list[Reader]) -> Reader | None:
    """Return the cheapest reader that accepts a question, and has not refused its part of it; None if there is none."""
    able = [r for r in readers if r.accepts(question) and (r.name, r.part_of(question)) not in tried]
    return min(able, key=lambda reader: reader.cost(d, d), default=None)


def read(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Let the cheapest reader that accepts the question read; a refusal narrows it for the next one."""
    tried: list[tuple[str, Any]] = []
    refusals: list[Refusal] = []
    reconsidered = False
    while True:  # every reader is tried at most once on each part of the question
        reader = best_reader(question, ledger.n_features, tried, READERS)
        if reader is None:
            narrower = None if reconsidered else _look_once_more(question, refusals, ledger, rng)
            if narrower is None:
                break
            question, reconsidered = narrower, True
            continue
        tried.append((reader.name, reader.part_of(question)))
        found = attempted(partial(_read, reader, question, ledger, rng))
        if not isinstance(found, NotIdentifiable):
            return found if found.precision is not None else replace(found, precision=question.precision)
        if question.precision.remainder:  # units beside a remainder were only a guess
            break
        refusals.append(Refusal(reader.reads, str(found), found.rules_out or Narrowing(), found.partial))
        question = question.narrowed(refusals[-1].rules_out)
    raise refused(refusals, question)


def _read(reader: Reader, question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Let a reader read; a budget that ends a mere guess is no word of it."""
    try:
        return reader.read(question, ledger, rng)
    except BudgetSpent as spent:
        if not question.precision.remainder:
            raise
        raise NotIdentifiable(str(spent)) from None


def _look_once_more(
    question: Question, refusals: list[Refusal], ledger: Ledger, rng: np.random.Generator
) -> Question | None:
    """Look at a refused box again, and return the question if answers are random after all, or nearly those of units.

    Raises NotIdentifiable with the cause that the look shows.
    """
    if not refusals or not _may_be_random(question, refusals[-1], ledger):
        return None
    seen = detect_noise(ledger.oracle, question.precision, rng)
    if seen.cause:
        raise NotIdentifiable(seen.cause, _best_partial(refusals))
    if seen.link:
        first = refused(refusals, question)
        raise NotIdentifiable(f"{seen.link[0].upper()}{seen.link[1:]}. {first}", first.partial)
    beyond = len({r.reader for r in refusals}) > 1 or _n_units(refusals) > _MOST_TAUGHT
    plain = question.precision.is_exact and question.region.is_open
    family = names_of(PLATEAUS) if not question.named else question.families & names_of(PLATEAUS, ALGEBRAIC)
    if seen.precision is None or not plain or not family or (beyond and not seen.is_noise):
        return None
    if seen.is_noise:
        refusals.clear()
    return replace(question, families=family, depths=frozenset({1}), precision=seen.precision)


def _may_be_random(question: Question, last: Refusal, ledger: Ledger) -> bool:
    """Say whether a box may have noise that its first answers did not show, and a look at that is affordable."""
    another = not question.families and bool(all_but(last.rules_out.families))  # of a family that was not asked for
    outputs = question.precision.outputs
    silent = bool(outputs) and not any(r.grid for r in outputs)  # neither noise nor decimals
    return silent and not another and n_affordable(ledger.oracle, LOOK_COST) >= LOOK_COST


def _n_units(refusals: list[Refusal]) -> int:
    """Return how many units were found before the last refusal."""
    found = refusals[-1].partial
    return found.model.n_units if isinstance(found, Reading) else 0


def _best_partial(refusals: list[Refusal]) -> Any:
    """Return the last result that a refusal carries, None without any."""
    return next((r.partial for r in reversed(refusals) if r.partial is not None), None)


def refused(refusals: list[Refusal], question: Question) -> NotIdentifiable:
    """Return one refusal that tells, in order, what was tried and why each said no."""
    # A reader that only found out which other one to ask has no say in the end.
    told = [(r.reader, r.because) for r in refusals[:-1] if len(r.rules_out.families) < 2]
    told += [(r.reader, r.because) for r in refusals[-1:]]
    says = " ".join(f"As {reader}: {because}" for reader, because in told) if len(told) > 1 else "".join(
        because for _, because in told
    )  # fmt: skip
    return NotIdentifiable(says or _no_reader(question), _best_partial(refusals))


def _no_reader(question: Question) -> str:
    """Say what is missing where no reader accepts a question."""
    if question.precision.is_decision:
        where = "" if question.region.is_open else f" inside {question.region}"
        names = " or ".join(sorted(question.families)) if len(question.families) < 4 else "such"
        return (
            "The box only decides, and never changes its answers: one layer of sigmoids with plateaus or of relu "
            f"units is read from decisions, where all inputs may be asked; got {names} units{where}, "
            f"{' or '.join(map(str, sorted(question.depths)))} hidden layers."
        )
    if question.precision.is_label and not question.of_kinds(PLATEAUS, ALGEBRAIC):
        names = " or ".join(sorted(question.families))
        return f"Labels cannot tell {names} units, which grow: their mean must stay within -1 and 1."
    if min(question.depths, default=1) > max(EVERY_DEPTH):
        return f"Up to {max(EVERY_DEPTH)} hidden layers are read, got layers={min(question.depths)}."
    if 1 not in question.depths and question.of_kinds(PLATEAUS):
        where = "inside bounds" if question.region.is_bounded else f"where {question.precision}"
        return (
            "Several hidden layers are read from precise answers far out, where all units of the first stand still: "
            f"{where} that is not possible."
        )
    return f"Nothing here reads {question}."
