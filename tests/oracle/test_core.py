"""Counting, budget, batches, threads, bounds, replies, several outputs."""

import threading
import time

import numpy as np
import pytest

import gradsift as gs
from gradsift.oracle import Retry

from .boxes import Watched, points, smooth, two_outputs

X = points(23)


@pytest.mark.parametrize("batch_size", [None, 1, 5, 23, 100])
@pytest.mark.parametrize("n_jobs", [1, 4])
def test_answers_do_not_depend_on_batches_or_threads_and_each_row_is_asked_once(batch_size, n_jobs):
    box = Watched(lambda rows: (time.sleep(0.002 * abs(rows[0, 0])), smooth(rows))[1])  # batches finish out of order
    oracle = gs.Oracle(box, 3, batch_size=batch_size, n_jobs=n_jobs)
    np.testing.assert_array_equal(oracle(X), smooth(X))
    assert oracle.n_queries == box.n_rows == len(set(box.asked)) == 23
    assert oracle.n_replayed == 0


def test_batches_are_as_large_as_asked_and_threads_really_run_together():
    meeting = threading.Barrier(3, timeout=20)  # passes only if three batches are in flight at once
    sizes = []

    def box(rows):
        sizes.append(len(rows))
        meeting.wait()
        return smooth(rows)

    np.testing.assert_array_equal(gs.Oracle(box, 3, batch_size=4, n_jobs=3)(X[:12]), smooth(X[:12]))
    assert sizes == [4, 4, 4]


def test_the_budget_stops_a_call_before_anything_is_asked():
    box = Watched()
    oracle = gs.Oracle(box, 3, max_queries=10)
    oracle(X[:7])
    with pytest.raises(gs.errors.BudgetSpent, match="7 of 10 queries are spent and the next step needs 4"):
        oracle(X[:4])
    assert oracle.n_queries == box.n_rows == 7
    assert oracle(X[:3]).shape == (3,)
    oracle.max_queries = 11
    oracle(X[:1])
    assert oracle.n_queries == 11


def test_bounds_common_or_per_coordinate_are_checked_before_asking():
    box = Watched()
    for bounds in [(-1, 1), ([-1, -1, -1], [1, 1, 1]), (-1, [1, 1, np.inf])]:
        oracle = gs.Oracle(box, 3, bounds=bounds)
        with pytest.raises(ValueError, match=r"row 1 has 1\.5 in column 1, outside \[-1, 1\]"):
            oracle([[0, 0, 0], [0, 1.5, 0]])
        np.testing.assert_array_equal(oracle.bounds.low, [-1, -1, -1])
    assert box.calls == 0
    assert gs.Oracle(box, 3, bounds=(-1, 1))([[1, -1, 0]]).shape == (1,)


def test_noise_is_only_stored():
    assert gs.Oracle(smooth, 3).noise is None
    assert gs.Oracle(smooth, 3, noise=0.1).noise == 0.1
    assert gs.Oracle(smooth, 3, noise="labels").noise == "labels"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(n_features=0), "n_features must be at least 1"),
        (dict(n_features=2.5), "n_features must be a whole number"),
        (dict(max_queries=0), "max_queries must be at least 1"),
        (dict(batch_size=-1), "batch_size must be at least 1"),
        (dict(n_jobs=0), "n_jobs must be at least 1"),
        (dict(noise=-1.0), "noise must be at least 0"),
        (dict(noise="loud"), "noise must be at least 0, got 'loud'"),
        (dict(bounds=(1, -1)), "low < high"),
        (dict(bounds=(0, np.nan)), "low < high"),
        (dict(bounds=3), "bounds must be a pair"),
        (dict(bounds=([0, 0], 1)), "vectors of length 3"),
    ],
)
def test_bad_settings_get_one_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        gs.Oracle(smooth, **{"n_features": 3, **arguments})


def test_something_that_cannot_be_called_is_a_type_error():
    with pytest.raises(TypeError, match="function must be callable, got float"):
        gs.Oracle(3.0, 3)


@pytest.mark.parametrize(
    ("rows", "message"),
    [([[1, 2]], "X must have 3 columns"), ([[1, 2, np.nan]], "X must be finite"), ([1, 2, 3], "X must be a non-empty")],
)
def test_bad_queries_are_refused_before_asking(rows, message):
    box = Watched()
    with pytest.raises(ValueError, match=message):
        gs.Oracle(box, 3)(rows)
    assert box.calls == 0


@pytest.mark.parametrize(
    ("reply", "error", "message"),
    [
        (lambda X: np.zeros(len(X) + 1), ValueError, r"shape \(23,\) or \(23, m\) for 23 rows, got shape \(24,\)"),
        (lambda X: 0.0, ValueError, r"got shape \(\)"),
        (lambda X: np.zeros((1, len(X))), ValueError, r"got shape \(1, 23\)"),
        (lambda X: np.zeros((len(X), 2, 2)), ValueError, r"got shape \(23, 2, 2\)"),
        (lambda X: np.zeros((len(X), 0)), ValueError, r"got shape \(23, 0\)"),
        (lambda X: np.zeros(len(X), complex), TypeError, "real numbers, got dtype complex128"),
        (lambda X: ["high", 1.0] * len(X), TypeError, "real numbers, got dtype <U32"),
        (lambda X: ["high", None] * len(X), TypeError, "real numbers, got list"),
        (lambda X: [[1.0], [1.0, 2.0]], TypeError, "real numbers, got list"),
        (lambda X: {"y": 1.0}, TypeError, "real numbers, got dict"),
    ],
)
def test_wrong_shapes_and_kinds_of_reply_get_one_sentence_at_once(reply, error, message):
    box = Watched(reply)
    with pytest.raises(error, match=message):
        gs.Oracle(box, 3)(X)
    assert box.calls == 1


