"""Oracles that fail now and then, and those that never recover."""

import numpy as np
import pytest

import gradsift as gs
from gradsift.oracle import Retry

from .boxes import Watched, points, smooth, two_outputs

X = points(16)
AT_ONCE = Retry(first_wait=0.0)


def holds(row):
    """A failure tied to one input."""
    return lambda call, rows: (rows == row).all(axis=1).any()


def test_waits_grow_up_to_a_limit():
    assert list(Retry(5, 1.0, 3.0, 10.0).waits()) == [0.0, 1.0, 3.0, 9.0, 10.0]
    assert list(Retry(1).waits()) == [0.0]


def test_a_flaky_oracle_gives_the_same_answers_and_retries_do_not_count():
    box = Watched(fail=lambda call, rows: call % 3 != 0)  # two of three calls fail
    oracle = gs.Oracle(box, 3, batch_size=5, retry=AT_ONCE, max_queries=16)
    np.testing.assert_array_equal(oracle(X), smooth(X))
    assert (box.calls, oracle.n_queries) == (12, 16)


def test_the_wait_between_attempts_is_really_waited(monkeypatch):
    waits = []
    monkeypatch.setattr("gradsift.oracle.retry.time.sleep", waits.append)
    gs.Oracle(Watched(fail=lambda call, rows: call < 4), 3)(X)
    assert waits == pytest.approx([0.1, 0.4, 1.6])


def test_only_the_rows_that_answered_nan_are_asked_again():
    seen = []

    def moody(rows):
        seen.append(len(rows))
        y = smooth(rows)
        if len(seen) == 1:
            y[[2, 7]] = np.nan, np.inf
        return y

    oracle = gs.Oracle(moody, 3, retry=AT_ONCE)
    np.testing.assert_array_equal(oracle(X), smooth(X))
    assert seen == [16, 2]
    assert oracle.n_queries == 16


def test_none_among_the_answers_is_a_missing_answer():
    seen = []

    def moody(rows):
        seen.append(len(rows))
        return [None, *smooth(rows)[1:]] if len(seen) == 1 else smooth(rows)

    np.testing.assert_array_equal(gs.Oracle(moody, 3, retry=AT_ONCE)(X), smooth(X))
    assert seen == [16, 1]


def test_a_row_that_always_answers_nan_is_named():
    def box(rows):
        y = two_outputs(rows)
        y[(rows == X[11]).all(axis=1), 1] = np.nan
        return y

    oracle = gs.Oracle(box, 3, retry=AT_ONCE)
    with pytest.raises(gs.errors.OracleFailure, match="answered NaN or inf at the input") as caught:
        oracle(X)
    np.testing.assert_array_equal(caught.value.partial, X[11])


def test_the_one_input_that_raises_is_found_in_few_calls():
    box = Watched(fail=holds(X[11]))
    with pytest.raises(gs.errors.OracleFailure, match=r"raised ConnectionError \(line is down\)") as caught:
        gs.Oracle(box, 3, retry=AT_ONCE)(X)
    np.testing.assert_array_equal(caught.value.partial, X[11])
    assert box.calls <= 4 + 2 * 4  # attempts, then two calls for each of log2(16) halvings
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_a_batch_that_is_too_large_for_the_oracle_is_answered_in_halves():
    box = Watched(fail=lambda call, rows: len(rows) > 4)
    np.testing.assert_array_equal(gs.Oracle(box, 3, retry=AT_ONCE)(X), smooth(X))


def test_nan_first_and_an_exception_later_still_end_in_the_right_rows():
    def box(rows):
        if len(rows) == 16:
            return np.where(np.arange(16) % 2, smooth(rows), np.nan)
        if len(rows) > 3:
            raise ConnectionError("too many")
        return smooth(rows)

    np.testing.assert_array_equal(gs.Oracle(box, 3, retry=AT_ONCE)(X), smooth(X))


def test_our_own_errors_and_interrupts_are_not_retried():
    for error in (gs.errors.OracleFailure("refused"), KeyboardInterrupt()):
        box = Watched(fail=lambda call, rows: True, error=error)
        with pytest.raises(type(error)):
            gs.Oracle(box, 3, retry=AT_ONCE)(X)
        assert box.calls == 1


@pytest.mark.parametrize("arguments", [dict(attempts=0), dict(first_wait=-1), dict(factor=0.5), dict(longest_wait=-1)])
def test_bad_settings_get_one_sentence(arguments):
    with pytest.raises(ValueError, match="must be at least"):
        Retry(**arguments)
