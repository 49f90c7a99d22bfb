"""Every reply ever received, kept as an equation, and what each step of the method spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import Floats
from ..errors import BudgetSpent
from ..fit import Parameters
from ..forecasting import QueryLimit
from ..oracle import Oracle
from ..runtime import all_threads
from .device_arrays import IN_MEMORY, Array, Arrays, arrays_beside
from .precision import EXACT_ANSWERS, Precision, no_more
from .region import Region
from .result import Progress

EPS = float(np.finfo(np.float64).eps)
FAR = 2.0**40  # hyperplanes at a distance up to about 1e10 show up as a difference between here and nearby
NEAR = 64.0  # answers up to here show the size of a function beside a linear term


class Asked(NamedTuple):
    """Numbers of rows just asked, and their answers."""

    rows: NDArray[np.intp]
    answers: Floats


@dataclass
class _Stored:
    """Rows and answers as they came, what is known of their errors, and the rows beside the box once needed there."""

    arrays: Arrays
    rows: list[Floats] = field(default_factory=list)
    answers: list[Floats] = field(default_factory=list)
    there: Array = None
    factors: Floats | None = None
    ways: Floats | None = None
    earlier: dict[bytes, Floats] = field(default_factory=dict)


class Ledger:
    """Asks the oracle, counts by step, and stores the rows that are not part of a probe.

    Attributes
    ----------
    X, y : (m, d) and (m,) arrays
        Stored rows and their answers.
    largest : float
        Largest absolute answer so far, probes included, less the linear term where there is one.
    linear : (d,) array or None
        The linear term that was found to stand beside the sigmoids.
    far : float
        A radius far beyond all hyperplanes at which plateaus can still be told apart.
    precision : Precision
        How answers are rounded: absolutely, relatively, and each by its own value.
    spent : dict
        Queries by step.
    n_units : int
        Units found so far, for the progress report.
    aside : set of int
        Numbers of stored rows that count for nothing in a fit for the time being.
    """

    def __init__(
        self,
        oracle: Oracle,
        max_queries: int | None = None,
        progress: Callable[[Progress], None] | None = None,
        precision: Precision = EXACT_ANSWERS,
        allotment: QueryLimit | None = None,
    ) -> None:
        self.oracle, self.max_queries, self.progress = oracle, max_queries, progress
        self.precision, self._allotment = precision, allotment
        self.spent: dict[str, int] = {}
        self.largest = 0.0
        self.linear: Floats | None = None
        self.far = FAR
        self.n_units = 0
        self.aside: frozenset[int] = frozenset()
        self._stored = _Stored(arrays_beside(oracle.device))

    @property
    def n_features(self) -> int:
        """Number of inputs."""
        return self.oracle.n_features

    @property
    def away(self) -> float:
        """Distance of the inputs' own origin: arguments are rounded as those of inputs that far out."""
        frame = self.oracle.frame
        return 0.0 if frame is None else float(np.linalg.norm(frame.center / frame.scale))

    @property
    def n_queries(self) -> int:
        """Rows asked through this ledger."""
        return sum(self.spent.values())

    @property
    def n_stored(self) -> int:
        """Number of stored rows."""
        return sum(map(len, self._stored.answers))

    @property
    def arrays(self) -> Arrays:
        """Where large arrays are kept: beside the box."""
        return self._stored.arrays

    @property
    def X(self) -> Floats:
        """Stored rows; consolidated on access."""
        kept = self._stored
        if len(kept.rows) != 1:
            kept.rows = [np.concatenate(kept.rows)] if kept.rows else [np.empty((0, self.n_features))]
            kept.answers = [np.concatenate(kept.answers)] if kept.answers else [np.empty(0)]
        return kept.rows[0]

    @property
    def y(self) -> Floats:
        """Answers to the stored rows."""
        _ = self.X
        return self._stored.answers[0]

    def placed_rows(self) -> Array:
        """Return the stored rows among the arrays of the box, where they are kept."""
        if self.arrays is IN_MEMORY:
            return self.X
        kept = self._stored
        n_there = 0 if kept.there is None else len(kept.there)
        if n_there < len(self.X):
            new = self.arrays.put(self.X[n_there:])
            kept.there = new if kept.there is None else self.arrays.join([kept.there, new])
        return kept.there

    @property
    def resolution(self) -> float:
        """Smallest difference of answers that says something, over the largest answer."""
        return max(self.eps, self.step / max(self.largest, 1e-300))

    def only(self, rows: Any) -> Ledger:
        """Return a ledger that holds these of the stored rows, and asks nobody."""
        part = Ledger(self.oracle, 0, None, self.precision)
        part._stored = _Stored(self.arrays, [self.X[rows]], [self.y[rows]])
        part.largest, part.linear, part.far = self.largest, self.linear, self.far
        return part

    def weighted(self, factors: Floats) -> Ledger:
        """Return a ledger that holds the stored rows with these factors of their rounding errors, and asks nobody."""
        part = self.only(slice(None))
        part._stored.factors = factors
        return part

    @property
    def doubts(self) -> Floats:
        """Factor of each stored row's rounding error in a fit: one, or so large that a row set aside has no say."""
        known = self._stored.factors
        factors = np.ones(len(self.X)) if known is None else known.copy()
        factors[list(self.aside)] = 1e30
        return factors

    def sizes(self, radii: Any) -> Any:
        """Return the size of the numbers that are rounded on the way to answers this far from the origin."""
        largest = max(self.largest, 1e-300)
        return largest if self.linear is None else largest + float(np.linalg.norm(self.linear)) * radii

    @property
    def step(self) -> float:
        """Spacing of the answers where they are rounded to a grid, else 0."""
        return self.precision.absolute

    @property
    def eps(self) -> float:
        """Spacing of the numbers that the box calculates with, relative to their size."""
        return self.precision.eps

    def own(self, answers: Floats) -> Floats | float:
        """Return the rounding that answers have beyond all others: undoing a link costs large ones their digits."""
        if self.precision.own is no_more:  # answers may be tensors, to which an array cannot be added
            return 0.0
        return self.precision.own(answers.ravel()).reshape(answers.shape)

    def tolerance(self, radii: Any) -> Any:
        """Differences up to this size are rounding at these distances: plateaus are told by it."""
        ulps = 64 if self.eps == EPS else 16  # digits to spare
        return np.maximum(ulps * self.eps * self.sizes(radii), 1.5 * self.step)

    def rounding(self, radii: Any) -> Any:
        """Return the size of one answer's rounding error this far from the origin."""
        return np.maximum(self.eps * self.sizes(radii), self.step / 24)

    def note_linear_term(self, linear: Floats) -> None:
        """Measure answers without this linear term from now on.

        Far out it leaves nothing of the plateaus, so that `far` shrinks until they are known to seven digits there.
        """
        growth = float(np.linalg.norm(linear))
        near = np.linalg.norm(self.X, axis=1) <= NEAR
        self.linear = linear
        self.largest = float(np.abs(self.y[near] - self.X[near] @ linear).max(initial=0.0))
        self.far = float(np.clip(1e-7 / (64 * self.eps) * self.largest / growth, 64 * NEAR, FAR))

    def ask(self, rows: Floats, step: str) -> Floats:
        """Ask for the rows, store them, and return the answers."""
        return self.ask_rows(rows, step).answers

    def ask_rows(self, rows: Floats, step: str) -> Asked:
        """The same, with the numbers under which the rows are stored."""
        first = self.n_stored
        if len(rows) == 0:
            return Asked(np.arange(first, first), np.empty(0))
        recalled = self._stored.earlier.get(rows.tobytes()) if self._stored.earlier else None
        answers = self.ask_blocks(len(rows), lambda part: rows[part], step) if recalled is None else recalled
        self._stored.rows.append(np.asarray(rows))
        self._stored.answers.append(answers)
        return Asked(np.arange(first, first + len(answers)), answers)

    def ask_blocks(self, n: int, rows_of: Callable[[slice], Array], step: str) -> Floats:
        """Ask for n rows that are generated block by block, here or beside the box, and not stored."""
        self._keep_to_budget(n, step)
        self._keep_to_forecast(n)
        parts = []
        for part in self.arrays.parts(n, self.n_features):  # bounds memory where there are millions of rows
            rows = rows_of(part)
            parts.append(self._asked(rows))
            self._note_size(rows, parts[-1])
            self.spent[step] = self.spent.get(step, 0) + len(parts[-1])
            if self.progress is not None:
                self.progress(self._progress(step))
        return np.concatenate(parts) if parts else np.empty(0)

    def _progress(self, step: str) -> Progress:
        left = None if self.max_queries is None else self.max_queries - self.n_queries
        expected = None if self._allotment is None else self._allotment.expected(self.n_features, self.n_units)
        ahead = expected is not None and expected > self.n_queries
        return Progress(step, self.n_queries, self.n_units, left, expected if ahead else None)

    def _keep_to_budget(self, n: int, step: str) -> None:
        if self.max_queries is not None and self.n_queries + n > self.max_queries:
            raise BudgetSpent(
                f"{self.n_queries} of {self.max_queries} queries are spent and the step '{step}' needs {n}: "
                "raise max_queries."
            )

    def _asked(self, rows: Array) -> Floats:
        with all_threads(float(rows.shape[0]) * rows.shape[1] * max(self.n_units, 1)):
            if self.arrays is IN_MEMORY:
                return self.oracle(rows)
            return np.asarray(self.arrays.get(self.oracle.ask_on_device(self.arrays.put(rows))))

    def limit(self, allotment: QueryLimit | None) -> QueryLimit | None:
        """Stop, where nobody set a budget, far beyond what this says that units cost; None: go on. Return what was
        said before."""
        before, self._allotment = self._allotment, allotment
        return before

    def clear_rows(self) -> None:
        """Go on without the rows that were asked so far; how large answers are stays known."""
        self._stored, self.aside, self.n_units = _Stored(self.arrays), frozenset(), 0

    def after(self, earlier: Ledger) -> Ledger:
        """Return this ledger with what another one knows: rows asked there are answered from memory."""
        self._stored.earlier = {row.tobytes(): answer[None] for row, answer in zip(earlier.X, earlier.y)}
        self._stored.ways = earlier.ways
        return self

    @property
    def ways(self) -> Floats | None:
        """Orthonormal directions of the rays that were asked first, (2, d); None before."""
        return self._stored.ways

    def note_directions(self, ways: Floats) -> None:
        """Keep the directions of the first rays."""
        self._stored.ways = ways

    def clear(self) -> None:
        """Go on as if nothing had been asked."""
        self.clear_rows()
        self.spent, self.largest, self.linear, self.far = {}, 0.0, None, FAR

    def _keep_to_forecast(self, n: int) -> None:
        """Raise where nobody set a budget and a step leads far beyond what the units seen so far should cost."""
        if self._allotment is None or self.max_queries is not None or self.oracle.max_queries is not None:
            return
        most = self._allotment.most(self.n_features, self.n_units)
        if self.n_queries + n > most:
            raise BudgetSpent(
                f"{self.n_queries} queries are spent without an end in sight, and the next step leads beyond {most}, "
                f"far more than {self.n_units} units should cost: this may be no sum of sigmoids; give "
                "max_queries to allow more."
            )

    def _note_size(self, rows: Array, answers: Floats) -> None:
        if self.linear is not None:
            answers = answers - self.arrays.get(self.arrays.put(rows) @ self.arrays.put(self.linear))
        self.largest = max(self.largest, float(np.abs(answers).max(initial=0.0)))