@pytest.mark.parametrize(
    "convert", [list, lambda y: y[:, None], lambda y: y.astype(np.float32), lambda y: y.astype(object)]
)
def test_any_reply_that_numpy_can_read_will_do(convert):
    np.testing.assert_allclose(gs.Oracle(lambda rows: convert(smooth(rows)), 3)(X), smooth(X), atol=1e-6)
    assert gs.Oracle(lambda rows: True, 3)([[0, 0, 0]]) == [1.0]


def test_a_function_that_scribbles_on_its_input_harms_nobody():
    def scribble(rows):
        rows *= 2
        return smooth(rows / 2)

    mine = X.copy()
    oracle = gs.Oracle(scribble, 3, remember=True)
    np.testing.assert_array_equal(oracle(mine), smooth(X))
    np.testing.assert_array_equal(mine, X)
    mine[:] = 0
    np.testing.assert_array_equal(oracle.answers().X, X)


def test_several_outputs_are_kept_in_full_while_a_projection_is_asked():
    box = Watched(two_outputs)
    oracle = gs.Oracle(box, 3, max_queries=30, batch_size=4)
    assert oracle.n_outputs is None
    view = oracle.projected([0.6, -0.8])
    assert isinstance(view, gs.Oracle)
    np.testing.assert_allclose(view(X[:9]), two_outputs(X[:9]) @ [0.6, -0.8], rtol=0, atol=1e-15)
    assert (oracle.n_outputs, view.n_outputs) == (2, 1)
    np.testing.assert_array_equal(oracle(X[9:]), two_outputs(X[9:]))
    for whole in (oracle, view):
        np.testing.assert_array_equal(whole.answers().X, X)
        np.testing.assert_array_equal(whole.answers().Y, two_outputs(X))
        assert whole.n_queries == 23
        with pytest.raises(gs.errors.BudgetSpent):
            whole(X[:8])
    view.max_queries = 31
    assert oracle.max_queries == 31


def test_a_projection_needs_as_many_numbers_as_there_are_outputs():
    oracle = gs.Oracle(two_outputs, 3)
    too_long = oracle.projected([1.0, 2.0, 3.0])  # cannot be known yet
    with pytest.raises(ValueError, match="direction must have length 2, got 3"):
        too_long(X)
    with pytest.raises(ValueError, match="direction must have length 2, got 1"):
        oracle.projected([1.0])


def test_the_number_of_outputs_may_not_change():
    oracle = gs.Oracle(lambda rows: two_outputs(rows) if len(rows) > 3 else smooth(rows), 3)
    oracle(X)
    with pytest.raises(ValueError, match="same number of outputs, got 1 after 2"):
        oracle(X[:2])


def test_one_output_is_remembered_on_request_only():
    oracle = gs.Oracle(smooth, 3)
    oracle(X)
    with pytest.raises(ValueError, match="remember=True"):
        oracle.answers()
    oracle = gs.Oracle(smooth, 3, remember=True)
    assert oracle.answers().X.shape == (0, 3)
    oracle(X[:5])
    oracle(X[5:])
    np.testing.assert_array_equal(oracle.answers().Y, smooth(X))


def test_answers_that_were_returned_cannot_spoil_the_remembered_ones():
    oracle = gs.Oracle(two_outputs, 3)
    oracle(X)[:] = 0
    np.testing.assert_array_equal(oracle.answers().Y, two_outputs(X))


def test_calls_from_several_threads_are_counted_exactly():
    oracle = gs.Oracle(smooth, 3, remember=True, max_queries=200)
    threads = [threading.Thread(target=oracle, args=(points(10, seed=i),)) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert oracle.n_queries == 200
    np.testing.assert_array_equal(oracle.answers().Y, smooth(oracle.answers().X))


def test_after_a_failure_the_batches_that_have_not_begun_are_not_asked():
    def box(rows):
        if bytes(rows[0]) == bytes(X[0]):
            raise ConnectionError
        time.sleep(0.02)
        return smooth(rows)

    oracle = gs.Oracle(box, 3, batch_size=1, n_jobs=2, retry=Retry(attempts=1))
    with pytest.raises(gs.errors.OracleFailure):
        oracle(X)
    assert 1 <= oracle.n_queries < 23


def test_a_slow_oracle_with_a_failing_batch_ends_with_that_failure():
    box = Watched(fail=lambda call, rows: bytes(rows[0]) == bytes(X[8]))
    oracle = gs.Oracle(box, 3, batch_size=4, n_jobs=2, retry=Retry(attempts=1))
    with pytest.raises(gs.errors.OracleFailure, match="ConnectionError") as caught:
        oracle(X)
    np.testing.assert_array_equal(caught.value.partial, X[8])
    assert oracle.n_queries <= 23
