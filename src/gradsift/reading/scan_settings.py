"""What was chosen, not derived, where units are read far out, one by one.

Behind a number stands the kind of row of ``boxes/black_box_exact.py`` that it was tuned on, or the word guess.
Limits of certificates are not here but in :mod:`gradsift.certificate`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Digits:
    """Relative sizes below which a difference says nothing, by the resolution of the answers.

    In double precision rounding leaves so many digits that round numbers do; elsewhere they follow the resolution.
    """

    known: float  # error of units that were read, where they are active
    same: float  # units seen twice
    cancels: float  # a wrong unit and what the next scan found in its place
    contaminated: float  # residuals of a unit's own probes, over its weight
    inverted: float  # rounding of an inverted answer, beyond which a shorter step is worth a query


_DOUBLE = Digits(1e-9, 1e-6, 1e-5, 1e-5, 3e-10)  # guess; all rows
_FINE = 1e-14  # resolution up to which these hold


def digits_of(resolution: float) -> Digits:
    """Return what counts as equal at this resolution of the answers."""
    if resolution <= _FINE:
        return _DOUBLE
    # Units are read far out, where arguments lose some four digits. Guess; real_boxes, torch rows.
    known = min(max(_DOUBLE.known, 5e3 * resolution), 3e-3)
    return Digits(known, 10 * known, 10 * known, 10 * known, max(_DOUBLE.inverted, known))


@dataclass(frozen=True)
class RayPolicy:
    """Rays outwards until the answers stop changing."""

    factor: float = 8.0  # all rows
    most: int = 11  # radii per ray: 8^11 is still nearer than the far end; guess
    escapes: float = 1e6  # growth to the far end over that of the first radii, as of a line; guess


@dataclass(frozen=True)
class CirclePolicy:
    """Closer looks at a circle."""

    zoom: float = 8.0  # guess
    most_zooms: int = 4  # guess


@dataclass(frozen=True)
class ScanPolicy:
    """Steps on a circle."""

    most_inner: int = 9  # samples between two plateaus before units there are said to overlap; guess
    most_units_apart: int = 400  # the same if every sample seems to lie on a plateau of its own; guess
    quiet: float = 1e-3  # jumps below this share of the largest one are tails; guess
    by_chance: float = 0.1  # share of such jumps between units that are apart; (2000, 1000)
    most_rounds: int = 500  # guess
    finest: float = 3e-14  # radians: a jump across less than this is a discontinuity; guess
    pilots: int = 2  # intervals refined at once until one shows a unit: wrong functions cost little; guess


@dataclass(frozen=True)
class PlanePolicy:
    """A unit in the plane of the circle."""

    most_tries: int = 8  # guess
    many: int = 100  # units, from which on the next three count; guess
    vague: float = 3e-11  # of the usable range: error of an argument worth a query; (784, 256), (2000, 500)
    coarse: float = 1.5e-10  # the same beyond which probes say too little; (784, 256), (2000, 500)
    spoilt: float = 1e-11  # doubt of a step's plateaus, of the weight, beyond which its unit is misread; (1000, 1000)
    worth_another: int = 250  # inputs, from which on finding a unit again costs far less than probing it again; guess
    pure: float = 20.0  # a sum of two units misses the line by far more than this many times the rounding; guess


@dataclass(frozen=True)
class ProbePolicy:
    """One query per coordinate of a unit."""

    most_tries: int = 12  # guess


@dataclass(frozen=True)
class FamilyPolicy:
    """Which sigmoid a step is."""

    fits: float = 1e-4  # of the step's height; a wrong family misses by more than 1e-3; guess


@dataclass(frozen=True)
class RefusalPolicy:
    """Functions without a network to return."""

    drowned: float = 1e-6  # of the largest answer: what rounding may hide of a plateau; guess
    uneven: float = 1e3  # largest over least size of an input, from which that is named; "columns 1e4 to 1e-3"; guess
    silent: float = 1e-9  # of the largest: an input that units turn this slowly along is not listened to; guess


RAYS = RayPolicy()
CIRCLE = CirclePolicy()
SCAN = ScanPolicy()
PLANE = PlanePolicy()
PROBE = ProbePolicy()
FAMILY = FamilyPolicy()
REFUSAL = RefusalPolicy()
