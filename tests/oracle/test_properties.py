"""Whatever the batches, the order, the threads, the failures and the interruptions: the same answers."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import gradsift as gs
from gradsift.oracle import Retry

from .boxes import Watched, points, smooth, two_outputs

PATIENT = Retry(attempts=80, first_wait=0.0)
ways = st.fixed_dictionaries({"batch_size": st.none() | st.integers(1, 12), "n_jobs": st.integers(1, 4)})
boxes = st.sampled_from([smooth, two_outputs])


def ask_in_calls(oracle, X, cuts):
    return np.concatenate([oracle(rows) for rows in np.split(X, sorted(set(cuts))) if len(rows)])


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 30), function=boxes, way=ways, cuts=st.lists(st.integers(0, 30), max_size=3), data=st.data())
def test_batches_order_threads_and_failures_never_change_answers(n, function, way, cuts, data):
    X = points(n)
    order = np.array(data.draw(st.permutations(range(n))))
    broken = data.draw(st.sets(st.integers(1, 40), max_size=20))  # calls that fail
    moody = data.draw(st.sets(st.integers(1, 40), max_size=10))  # calls whose first answer is NaN

    def box(rows):
        y = function(rows)
        if watched.calls in moody:
            y[0] = np.nan
        return y

    watched = Watched(box, fail=lambda call, rows: call in broken)
    oracle = gs.Oracle(watched, 3, retry=PATIENT, remember=True, **way)
    answers = ask_in_calls(oracle, X[order], cuts)
    np.testing.assert_array_equal(answers, function(X)[order])
    np.testing.assert_array_equal(oracle.answers().X, X[order])
    np.testing.assert_array_equal(oracle.answers().Y, answers)
    assert oracle.n_queries == n
    assert set(watched.asked) == set(map(bytes, X))


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 30),
    function=boxes,
    runs=st.lists(
        st.tuples(ways, st.integers(1, 30), st.lists(st.integers(0, 30), max_size=2)), min_size=1, max_size=4
    ),
)
def test_interruptions_never_change_answers_or_ask_twice(n, function, runs):
    """Each run stops somewhere, the last one finishes; all may cut batches and calls differently."""
    X = points(n)
    box = Watched(function)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.db"
        for way, stop, cuts in [*runs, ({}, n, [])]:
            with gs.Oracle(box, 3, journal=path, recheck=0, **way) as oracle:
                answers = ask_in_calls(oracle, X[:stop], cuts)
                np.testing.assert_array_equal(answers, function(X[:stop]))
                assert oracle.n_answered == min(stop, n)
        assert box.n_rows == len(set(box.asked)) == n
