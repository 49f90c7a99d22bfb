"""The tuned numbers of the reader of decisions; beside each stands what would notice it, or the word guess."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DecisionPolicy:
    """Lengths are in sizes of usual inputs; rows named are those of boxes/black_box_decisions.py."""

    # Far out, where all units but one stand still.
    far: float = 1e5  # radius of the circles; hidden units: a tenth of the boxes at 1e4 meets two units at once
    inner: float = 1e3  # radius of the places from which tracks start; guess
    samples: int = 32  # of a circle; guess
    step: float = 3e-3  # of the radius, between the lines of a normal; guess
    digits: float = 2.0**-25  # width of a crossing over that step: directions to 3e-8; all rows
    reach: float = 10.0  # length of tracks over their radius; at 3 a fifth of the hyperplanes is not met (guess)
    beside: float = 5e-3  # distance of tracks from the boundary; guess
    clear: float = 1e-2  # of the radius, from the hyperplane of a known unit; guess
    quiet: int = 3  # tracks without a new unit, before the units are complete; guess
    # Near the origin, and the fits.
    first_width: float = 1e-5  # of the first boundary points; guess
    starts: int = 64  # of the small fit at once; guess
    rounds: int = 6  # of starts, each with more boundary points; guess
    fitted: float = 3e-4  # root mean square, in lengths, of a small fit that goes on to the joint one; guess
    pool: int = 300  # predicted crossings to choose from; guess
    last_width: float = 1e-13  # of the narrowest crossings; guess
    sharpenings: int = 14  # rounds; guess
    accuracy: float = 1e-6  # error bound where none is asked for


DECISIONS = DecisionPolicy()
