"""The table of readers as a decision table: every question has a reader, or a refusal that names what is missing."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import gradsift as gs
from gradsift.activations import ACTIVATIONS, get_activation
from gradsift.reading import readers
from gradsift.reading.precision import Precision
from gradsift.reading.question import EVERY_DEPTH, GROWING_KINDS, PLATEAUS, Goal, Question, kind_of, names_of
from gradsift.reading.readers import READERS, Reader, best_reader, refused
from gradsift.reading.region import Region
from gradsift.reading.result import Reading

EXACT, DECIMALS = (Precision(size=1.0),), (Precision("rounded", grid=1e-2, size=1.0),)
PRECISIONS = {
    "exact": Precision(outputs=EXACT),
    "fine": Precision("float32", 1e-8, 1e-7, size=1.0, outputs=(Precision("float32", size=1.0),)),
    "coarse": Precision("rounded", 1e-3, 1e-2, size=1.0, absolute=1e-2, outputs=DECIMALS),
    "noisy": Precision("noisy", 0.1),
    "labels": Precision("labels", 1.0),
    "decisions": Precision("decisions", values=(0.0, 1.0)),
}
WHERE = {"open": {}, "linked": {"link": "logit"}, "bounded": {"bounds": (-1, 1)}}
REGIONS = {name: Region.of(gs.Oracle(len, 5, **where)) for name, where in WHERE.items()}
DEPTHS = [EVERY_DEPTH, *(frozenset({n}) for n in (1, 2, 3, 4))]


def questions():
    for name, level, region, depths in product((None, *ACTIVATIONS), PRECISIONS, REGIONS, DEPTHS):
        families = frozenset(ACTIVATIONS) if name is None else frozenset({name})
        yield Question(families, depths, PRECISIONS[level], REGIONS[region], Goal(), name is not None)


def test_every_question_has_a_reader_or_a_refusal_that_names_what_is_missing():
    n_read = n_refused = 0
    for question in questions():
        assert question.level == next(level for level, p in PRECISIONS.items() if p is question.precision)
        reader = best_reader(question, 5, [], READERS)
        if reader is not None:
            n_read += 1
            assert reader.accepts(question)
            continue
        n_refused += 1
        says = str(refused([], question))
        named = [name for name in question.families if name in says]
        assert named or "layers" in says or "decides" in says or "grow" in says, says
    assert n_read > 300
    assert n_refused > 300


@pytest.mark.parametrize(
    ("activation", "level", "region", "depth", "reader"),
    [
        ("tanh", "exact", "open", 1, "plateaus"),
        ("logistic", "fine", "linked", 1, "plateaus"),
        ("arctan", "exact", "open", 1, "tails"),
        ("arctan", "fine", "open", 1, "stages"),
        ("relu", "exact", "open", 1, "kinks"),
        ("relu", "noisy", "open", 1, "kinks"),
        ("relu", "exact", "bounded", 1, "region"),
        ("relu", "exact", "linked", 1, "region"),
        ("softplus", "exact", "bounded", 1, "derivatives"),
        ("tanh", "exact", "bounded", 1, "derivatives"),
        ("tanh", "noisy", "bounded", 1, "stages"),
        ("tanh", "labels", "open", 1, "stages"),
        ("erf", "exact", "open", 2, "layers"),
        ("tanh", "fine", "open", 3, "layers"),
        ("relu", "exact", "open", 2, "relu_layers"),
        ("tanh", "noisy", "open", 2, None),
        ("tanh", "exact", "bounded", 2, None),
        ("tanh", "exact", "open", 4, None),
        ("relu", "labels", "open", 1, None),
        ("tanh", "decisions", "open", 1, "decisions"),
        ("relu", "decisions", "open", 1, "decisions"),
        ("arctan", "decisions", "open", 1, None),
        ("tanh", "decisions", "bounded", 1, None),
    ],
)
def test_the_cheapest_reader_that_accepts_a_question_is_chosen(activation, level, region, depth, reader):
    question = Question(frozenset({activation}), frozenset({depth}), PRECISIONS[level], REGIONS[region], Goal(), True)
    chosen = best_reader(question, 5, [], READERS)
    assert (None if chosen is None else chosen.name) == reader


def test_a_question_is_only_ever_narrowed():
    question = next(questions())
    narrower = question.narrowed(readers.Narrowing(names_of(*GROWING_KINDS), frozenset({1})))
    assert narrower.families < question.families
    assert narrower.depths == {2, 3}
    assert all(kind_of(get_activation(name)) not in GROWING_KINDS for name in narrower.families)


def read_dummy(question: Question, ledger, rng) -> Reading:
    raise gs.errors.NotIdentifiable("A dummy was asked first.")


def test_a_new_reader_is_one_row(monkeypatch):
    row = Reader(
        "dummy", "nothing at all", frozenset({PLATEAUS}), frozenset({1}), frozenset({"exact"}), frozenset({"open"}),
        lambda d, k: 0.0, f"{__name__}:read_dummy",
    )  # fmt: skip
    asked = []
    monkeypatch.setattr(readers, "READERS", [row, *READERS])
    monkeypatch.setattr(
        Reader, "read", lambda self, *rest, read=Reader.read: (asked.append(self.name), read(self, *rest))[1]
    )
    truth = gs.simulate.random_combination(4, 2, offsets=True, rng=3)
    assert gs.recover(gs.Oracle(truth.predict, 4), random_state=0).certified
    assert asked == ["dummy", "plateaus"]


def test_an_unknown_option_is_refused_before_a_query():
    oracle = gs.Oracle(lambda X: np.tanh(X[:, 0]), 3)
    with pytest.raises(TypeError, match="no option 'nonsense' for an oracle; it has accuracy"):
        gs.recover(oracle, nonsense=1)
    assert oracle.n_answered == 0
