"""The tables of stages, walked without an oracle: stages that only report an outcome stand in for the real ones."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from gradsift.reading.layers.settings import POLICY
from gradsift.reading.layers.student_search import STUDENT_STAGES, StudentContext, StudentOutcome, StudentState
from gradsift.reading.layers.upper_layers import StudentNet
from gradsift.reading.noise.box_stages import BOX_STAGES
from gradsift.reading.noise.noise_tests import Variance
from gradsift.reading.noise.settings import FOR_A_BOX, FOR_LABELS, FOR_NOISE, FOR_ROUNDING
from gradsift.reading.noise.stages import ADDITIVE_STAGES, LABEL_STAGES
from gradsift.reading.noise.state import FitState, Outcome, Session, TrainState
from gradsift.reading.odd_form import empty_net, link_of
from gradsift.reading.plateaus.search_stages import EXACT_STAGES, CircleOutcome, SearchState
from gradsift.reading.plateaus.settings import SEARCH
from gradsift.reading.searches import END, Stage, walk

TABLES = {
    "additive": ADDITIVE_STAGES, "labels": LABEL_STAGES, "box": BOX_STAGES, "exact": EXACT_STAGES,
    "layers": STUDENT_STAGES,
}  # fmt: skip
STANDS, MISSING, REFUTED, SPENT = Outcome
DONE, AGAIN, MISSED, EXHAUSTED = CircleOutcome
TO_THE_FIT = ["scan", "units", "shape", "residuals", "misread units", "leverage", "joint fit"]


def nobody():
    return Session(
        SimpleNamespace(ledger=SimpleNamespace(n_units=0)), None, None, None, np.random.default_rng(0), FOR_NOISE
    )


def state():
    return FitState(TrainState(8, 0, 0.0, 0), Variance(1.0, 7.0), Variance(1.0, 7.0))


def path(table, script):
    """Return the names of the stages on the way, if each ends as scripted, and well where the script says nothing."""
    names, script = [], {name: list(outcomes) for name, outcomes in script.items()}

    def scripted(name, stage):
        def does(known, session):
            names.append(name)
            planned = script.get(name)
            return known, planned.pop(0) if planned else STANDS if STANDS in stage.then else next(iter(stage.then))

        return does

    walk({name: Stage(scripted(name, stage), stage.then) for name, stage in table.items()}, state(), nobody())
    return names


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_stage_is_reached_and_every_way_ends(table):
    first = next(iter(table))
    reached, ahead = {first}, [first]
    while ahead:
        for after in table[ahead.pop()].then.values():
            assert after == END or after in table, after
            if after != END and after not in reached:
                reached.add(after)
                ahead.append(after)
    assert reached == set(table)
    ends = {END}
    while more := {name for name, stage in table.items() if name not in ends and set(stage.then.values()) & ends}:
        ends |= more
    assert ends == {END, *table}


def test_noise_that_nothing_speaks_against_goes_straight_through():
    assert path(ADDITIVE_STAGES, {"read steps": [REFUTED]}) == [
        "read steps", "scale", "train", "rough directions", "look at replies", "look", "refine", "look when sharp",
        "beside planes", "profiles", "question noise", "take all in", "last look at replies", "parameters",
        "uneven noise",
    ]  # fmt: skip


def test_a_unit_made_two_is_sharpened_and_doubted_again():
    names = path(ADDITIVE_STAGES, {"read steps": [REFUTED], "beside planes": [MISSING]})
    assert names[names.index("beside planes") :][:4] == ["beside planes", "refine", "look when sharp", "beside planes"]


def test_a_unit_that_sharp_ones_do_not_need_is_dropped_and_the_rest_is_looked_at_again():
    names = path(ADDITIVE_STAGES, {"read steps": [REFUTED], "beside planes": [REFUTED]})
    assert names[names.index("beside planes") :][:3] == ["beside planes", "look when sharp", "beside planes"]


def test_units_that_were_read_need_no_student():
    names = path(ADDITIVE_STAGES, {})
    assert names[:3] == ["read steps", "refine what was read", "look at what was read"]
    assert "train" not in names


@pytest.mark.parametrize("where", ["rough directions", "look at replies", "look", "look when sharp"])
def test_whatever_speaks_against_a_student_leads_to_another_lesson(where):
    for table in (ADDITIVE_STAGES, LABEL_STAGES):
        for outcome in (MISSING, REFUTED, SPENT):
            names = path(table, {"read steps": [REFUTED], where: [outcome], "train again": [REFUTED]})
            at = names.index(where)
            assert names[at + 1 : at + 3] == ["train again", "train"]


def test_lessons_end_with_a_last_sharpening():
    script = {"read steps": [REFUTED], "look": [MISSING, MISSING], "train again": [REFUTED, SPENT]}
    names = path(ADDITIVE_STAGES, script)
    assert names.count("train") == 2
    assert "refine anyway" in names
    assert names[-1] == "uneven noise"


def test_labels_that_stand_are_not_looked_at_again():
    assert path(LABEL_STAGES, {})[-1] == "look when sharp"
    widened = path(LABEL_STAGES, {"look at replies": [MISSING]})
    assert widened.count("train") == 1  # one more unit was taken: no new lesson
    assert widened[-1] == "look when sharp"


def test_a_box_learns_again_where_it_is_refuted_and_ends_spent():
    assert path(BOX_STAGES, {"best inputs": [REFUTED], "train again": [REFUTED]}).count("train") == 2
    assert path(BOX_STAGES, {"best inputs": [SPENT]})[-1] == "best inputs"


def test_a_circle_that_explains_all_answers_is_certified():
    assert path(EXACT_STAGES, {}) == [*TO_THE_FIT, "certificate"]


def test_units_left_to_another_plane_are_read_before_any_fit():
    assert path(EXACT_STAGES, {"shape": [AGAIN]}) == ["scan", "units", "shape", *TO_THE_FIT, "certificate"]


@pytest.mark.parametrize("where", ["residuals", "joint fit"])
def test_missed_answers_lead_to_units_that_cancel_or_to_another_circle(where):
    to_there = TO_THE_FIT[: TO_THE_FIT.index(where) + 1]
    found = path(EXACT_STAGES, {where: [MISSED], "cancelling units": [AGAIN]})
    assert found == [*to_there, "far residuals", "cancelling units", "cancelling units", "certificate"]
    none = path(EXACT_STAGES, {where: [MISSED], "far residuals": [MISSED], "fall back": [AGAIN]})
    assert none == [*to_there, "far residuals", "fall back", *TO_THE_FIT, "certificate"]
    assert path(EXACT_STAGES, {where: [MISSED], "far residuals": [MISSED], "fall back": [EXHAUSTED]}) == none[:-8]


@pytest.mark.parametrize(
    ("n_circles", "n_deferred", "ends"),
    [
        (SEARCH.most_attempts, 0, True),
        (SEARCH.most_attempts + 1, 1, True),
        (2 * SEARCH.most_attempts - 1, SEARCH.most_attempts, True),
        (SEARCH.most_attempts, 1, False),
    ],
)
def test_circles_that_leave_units_to_the_next_one_do_not_count_up_to_a_limit(n_circles, n_deferred, ends):
    state = SearchState(empty_net(link_of("tanh"), 3, 0.0), scans=(None,) * n_circles, n_deferred=n_deferred)
    search = SimpleNamespace(policy=SEARCH, ledger=None)  # whoever scans asks for its rows
    if ends:
        assert EXACT_STAGES["scan"].does(state, search) == (state, EXHAUSTED)
    else:
        with pytest.raises(AttributeError, match="n_stored"):
            EXACT_STAGES["scan"].does(state, search)


def training(n_layers=None, n_first=12):
    return StudentContext(SimpleNamespace(n_features=n_first), range(n_first), 1.0, None, n_layers, None, None)


def students(state, of, outcomes):
    """Return the widths of the students whose turn it is, and on which rows, where each stage of rows ends as given."""
    choose, weigh = STUDENT_STAGES["widths"].does, STUDENT_STAGES["progress"].does
    turns = []
    while (chosen := choose(state, of))[1] is not StudentOutcome.NONE_LEFT:
        turns.append((chosen[0].widths, chosen[1].value))
        state = weigh(replace(chosen[0], **outcomes), of)[0]
    return turns


def test_students_of_all_widths_have_their_turn_in_the_order_of_the_policy():
    state = StudentState((), None, POLICY.students)
    assert students(state, training(), {}) == [(widths, "vertices") for widths in POLICY.students]
    assert [w for w, _ in students(state, training(3), {})] == [w for w in POLICY.students if len(w) == 2]
    assert students(state, training(5), {}) == []
    assert {rows for _, rows in students(state, training(n_first=3), {})} == {"near points"}  # 8 patterns


def test_students_with_one_layer_are_left_out_where_large_ones_leave_much():
    much, little = (StudentNet([], rms, None, 0.0) for rms in (2 * POLICY.hopeless, POLICY.hopeless / 2))
    state = StudentState((), None, POLICY.students)
    assert [w for w, _ in students(state, training(n_first=10), {"best": much})][-2:] == [(12, 8), (16, 12)]
    assert len(students(state, training(), {"best": little})) == len(POLICY.students)


@pytest.mark.parametrize(
    ("widths", "hopeless", "then"),
    [((16, 12), False, "near points"), ((16, 12), True, "progress"), ((34,), False, "progress")],
)
def test_only_large_students_of_several_layers_are_tried_near_the_origin_after_vertices(widths, hopeless, then):
    stage = STUDENT_STAGES["vertices"]
    state = StudentState(range(10**6), None, (), widths, n_shares=1, hopeless=hopeless)  # all vertices are known
    assert stage.then[stage.does(state, training())[1]] == then


def test_the_work_of_all_students_is_bounded_and_more_so_where_none_comes_near():
    stage = STUDENT_STAGES["progress"]
    state = StudentState((), None, (), (9,), work=1.5 * POLICY.most_work)
    assert stage.then[stage.does(state, training())[1]] == END
    near = replace(state, best=StudentNet([], POLICY.promising / 2, None, 0.0))
    assert stage.then[stage.does(near, training())[1]] == "widths"


def test_a_table_without_an_end_is_a_mistake():
    def again(known, session):
        return known, STANDS

    with pytest.raises(RuntimeError, match="did not come to an end"):
        walk({"round": Stage(again, {STANDS: "round"})}, state(), nobody())


def test_the_latest_belief_is_kept_for_a_budget_that_ends_a_stage():
    session, known = nobody(), state()

    def learns(given, session):
        return given.with_student(gap=3.0), STANDS

    def spends(given, session):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        walk({"a": Stage(learns, {STANDS: "b"}), "b": Stage(spends, {STANDS: END})}, known, session)
    assert session.kept.latest.student.gap == 3.0


def test_policies_differ_only_where_a_kind_of_answers_asks_for_it():
    assert FOR_ROUNDING.student == FOR_NOISE.student
    assert FOR_LABELS.student.widens
    assert not FOR_NOISE.student.widens
    assert FOR_A_BOX.student.arguments is None
