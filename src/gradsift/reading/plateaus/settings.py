"""What was chosen, not derived, on the way to exact answers: how far, how often, how close.

Behind a number stands the kind of row of ``boxes/black_box_exact.py`` that it was tuned on, or the word guess.
Limits of certificates are not here but in :mod:`gradsift.certificate`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...tuned import FACTOR
from ..ledger import EPS
from ..scan_settings import COARSE_CIRCLE, EXACT_CIRCLE, CirclePolicy


@dataclass(frozen=True)
class SearchPolicy:
    """Circles, attempts, and when a network is complete."""

    first: CirclePolicy = EXACT_CIRCLE
    growth: float = 2.0  # of the circle from one attempt to the next; guess
    most_attempts: int = 6  # circles beside those that left units to the next one; guess
    most_in_vain: int = 2  # times that something is tried in vain: circles, lines, units read again, searches; guess
    mends: bool = True  # looks for what cancels far out where only rows near the origin are missed
    patience: int = 1  # circles in a row that show nothing new beside known units; guess
    leap: float = FACTOR**2  # growth of the circle when the missing units lie far out; guess
    most_doublings: int = 6  # of the intervals of a circle; guess
    most_pairs: int = 3  # unresolved arcs beside known units; more are another function; golden "two layers, float32"


@dataclass(frozen=True)
class PairPolicy:
    """Two parallel units on one arc."""

    starts: int = 40  # guess
    settled: float = EPS**0.5  # of the pair's height: misfit at all radii together, and what counts as off a plateau
    further: tuple[float, ...] = (0.125, 1.0)  # of the circle's radius: for large offsets, and small ones; guess

    @property
    def on_circle(self) -> float:
        """Samples grown by less than this lie on the circle itself."""
        return 0.5 * min(self.further)


@dataclass(frozen=True)
class BumpPolicy:
    """Parallel units that cancel far out, on a line through an input that differs."""

    near: float = 0.3  # of the first circle's radius: rows that may lie on a bump; guess
    first_step: float = 1e-3  # of the input's distance from the origin; guess
    n_units: tuple[int, ...] = (2, 3)  # on one line; guess
    fits: float = 1e-6  # of the bump's height, and of its width between samples that tell a slope; guess
    grid: int = 4001  # guess


@dataclass(frozen=True)
class JointPolicy:
    """The joint fit to rounding."""

    same: float = 1e-3  # change of arguments up to which factored equations still hold; guess
    dense: int = 450  # unknowns up to which one dense factorisation is fast enough; guess
    largest: int = 4000  # the same where there is no other way: all units move on many rows, or cancel; guess


@dataclass(frozen=True)
class OwnRowsPolicy:
    """Rows on which a unit moves alone."""

    further: float = 1.5  # from the nearest of them to the furthest; guess
    wide: float = 0.05  # of the usable range, between their arguments; guess
    distances: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # of others that are tried, over the base's; guess

    @property
    def aside(self) -> float:
        """Of the usable range, for the row beside the line: its argument is then wide enough whatever rounding does."""
        return 2 * self.wide


@dataclass(frozen=True)
class OutwardsPolicy:
    """Far rows fitted last."""

    excusable: float = 1e-5  # share of its size by which a unit may be misread; (300, 500)
    margin: float = 4.0  # of such a share; guess
    errors: tuple[float, ...] = (1e-9, 1e-10, 0.0)  # of units that are read well, one fit after the other; (300, 500)
    crowd: int = 20  # active units: such rows are left out as long as one is misread; guess


@dataclass(frozen=True)
class PrunePolicy:
    """Units that a joint fit speaks against."""

    misread: float = 2e-8  # of its size: an error that a unit does not come by through rounding; (300, 1000)
    as_read: float = 1e6  # rounding errors: what reading misses, and a fit that leads nowhere; (2000, 1000)


@dataclass(frozen=True)
class PolishPolicy:
    """One more query where a bound is too large."""

    draws: int = 64  # directions tried per radius; guess


@dataclass(frozen=True)
class TailPolicy:
    """Small networks with algebraic tails."""

    most_units: int = 5  # guess


@dataclass(frozen=True)
class NearPolicy:
    """Random inputs near the origin, where arguments are small and all digits of the answers count."""

    per_unknown: float = 1.9  # real_boxes, torch rows; black_box_noisy, 6 decimals k10d50
    held_out: float = 0.15  # further ones per unknown, which the fit must foretell; the same rows
    spread: float = 3.0  # of a unit's argument; the same rows
    room: float = 5.0  # the same, orthogonal to all units; black_box_noisy, 6 decimals and float32


SEARCH = SearchPolicy()
COARSE_SEARCH = SearchPolicy(
    COARSE_CIRCLE, mends=False, growth=1.2, most_doublings=2, most_attempts=8, patience=3, leap=FACTOR
)  # guess; real_boxes, torch rows
NEARBY = NearPolicy()
PAIRS = PairPolicy()
BUMPS = BumpPolicy()
JOINT = JointPolicy()
OWN_ROWS = OwnRowsPolicy()
OUTWARDS = OutwardsPolicy()
PRUNE = PrunePolicy()
POLISH = PolishPolicy()
TAILS = TailPolicy()
