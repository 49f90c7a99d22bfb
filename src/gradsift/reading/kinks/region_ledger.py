"""Answers less a network that is known, within bounds or as far out as a link leaves them their digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...arguments import Floats
from ...oracle import Oracle
from ..device_arrays import Array
from ..ledger import Ledger
from ..precision import Precision
from ..region import Region
from ..result import Progress
from .kink_network import KinkNet
from .segments import PathFailure
from .settings import WITHIN


class Heard(NamedTuple):
    """Rows u (n, d) that were answered, the answers (n,), and what their link did to each."""

    rows: Floats
    answers: Floats
    errors: Floats


class RegionLedger(Ledger):
    """Asks for what a network that is known so far leaves over, around a point.

    From the first row on that must not be asked, or whose answer has no digits, nothing is asked and all answers are
    NaN; `failure` says why. No rows are stored.

    Attributes
    ----------
    stand : (d,) array
        What rows are measured from.
    known : KinkNet or None
        What is taken off the answers.
    largest_error : float
        That a link left of an answer since the last start.
    failure : PathFailure or None
    range : (float, float)
        The least and the largest answer that had its digits.
    """

    def __init__(
        self,
        oracle: Oracle,
        region: Region,
        roundings: tuple[Precision, ...],
        max_queries: int | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        super().__init__(oracle, max_queries, progress)
        self.region, self.roundings = region, roundings
        self.stand = np.zeros(oracle.n_features)
        self.known: KinkNet | None = None
        self.largest_error, self.range = 0.0, (np.inf, -np.inf)
        self.failure: PathFailure | None = None

    def start(self, stand: Floats, known: KinkNet | None) -> None:
        """Measure rows from here, take this network off the answers, and forget an earlier failure."""
        self.stand, self.known, self.largest_error, self.failure = stand, known, 0.0, None

    def ask(self, rows: Floats, step: str) -> Floats:
        """Return the answers to the rows, (n,); NaN after a failure."""
        return self.ask_blocks(len(rows), lambda part: rows[part], step)

    def ask_blocks(self, n: int, rows_of: Callable[[slice], Array], step: str) -> Floats:
        """Return the answers to n rows, (n,); NaN after a failure."""
        self._keep_to_budget(n, step)
        places = self.stand + rows_of(slice(None))
        if self.failure is None and not self.region.holds(places).all():
            self.failure = PathFailure("a step across a ray leaves the bounds")
        if self.failure is not None:
            return np.full(n, np.nan)
        heard = self._heard(places)
        self.largest_error = max(self.largest_error, float(heard.errors.max(initial=0.0)))
        if self.largest_error > WITHIN.digits:
            self.failure = PathFailure(f"link='{self.region.link}' leaves an answer no digits")
            self.largest_error = 0.0
            return np.full(n, np.nan)
        self.range = min(self.range[0], float(heard.answers.min())), max(self.range[1], float(heard.answers.max()))
        answers = heard.answers if self.known is None else heard.answers - self.known.predict(places)
        self._note_size(places, answers)
        self.spent[step] = self.spent.get(step, 0) + n
        if self.progress is not None:
            self.progress(self._progress(step))
        return answers

    def ask_all(self, places: Floats, step: str) -> Heard:
        """Ask at these u, whatever is known, and return what has enough digits."""
        self._keep_to_budget(len(places), step)
        heard = self._heard(places)
        self.spent[step] = self.spent.get(step, 0) + len(places)
        kept = heard.errors <= WITHIN.digits
        return Heard(*(part[kept] for part in heard))

    def _heard(self, places: Floats) -> Heard:
        oracle, X = self.oracle, self.region.inputs(places)
        if oracle.link is None:
            return Heard(places, oracle(X), np.zeros(len(X)))
        outputs = oracle.outputs(X)
        kept = oracle.link.holds(outputs)
        answers, errors = np.zeros(len(X)), np.full(len(X), np.inf)
        if kept.any():
            sizes = np.stack([r.errors(column) for r, column in zip(self.roundings, outputs[kept].T)], axis=1)
            answers[kept] = oracle.seen(outputs[kept], X[kept])
            errors[kept] = oracle.link.errors(outputs[kept], sizes) @ np.abs(oracle.weights)
        return Heard(places, answers, errors)