@dataclass(frozen=True)
class Place:
    """Asks a ledger in the coordinates of a region.

    Attributes
    ----------
    ledger : Ledger
        In the oracle's coordinates.
    region : Region
    """

    ledger: Ledger
    region: Region

    @property
    def X(self) -> Floats:
        """All stored rows, (n, d), in the region's coordinates."""
        return self.region.rows(self.ledger.X)

    @property
    def y(self) -> Floats:
        """Answers to these rows."""
        return self.ledger.y

    def ask(self, rows: Floats, step: str) -> Asked:
        """Ask at rows of the region."""
        return self.ledger.ask_rows(self.region.inputs(rows), step)

    def ask_only(self, rows: Floats, step: str) -> Floats:
        """Ask at rows without keeping them: equations that differ from kept ones by a tiny step."""
        return self.ledger.ask_blocks(len(rows), lambda part: self.region.inputs(rows[part]), step)

    def outside(self, theta: Parameters) -> Parameters:
        """Return parameters in the oracle's coordinates."""
        A, b = self.region.outside(theta.A, theta.b)
        theta = theta._replace(A=A, b=b)
        if theta.linear is None:
            return theta
        linear, c = self.region.outside(theta.linear, np.array(theta.c))
        return theta._replace(c=float(c), linear=linear)


def n_affordable(oracle: Oracle, n: int, ledger: Ledger | None = None) -> int:
    """Return how many of n rows the budgets of an oracle, and of a ledger, still allow."""
    if oracle.max_queries is not None:
        n = min(n, oracle.max_queries - max(oracle.n_answered, oracle.n_queries))
    if ledger is not None and ledger.max_queries is not None:
        n = min(n, ledger.max_queries - ledger.n_queries)
    return max(0, n)
