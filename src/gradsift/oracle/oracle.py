"""A callable behind a counter, a budget and a journal."""

from __future__ import annotations

import contextlib
import copy
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import Floats, at_least, finite_matrix, finite_vector, whole
from ..errors import BudgetSpent
from .inputs import Answers, Bounds, InputFrame, read_bounds, read_inputs
from .journal import AskAgain, Journal
from .label_names import LabelNames
from .output_links import read_link
from .retry import Retry, ask_with_retry

Indices = NDArray[np.intp]


class _HowAsked(NamedTuple):
    """How the function is called: rows at once, threads, patience; whether rows are kept beside their answers; and how
    words are read."""

    batch_size: int | None
    n_jobs: int
    retry: Retry
    remember: bool | None
    labels: LabelNames


@dataclass
class _Ledger:
    """What changes as an oracle is asked; an oracle and its projections share one."""

    max_queries: int | None
    recheck: AskAgain
    n_queries: int = 0
    n_replayed: int = 0
    position: int = 0  # rows answered: where the campaign stands
    n_outputs: int | None = None
    rows: list[Floats] = field(default_factory=list)
    answers: list[Floats] = field(default_factory=list)
    call: threading.RLock = field(default_factory=threading.RLock)  # one call at a time: a campaign has an order
    batch: threading.Lock = field(default_factory=threading.Lock)  # counting and recording, from any thread
    n_rechecked: int = 0


