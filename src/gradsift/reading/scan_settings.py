"""What was chosen, not derived, where units are read far out, one by one.

Behind a number stands the kind of row of ``boxes/black_box_exact.py`` that it was tuned on, or the word guess.
Limits of certificates are not here but in :mod:`gradsift.certificate`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Negligible:
    """Relative sizes below which a difference says nothing, by the resolution of the answers.

    In double precision rounding leaves so many digits that round numbers do; elsewhere they follow the resolution.
    """

    known: float  # error of units that were read, where they are active
    same: float  # units seen twice
    wrong: float  # a wrong unit and what the next scan found in its place, or residuals of a unit's own probes
    inverted: float  # rounding of an inverted answer, beyond which a shorter step is worth a query


def negligible_at(resolution: float) -> Negligible:
    """Return what counts as equal at this resolution of the answers."""
    # Units are read far out, where arguments lose some four digits. Guess; real_boxes, torch rows.
    read = min(5e3 * resolution, 3e-3)
    return Negligible(max(1e-9, read), max(1e-6, 10 * read), max(1e-5, 10 * read), max(3e-10, read))


@dataclass(frozen=True)
class CirclePolicy:
    """The first circle."""

    circle: float  # its radius over the radius at which a ray is flat
    intervals: int  # of the half circle; twice as many each time


@dataclass(frozen=True)
class ScanPolicy:
    """Steps on a circle."""

    most_inner: int = 9  # samples between two plateaus before units there are said to overlap; guess
    most_units_apart: int = 400  # the same if every sample seems to lie on a plateau of its own; guess
    little: float = 1e-3  # share of the largest jump, weight or miss that is next to nothing beside it; guess
    by_chance: float = 0.1  # share of such jumps, or of wrong units, that chance explains; (2000, 1000)
    pilots: int = 2  # intervals refined at once until one shows a unit: wrong functions cost little; guess
    fits: float = 1e-4  # of a step's height or a unit's weight; a wrong family misses by more than 1e-3; guess


@dataclass(frozen=True)
class UnitPolicy:
    """A unit in the plane of the circle, and across it."""

    most_tries: int = 12  # samples at other radii, steps of shrinking length, or steps of a joint fit; guess
    many: int = 100  # units, from which on a few bad ones spoil a joint fit, and the next three count; guess
    vague: float = 3e-11  # of the usable range: error of an argument worth a query; (784, 256), (2000, 500)
    coarse: float = 1.5e-10  # the same beyond which probes say too little; (784, 256), (2000, 500)
    spoilt: float = 1e-11  # doubt of a step's plateaus, of the weight, beyond which its unit is misread; (1000, 1000)
    rounding: float = (
        20.0  # rounding errors: more is not one unit, or no rounding at all, as float32 called exact; guess
    )
    worth_another: int = 250  # inputs, from which on finding a unit again costs far less than probing it again; guess


EXACT_CIRCLE = CirclePolicy(20.0, 8)  # all rows
COARSE_CIRCLE = CirclePolicy(12.0, 12)  # guess; real_boxes, torch rows
SCAN = ScanPolicy()
UNITS = UnitPolicy()
