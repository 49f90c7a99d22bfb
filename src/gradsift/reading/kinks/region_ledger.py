"""Where a box may be asked: within bounds, or as far out as its link leaves the answers their digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...arguments import Floats
from ...geometry import normalize_rows
from ...oracle import Oracle
from ...oracle.inputs import Bounds
from ..device_arrays import Array
from ..ledger import EPS, Ledger
from ..precision import Precision
from ..result import Progress
from .kink_network import KinkNet
from .segments import PathFailure
from .settings import WITHIN


@dataclass(frozen=True)
class Region:
    """Inputs ``middle + half * u``.

    Attributes
    ----------
    middle, half : (d,) arrays
    bounds : Bounds or None
        Where all u lie within -1 and 1; None where answers tell how far out they may be asked.
    """

    middle: Floats
    half: Floats
    bounds: Bounds | None = None

    @property
    def closed(self) -> bool:
        """Whether it has bounds."""
        return self.bounds is not None

    def outwards(self, rng: np.random.Generator) -> Floats:
        """Return a random way from the middle, as long as the region where it is closed, else of length one; (d,)."""
        d = len(self.middle)
        if not self.closed:
            return np.asarray(normalize_rows(rng.standard_normal((1, d)))[0])
        corner = np.sign(rng.standard_normal(d))
        return np.asarray(WITHIN.inside * (corner if rng.random() < 0.5 else rng.uniform(-1, 1, d)))

    def holds(self, places: Floats) -> bool:
        """Say whether all u, (n, d), lie in the region, up to rounding."""
        return not self.closed or bool(np.abs(places).max(initial=0.0) <= 1 + 8 * EPS)

    def inputs(self, places: Floats) -> Floats:
        """Return the inputs at these u, (n, d); rounding never leaves a closed region."""
        X = self.middle + self.half * places
        return X if self.bounds is None else self.bounds.nearest(X)

    def outside(self, net: KinkNet) -> KinkNet:
        """Return a network in u as one in the inputs."""
        jumps, g = net.jumps / self.half, net.g / self.half
        return KinkNet(
            net.shape,
            jumps,
            net.q - jumps @ self.middle,
            net.w,
            net.turns,
            g,
            net.c - float(g @ self.middle),
            net.grain,
        )

    def errors_outside(self, errors: Floats) -> Floats:
        """Return standard errors of linear term and jumps in u, the constants last, as those in the inputs."""
        # x = middle + half u: gradients are divided by half, and constants change by <gradient, middle>.
        lines = errors[:, :-1] / self.half
        moved = np.linalg.norm(lines * self.middle, axis=1)
        return np.concatenate([lines, np.hypot(errors[:, -1], moved)[:, None]], axis=1)


def region_of(oracle: Oracle) -> Region:
    """Return the region of a box with bounds, or with a link."""
    if oracle.bounds is None:
        return Region(np.zeros(oracle.n_features), np.ones(oracle.n_features))
    low, high = oracle.bounds
    return Region((low + high) / 2, (high - low) / 2, oracle.bounds)


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
        if self.failure is None and not self.region.holds(places):
            self.failure = PathFailure("a step across a ray leaves the bounds")
        if self.failure is not None:
            return np.full(n, np.nan)
        heard = self._heard(places)
        self.largest_error = max(self.largest_error, float(heard.errors.max(initial=0.0)))
        if self.largest_error > WITHIN.digits:
            link = "" if self.oracle.link is None else self.oracle.link.name
            self.failure, self.largest_error = PathFailure(f"link='{link}' leaves an answer no digits"), 0.0
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