class Oracle:
    """A function ``(n, d) -> (n,)`` or ``(n, m)`` that is asked sparingly and, if need be, repeatedly.

    Parameters
    ----------
    function : callable
        Takes an (n, d) array and returns n real numbers, or n rows of m; or n classes, which may be words. Any reply
        that NumPy can read will do.
    n_features : int
        d.
    noise : float, "labels" or None
        What is known about the standard deviation of the answers; None means find out. Only stored.
    bounds : pair, optional
        ``(low, high)``, numbers or (d,) arrays: a query outside raises ``ValueError`` before anything is asked.
    max_queries : int, optional
        A call that would exceed it raises :class:`~gradsift.errors.BudgetSpent` before anything is asked.
    batch_size : int, optional
        Most rows handed to `function` at once; by default all rows of a call, or an n_jobs-th of them.
    journal : path or Journal, optional
        A file that keeps the answers; a rerun of the same campaign reads them back instead of asking again. A process
        that dies loses the batches in flight, so keep `batch_size` small where answers are dear. Another model behind
        the same journal is refused: told by the attribute ``identity`` of `function` (those of the adapters have one),
        by ``Journal(path, plan=...)``, or by its answers to rows that are asked again (`recheck`).
    n_jobs : int
        Threads that ask at the same time, for slow oracles; `function` must bear it.
    retry : Retry, optional
        How often to ask again after an exception, NaN or inf; by default four attempts, 0.1, 0.4 and 1.6 s apart.
    remember : bool, optional
        Keep rows and answers in memory for :meth:`answers`; by default only where there are several outputs.
    link : {None, "logistic", "logit", "softmax", "log_softmax", "tanh"}
        What `function` applies at its end: it is undone, so that answers are the sums before it. "logit" is another
        name for "logistic". Of a softmax's sums only the differences are known: answers add up to zero. The journal
        keeps what `function` returned.
    recheck : int
        At most so many recorded rows are asked again, twice each, when a journal is taken up; 0 for none. They count as
        queries, not towards `max_queries`. Estimators and PyTorch modules, whose identity holds all of them, are not.

    inputs : (n, d) array, optional
        A sample of typical rows, at least two. Units are then looked for in their centre and scale, column by column,
        and what was found is verified on such rows. Needed where columns differ much in size or are far from zero.

    Notes
    -----
    One object is one campaign: to run it again, or to resume it, make a new one. Answers are put together by row, so
    they depend on batches, order and threads only as far as `function` does. (Matrix products round the last bit
    differently for different numbers of rows: for results that agree to the bit, keep `batch_size` the same.)

    Examples
    --------
    >>> import numpy as np
    >>> import gradsift as gs
    >>> oracle = gs.Oracle(lambda X: np.tanh(X @ [1.0, 2.0]), 2, max_queries=3)
    >>> oracle([[0.0, 0.0], [2.0, -1.0]])
    array([0., 0.])
    >>> oracle.n_queries
    2
    >>> oracle([[0.0, 1.0], [1.0, 0.0]])
    Traceback (most recent call last):
    ...
    gradsift.errors.BudgetSpent: 2 of 3 queries are spent and the next step needs 2: raise max_queries or ask for less.

    Several outputs, and one view of them for an algorithm that wants a single number:

    >>> both = gs.Oracle(lambda X: np.tanh(X), 2)
    >>> both.projected([0.5, 0.5])([[0.0, 0.0]])
    array([0.])
    >>> both.answers().Y
    array([[0., 0.]])
    """

    line: Floats | None = None  # what views made by `without_line` take off
    n_idle = 0  # the last inputs of views made by `with_idle_inputs`

    def __init__(
        self,
        function: Callable[[Floats], Any],
        n_features: int,
        *,
        noise: float | str | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        max_queries: int | None = None,
        batch_size: int | None = None,
        journal: str | os.PathLike[str] | Journal | None = None,
        n_jobs: int = 1,
        retry: Retry | None = None,
        remember: bool | None = None,
        link: str | None = None,
        recheck: int = 6,
        inputs: ArrayLike | None = None,
    ) -> None:
        if not callable(function):
            raise TypeError(f"function must be callable, got {type(function).__name__}.")
        for name, value in (("n_features", n_features), ("n_jobs", n_jobs)):
            whole(name, value)
        whole("recheck", recheck, 0)
        for name, limit in (("max_queries", max_queries), ("batch_size", batch_size)):
            if limit is not None:
                whole(name, limit)
        if not (noise is None or noise == "labels"):
            at_least("noise", noise, 0)
        self.function, self.n_features = function, int(n_features)
        self.noise, self.bounds = noise, read_bounds(bounds, self.n_features)
        labels = LabelNames(getattr(function, "classes", None))
        self._calls = _HowAsked(batch_size, int(n_jobs), retry or Retry(), remember, labels)
        self.link = read_link(link)
        self.journal = journal if isinstance(journal, Journal) or journal is None else Journal(journal)
        if self.journal is not None and not self.journal.is_open:
            self.journal.open(self.n_features, str(getattr(function, "identity", "")))
        again = self.journal if getattr(function, "recheckable", True) else None
        rechecks = AskAgain(0, 0) if again is None else AskAgain(int(recheck), again.n_recorded)
        self._ledger = _Ledger(max_queries, rechecks)
        self._direction: Callable[[int], Floats] | None = None
        self.inputs = read_inputs(inputs, self.n_features)
        self.frame: InputFrame | None = None

    def __repr__(self) -> str:
        return f"Oracle(n_features={self.n_features}, n_queries={self.n_queries})"

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the journal and whatever `function` holds open."""
        if self.journal is not None:
            self.journal.close()
        if hasattr(self.function, "close"):
            self.function.close()

    # What it has been asked

    @property
    def max_queries(self) -> int | None:
        """The budget of the campaign, in rows; may be changed at any time."""
        return self._ledger.max_queries

    @max_queries.setter
    def max_queries(self, value: int | None) -> None:
        if value is not None:
            whole("max_queries", value)
        self._ledger.max_queries = value

    @contextlib.contextmanager
    def within_budget(self, n_rows: int | None) -> Iterator[None]:
        """Allow at most `n_rows` more rows inside the block (None: no further limit than the campaign's own)."""
        before = self.max_queries
        if n_rows is not None:
            whole("max_queries", n_rows)
            limit = self.n_answered + int(n_rows)
            self.max_queries = limit if before is None else min(before, limit)
        try:
            yield
        finally:
            self.max_queries = before

    @property
    def n_queries(self) -> int:
        """Rows asked by this object; asking again for the same answer after a failure does not count."""
        return self._ledger.n_queries + self._ledger.n_rechecked

    @property
    def n_rechecked(self) -> int:
        """How many of `n_queries` went into rows of the journal that were asked again."""
        return self._ledger.n_rechecked

    @property
    def n_replayed(self) -> int:
        """Rows whose answers came from the journal."""
        return self._ledger.n_replayed

    @property
    def n_answered(self) -> int:
        """Rows answered, by the function or the journal: the campaign's length, interrupted or not."""
        return self._ledger.position

    @property
    def n_outputs(self) -> int | None:
        """Numbers per answer; None before the first one. A projection has one."""
        return self._ledger.n_outputs if self._direction is None else 1

    @property
    def labels(self) -> LabelNames:
        """By which numbers words are known, in all views."""
        return self._calls.labels

    @property
    def journal_seed(self) -> int | None:
        """A random number kept in the journal, for campaigns that were given no seed; None without a journal."""
        return None if self.journal is None else int(self.journal.header()["seed"])

    def answers(self) -> Answers:
        """Return all rows asked or replayed so far and their full answers, in order, with the link undone.

        Rows whose answers the link has swallowed (probabilities of zero or one) are left out.
        """
        X, Y = self.recorded_inside()
        return Answers(X, Y if self.link is None else self._undone(np.atleast_2d(Y.T).T, X).reshape(Y.shape))

    def recorded_inside(self) -> Answers:
        """Return the same rows with the function's own outputs."""
        X, Y = self.recorded()
        if self.link is None:
            return Answers(X, Y)
        kept = self.link.holds(np.atleast_2d(Y.T).T)
        return Answers(X[kept], Y[kept])

    def recorded(self) -> Answers:
        """Return all rows asked or replayed so far with the function's own outputs."""
        ledger = self._ledger
        if not self._holds_answers(ledger.n_outputs):
            raise ValueError("An oracle with one output keeps no answers unless it was made with remember=True.")
        if not ledger.rows:
            return Answers(np.empty((0, self.n_features)), np.empty(0))
        Y = np.concatenate(ledger.answers)
        return Answers(np.concatenate(ledger.rows), Y[:, 0] if Y.shape[1] == 1 else Y)

    def _holds_answers(self, n_outputs: int | None) -> bool:
        return n_outputs != 1 if self._calls.remember is None else self._calls.remember

    def projected(self, direction: ArrayLike) -> Oracle:
        """Return a scalar view whose answers are ``Y @ direction``, for a direction of shape (m,).

        Counters, budget, journal and :meth:`answers`, which keep all m outputs, are shared with this oracle.
        """
        finite_vector("direction", direction, self._ledger.n_outputs)
        return self._view(lambda n_outputs: finite_vector("direction", direction, n_outputs))

    def single_output(self, seed: int) -> Oracle:
        """Return a view with one output: the function's own, or a random projection of several.

        The number of outputs need not be known yet; nothing is asked. Shared as with :meth:`projected`, whose views are
        returned as they are: they have one output already.
        """
        if self._direction is not None:
            return self

        def direction(n_outputs: int) -> Floats:
            return np.ones(1) if n_outputs == 1 else np.random.default_rng(seed).standard_normal(n_outputs)

        return self._view(direction)

    def standardised(self) -> Oracle:
        """Return a view that is asked in the centre and scale of `inputs`; this oracle itself where there are none.

        Bounds and typical rows are those of the new coordinates. Shared as with :meth:`projected`.
        """
        if self.inputs is None or self.frame is not None:
            return self
        center, spread = self.inputs.mean(axis=0), self.inputs.std(axis=0)
        scale = np.where(spread > 0, spread, np.maximum(np.abs(center), 1.0))  # a constant column has its own size
        view = copy.copy(self)
        view.frame = InputFrame(center, scale)
        view.inputs = (self.inputs - center) / scale
        if self.bounds is not None:
            view.bounds = Bounds((self.bounds.low - center) / scale, (self.bounds.high - center) / scale)
        return view

    def without_line(self, slope: Floats) -> Oracle:
        """Return a view whose answers lack ``X @ slope``, (d,), for a scalar view. Shared as with :meth:`projected`."""
        view = copy.copy(self)
        view.line = slope
        return view

    def with_idle_inputs(self, n: int) -> Oracle:
        """Return a view with n further inputs that count for nothing. Shared as with :meth:`projected`."""
        view = copy.copy(self)
        view.n_features, view.n_idle = self.n_features + n, self.n_idle + n
        if self.bounds is not None:
            view.bounds = Bounds(*(np.append(b, np.full(n, side)) for b, side in zip(self.bounds, (-1.0, 1.0))))
        if self.inputs is not None:
            view.inputs = np.hstack([self.inputs, np.zeros((len(self.inputs), n))])
        return view

    def _view(self, direction: Callable[[int], Floats]) -> Oracle:
        view = copy.copy(self)
        view._direction = direction
        return view

    # Asking

    def __call__(self, X: ArrayLike) -> Floats:
        """Ask for the values at the rows of X, shape (n,), or (n, m) where the function has m > 1 outputs."""
        rows, outputs = self._asked(X)
        values = self.seen(outputs, rows)
        return values if self.line is None else values - np.asarray(X) @ self.line

    @property
    def one_way(self) -> bool:
        """Whether only one input counts, so that all hyperplanes are parallel."""
        return self.n_features - self.n_idle == 1

    @property
    def device(self) -> Any:
        """The accelerator on which questions and answers may stay; None: they go through memory.

        Only a box with one plain output that computes there in double precision has one.
        """
        calls, plain = self._calls, self.journal is None and self.link is None and self.frame is None
        plain = plain and self.line is None and not self.n_idle
        plain = plain and self.bounds is None and not calls.remember and calls.batch_size is None and calls.n_jobs == 1
        return getattr(self.function, "device", None) if plain and self._ledger.n_outputs == 1 else None

    def ask_on_device(self, rows: Any) -> Any:
        """Ask for the values at rows that are on `device` already, shape (n,), and leave them there."""
        with self._ledger.call:
            self._check_budget(len(rows))
            values = self.function.on_device(rows)  # type: ignore[attr-defined]
            if not bool(values.isfinite().all()):
                return values.new_tensor(self(rows.cpu().numpy()))  # asks again, and says which input it was
            self._ledger.n_queries += len(rows)
            self._ledger.position += len(rows)
        return values * float(self.weights[0])

    def outputs(self, X: ArrayLike) -> Floats:
        """Ask for the function's own outputs at the rows of X, (n, m): no link undone, nothing projected."""
        return self._asked(X)[1].copy()

    def seen(self, outputs: Floats, rows: Floats) -> Floats:
        """Return what an oracle answers where the function puts out these (n, m) numbers."""
        Y = self._undone(outputs, rows)
        if self._direction is not None:
            return np.asarray((Y * self.weights).sum(axis=1))  # row by row: a matrix product rounds with their number
        return Y[:, 0].copy() if Y.shape[1] == 1 else Y.copy()

    def names_of(self, values: ArrayLike, rows: Floats | None = None) -> NDArray[Any]:
        """Return the names of classes, by the numbers that a box which only decides has answered.

        A journal keeps numbers: a word that nobody has said in this run is asked for again, at the row of it.
        """
        lost = self.labels.without_name(numbers := np.asarray(values, dtype=np.float64))
        if rows is not None and lost.any():
            self._again(rows[lost] if self.frame is None else self.frame.center + self.frame.scale * rows[lost])
        return self.labels.names_of(numbers)

    @property
    def weights(self) -> Floats:
        """(m,) weights of the outputs in an answer of this view; ones without a projection."""
        n_outputs = self._ledger.n_outputs or 1
        return np.ones(n_outputs) if self._direction is None else self._direction(n_outputs)

    def _undone(self, outputs: Floats, rows: Floats) -> Floats:
        return outputs if self.link is None else self.link.sums(outputs, rows)

    def _asked(self, X: ArrayLike) -> tuple[Floats, Floats]:
        rows = finite_matrix("X", X, self.n_features) + 0.0  # a copy, with 0.0 for -0.0: equal points, equal bits
        if self.bounds is not None:
            self.bounds.require(rows)
        rows = rows[:, : self.n_features - self.n_idle]
        if self.frame is not None:
            rows = self.frame.center + self.frame.scale * rows
        ledger = self._ledger
        with ledger.call:
            self._check_budget(len(rows))
            Y = self._answer(rows)
            ledger.position += len(rows)
            if self._holds_answers(Y.shape[1]):
                ledger.rows.append(rows)
                ledger.answers.append(Y)
        return rows, Y

    def _answer(self, rows: Floats) -> Floats:
        """Return the (n, m) answers, from the journal where it has them."""
        ledger = self._ledger
        known = np.zeros(len(rows), dtype=np.bool_)
        if self.journal is not None:
            known, recorded = self.journal.known_answers(ledger.position, rows)
        if self.journal is not None and known.any():
            self._check_width(recorded.shape[1])
            ledger.recheck.compare(self.journal.path, ledger.position, rows, known, recorded, self._again)
            ledger.n_replayed += len(recorded)
        pieces = self._pieces(known)
        values = self._ask_pieces(rows, pieces)
        Y = np.empty((len(rows), ledger.n_outputs or 1))
        if known.any():
            Y[known] = recorded
        for piece, part in zip(pieces, values):
            Y[piece] = part
        return Y

    def _pieces(self, known: NDArray[np.bool_]) -> list[Indices]:
        """Cut the rows that are not known into batches.

        Whole batches are recorded, so a resumed run hands `function` the same ones as an uninterrupted run would.
        """
        step = self._calls.batch_size or -(-len(known) // self._calls.n_jobs)
        todo = np.flatnonzero(~known)
        return [todo[start : start + step] for start in range(0, len(todo), step)]

    def _ask_pieces(self, rows: Floats, pieces: list[Indices]) -> list[Floats]:
        if self._calls.n_jobs == 1 or len(pieces) < 2:
            return [self._ask(rows, piece) for piece in pieces]
        with ThreadPoolExecutor(self._calls.n_jobs, thread_name_prefix="gradsift-oracle") as pool:
            asked = [pool.submit(self._ask, rows, piece) for piece in pieces]
            try:
                wait(asked, return_when=FIRST_EXCEPTION)
            finally:
                for future in asked:  # after a failure or an interrupt: what has not begun is dropped,
                    future.cancel()  # what is under way runs to its end and into the journal
            return [future.result() for future in asked]

    def _ask(self, rows: Floats, piece: Indices) -> Floats:
        """Ask for one batch and record its (n, m) answers before anything else is asked in this thread."""
        ledger = self._ledger
        with ledger.batch:
            ledger.n_queries += len(piece)
        in_one_piece = piece[-1] - piece[0] < len(piece)
        rows = rows[piece[0] : piece[-1] + 1] if in_one_piece else rows[piece]  # a view saves a copy
        values = ask_with_retry(self.function, self.labels.read, rows, self._calls.retry)
        with ledger.batch:
            self._check_width(values.shape[1])
            if self.journal is not None:
                self.journal.write(ledger.position + piece, rows, values)
        return values

    def _again(self, rows: Floats) -> Floats:
        """Ask for rows that the journal holds, outside of campaign and budget."""
        self._ledger.n_rechecked += len(rows)
        step = self._calls.batch_size or len(rows)
        pieces = [rows[start : start + step] for start in range(0, len(rows), step)]
        retry = self._calls.retry
        values = np.concatenate([ask_with_retry(self.function, self.labels.read, piece, retry) for piece in pieces])
        self._check_width(values.shape[1])
        return values

    def _check_width(self, n_outputs: int) -> None:
        """Take the number of outputs from the first answer and hold all others to it."""
        if self._ledger.n_outputs is None:
            self._ledger.n_outputs = n_outputs
        elif n_outputs != self._ledger.n_outputs:
            raise ValueError(
                f"The oracle must always return the same number of outputs, got {n_outputs} after "
                f"{self._ledger.n_outputs}."
            )

    def _check_budget(self, n_rows: int) -> None:
        spent = max(self.n_answered, self._ledger.n_queries)  # rows that failed were asked too
        if self.max_queries is not None and spent + n_rows > self.max_queries:
            raise BudgetSpent(
                f"{spent} of {self.max_queries} queries are spent and the next step needs {n_rows}: "
                "raise max_queries or ask for less."
            )
