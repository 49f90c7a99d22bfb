"""The tuned numbers of the reader of decisions; beside each stands what would notice it, or the word guess."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DecisionPolicy:
    """Lengths are in sizes of usual inputs; rows named are those of boxes/black_box_decisions.py."""

    # Far out, where all units but one stand still.
    far: float = 1e5  # radius of the circles; hidden units: a tenth of the boxes at 1e4 meets two units at once
    samples: int = 32  # of a circle; guess
    step: float = 3e-3  # of the radius, between the lines of a normal; and distance of tracks from the boundary; guess
    digits: float = 2.0**-25  # width of a crossing over the step: directions to 3e-8; all rows
    clear: float = 1e-2  # distance from a hyperplane, or share of the radius, where its unit is met alone; guess
    passes: float = 1e-3  # share of the radius within which hyperplanes pass the origin, and planes a point; guess
    quiet: int = 3  # tracks without a new unit, before the units are complete; guess
    # Near the origin.
    first_width: float = 1e-5  # of the first boundary points; guess
    starts: int = 64  # of the small fit at once; guess
    highest: float = 3.4  # argument of a unit at a place where it decides: beyond it stands still; guess
    least_slope: float = 1e-4  # median along lines: a unit frozen into a constant explains everything; guess
    # Between kinks.
    kink: float = 1e-6  # distance of tracks from a piece, and from hyperplanes within which points stay out; guess
    agrees: float = 0.02  # of two measurements of one number, where the next step makes it exact; guess
    # Fits.
    rounds: int = 8  # of whatever is repeated until it succeeds; guess
    pool: int = 300  # predicted crossings to choose from; guess
    loose: float = 0.05  # error of a prediction from which it is not worth a line; guess
    typical: int = 4  # inputs for each that n_verify asks for: one answer is one bit; guess

    @property
    def inner(self) -> float:
        """Radius of the places from which tracks start."""
        return self.clear * self.far


DECISIONS = DecisionPolicy()
# Boxes that calculate in single precision: all lengths are longer, and directions known to 1e-5.
SINGLE = DecisionPolicy(far=3e3, step=0.05, digits=2.0**-18, clear=0.03, passes=1e-2, kink=1e-4, agrees=0.1)
