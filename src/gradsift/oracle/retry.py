"""Asking a black box that fails now and then: read its replies, wait, ask again, name the input that never works."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import Floats, at_least, moderate_columns
from ..errors import GradsiftError, OracleFailure


def read_answers(reply: Any, n_rows: int) -> Floats:
    """Return the reply to `n_rows` rows as an (n_rows, m) matrix, or say in one sentence what is wrong with it.

    None and NaN entries come back as NaN; whether to ask again for them is not decided here.
    """
    try:
        values = np.asarray(reply)
        if values.dtype == object:
            values = values.astype(np.float64)  # None becomes NaN
    except OverflowError:  # whole numbers have no limit in Python and in JSON
        raise ValueError("The oracle must return numbers within double precision, got one beyond 1e308.") from None
    except (TypeError, ValueError, RuntimeError) as problem:  # ragged lists, text among numbers, tensors with gradients
        words = str(problem).partition(":")[0][:200]  # what follows quotes the reply, which may be anything
        raise TypeError(f"The oracle must return real numbers, got {type(reply).__name__} ({words}).") from None
    if values.dtype.kind not in "biuf":
        raise TypeError(f"The oracle must return real numbers, got dtype {values.dtype}.")
    if values.ndim == 0 and n_rows == 1:
        values = values.reshape(1)
    if values.ndim not in (1, 2) or values.shape[0] != n_rows or values.size == 0:
        raise ValueError(
            f"The oracle must return shape ({n_rows},) or ({n_rows}, m) for {n_rows} rows, got shape {values.shape}."
        )
    numbers = np.asarray(values, dtype=np.float64).reshape(n_rows, -1)
    moderate_columns("The oracle's answers", "output", numbers)
    return numbers


@dataclass(frozen=True)
class Retry:
    """How often to ask for the same rows, and how long to wait in between.

    Attributes
    ----------
    attempts : int
        Times a row is asked for before the oracle is given up.
    first_wait, factor, longest_wait : float
        Seconds before the second attempt, growth from each wait to the next, and where the growth stops.

    Examples
    --------
    >>> list(Retry(attempts=4, first_wait=1.0, factor=3.0, longest_wait=5.0).waits())
    [0.0, 1.0, 3.0, 5.0]
    """

    attempts: int = 4
    first_wait: float = 0.1
    factor: float = 4.0
    longest_wait: float = 10.0

    def __post_init__(self) -> None:
        at_least("attempts", self.attempts, 1)
        at_least("first_wait", self.first_wait, 0)
        at_least("factor", self.factor, 1)
        at_least("longest_wait", self.longest_wait, 0)

    def waits(self) -> Iterator[float]:
        """Yield the wait before each attempt; none before the first."""
        yield 0.0
        for attempt in range(self.attempts - 1):
            yield min(self.first_wait * self.factor**attempt, self.longest_wait)


ONCE = Retry(attempts=1)
_FAR_OUT = 10.0  # inputs this large may be outside of what a box is made for


def ask_with_retry(
    function: Callable[[Floats], Any], read: Callable[[Any, int], Floats], rows: Floats, retry: Retry
) -> Floats:
    """Return the finite (n, m) answers at `rows`, asking again where an attempt failed.

    Parameters
    ----------
    function : callable
        The black box. Any exception counts as a failed attempt, except our own errors, which pass through.
    read : callable
        Turns the reply for n rows into an (n, m) matrix, or says in one sentence why it cannot: that ends it.
    rows : (n, d) array
    retry : Retry

    Raises
    ------
    OracleFailure
        ``partial`` is the input that kept failing.

    Notes
    -----
    Rows whose answer is NaN or infinite are asked again, the others keep their answers. A batch that raises is
    asked again as a whole and finally in halves, which finds the offending row among n in 2 log2(n) calls.
    """
    answers: Floats | None = None
    missing = np.arange(len(rows))
    failure: Exception | None = None
    for wait in retry.waits():
        if wait:
            time.sleep(wait)
        try:
            # A copy: the function may scribble on it.
            reply = function(rows.copy() if len(missing) == len(rows) else rows[missing])
        except GradsiftError:
            raise
        except Exception as problem:
            failure = problem
            continue
        failure = None
        values = read(reply, len(missing))
        if answers is None:
            answers = np.full((len(rows), values.shape[1]), np.nan)
        answers[missing] = values
        # Only rows without a finite answer are asked again; the others keep theirs, and a noisy box is not drawn twice.
        missing = missing[~np.isfinite(values).all(axis=1)]
        if not missing.size:
            return answers
    if failure is not None and missing.size > 1:
        halves = [ask_with_retry(function, read, rows[half], ONCE) for half in np.array_split(missing, 2)]
        recovered = np.concatenate(halves)
        if answers is None:
            return recovered
        answers[missing] = recovered
        return answers
    raise _failure(rows[missing[0]], failure) from failure


def _failure(row: Floats, failure: Exception | None) -> OracleFailure:
    shown = np.array2string(row, precision=6, threshold=6, edgeitems=2, max_line_width=200)
    what = "answered NaN or inf" if failure is None else f"raised {type(failure).__name__} ({failure})"
    hint = " If it only answers in a range, say so with bounds=(low, high)." if np.abs(row).max() > _FAR_OUT else ""
    return OracleFailure(
        f"The oracle {what} at the input {shown}, in the last attempt too (input in .partial).{hint}", row
    )
