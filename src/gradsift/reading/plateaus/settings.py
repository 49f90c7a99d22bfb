"""What was chosen, not derived, on the way to exact answers: how far, how often, how close.

Behind a number stands the kind of row of ``boxes/black_box_exact.py`` that it was tuned on, or the word guess.
Limits of certificates are not here but in :mod:`gradsift.certificate`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchPolicy:
    """Circles, attempts, and when a network is complete."""

    circle: float = 20.0  # radius of the circle over the radius at which a ray is flat; all rows
    growth: float = 2.0  # of the circle from one attempt to the next; guess
    most_attempts: int = 6  # circles beside those that left units to the next one; guess
    most_in_vain: int = 2  # times that something is tried in vain: circles, units read again, whole searches; guess
    most_rounds: int = 4  # of further answers: for a pair, for a bump, or for units with too large a bound; guess
    mends: bool = True  # looks for what cancels far out where only rows near the origin are missed
    patience: int = 1  # circles in a row that show nothing new beside known units; guess
    leap: float = 64.0  # growth of the circle when the missing units lie far out; guess
    intervals: int = 8  # of the first half circle; twice as many each time; all rows
    most_doublings: int = 6  # of them; guess
    most_pairs: int = 3  # unresolved arcs beside units that were found; more are another kind of function; guess
    most_for_pairs: int = 4000  # unknowns: pairs need the dense joint fit; guess
    complete: float = 1e-3  # residuals of a complete network are far below this share of its smallest weight; guess


@dataclass(frozen=True)
class PairPolicy:
    """Two parallel units on one arc."""

    starts: int = 40  # guess
    most_evaluations: int = 200  # of one fit from a start; guess
    settled: float = 1e-8  # misfit over the pair's height, at all radii together; guess
    more: int = 12  # samples asked for on the circle, a third as many at each radius further out; guess
    further: tuple[float, ...] = (0.125, 1.0)  # of the circle's radius: for large offsets, and small ones; guess
    negligible: float = 1e-5  # a unit this much smaller than its partner is an artefact of one unit badly seen; guess
    heard: float = 1e-9  # of the pair's height, off a plateau: seen, and worth more samples; guess

    @property
    def on_circle(self) -> float:
        """Samples grown by less than this lie on the circle itself."""
        return 0.5 * min(self.further)


@dataclass(frozen=True)
class BumpPolicy:
    """Parallel units that cancel far out, on a line through an input that differs."""

    near: float = 0.3  # of the first circle's radius: rows that may lie on a bump; guess
    close: float = 1e-2  # relative error of fresh points up to which a network is close to the box; guess
    first_step: float = 1e-3  # of the input's distance from the origin; guess
    samples: int = 24  # guess
    most_zooms: int = 5  # guess
    apart: float = 1e-6  # of the bump's width, between samples that tell a slope; guess
    lines: int = 3  # through one input, before a function is refused; guess
    negligible: float = 1e-4  # of the largest remainder or weight: what is smaller counts for nothing; guess
    n_units: tuple[int, ...] = (2, 3)  # on one line; guess
    starts: int = 8  # guess
    lever: float = 30.0  # steps along a unit's plane over one by its slope; guess
    fits: float = 1e-6  # of the bump's height; guess
    grid: int = 4001  # guess
    steep: float = 0.3  # of the largest slope, within which a step may move; guess


@dataclass(frozen=True)
class JointPolicy:
    """The joint fit to rounding."""

    most_iterations: int = 8  # guess
    same: float = 1e-3  # change of arguments up to which factored equations still hold; guess
    dense: int = 450  # unknowns up to which one dense factorisation is fast enough; guess
    dense_if_coarse: int = 2000  # the same where many rows lie near the origin and all units move on them; guess


@dataclass(frozen=True)
class OwnRowsPolicy:
    """Rows on which a unit moves alone."""

    further: float = 1.5  # from the nearest of them to the furthest; guess
    wide: float = 0.05  # of the usable range, between their arguments; guess
    distances: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # of others that are tried, over the base's; guess
    clear: float = 1.2  # arguments of all other units there, over the flat one; guess

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

    most: float = 0.1  # share of the units, beyond which not all of them can be wrong; guess
    misread: float = 2e-8  # of its size: an error that a unit does not come by through rounding; (300, 1000)
    as_read: float = 1e6  # rounding errors: what reading misses, and a fit that leads nowhere; (2000, 1000)
    share: float = 1e-3  # of the largest miss: rows that say which unit is wrong, where most are missed; guess


@dataclass(frozen=True)
class PolishPolicy:
    """One more query where a bound is too large."""

    draws: int = 64  # directions tried per radius; guess


@dataclass(frozen=True)
class FarPolicy:
    """A last look far out, beside a linear term."""

    shows: float = 1e-4  # rounding over the smallest weight, up to which far points show a further unit; guess


@dataclass(frozen=True)
class TailPolicy:
    """Small networks with algebraic tails."""

    most_units: int = 5  # guess


@dataclass(frozen=True)
class TailStudentPolicy:
    """Their student."""

    largest_jacobian: int = 10**8  # entries; guess


@dataclass(frozen=True)
class NearPolicy:
    """Random inputs near the origin, where arguments are small and all digits of the answers count."""

    per_unknown: float = 1.9  # real_boxes, torch rows; black_box_noisy, 6 decimals k10d50
    held_out: float = 0.15  # further ones per unknown, which the fit must foretell; the same rows
    spread: float = 3.0  # of a unit's argument; the same rows
    room: float = 5.0  # the same, orthogonal to all units; black_box_noisy, 6 decimals and float32
    most_foretold: float = 10.0  # error of a foretold answer over its rounding that may excuse a miss; guess
    better: float = 0.3  # largest residual there over that of the units as they were read; guess
    misread: float = 5.0  # change of a unit over what is expected of its reading; guess


SEARCH = SearchPolicy()
COARSE_SEARCH = SearchPolicy(
    mends=False, circle=12.0, growth=1.2, intervals=12, most_doublings=2, most_attempts=8, patience=3, leap=8.0
)  # guess; real_boxes, torch rows
NEARBY = NearPolicy()
PAIRS = PairPolicy()
BUMPS = BumpPolicy()
JOINT = JointPolicy()
OWN_ROWS = OwnRowsPolicy()
OUTWARDS = OutwardsPolicy()
PRUNE = PrunePolicy()
POLISH = PolishPolicy()
FAR_LOOK = FarPolicy()
TAILS = TailPolicy()
TAIL_STUDENT = TailStudentPolicy()
