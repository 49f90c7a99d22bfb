"""What was chosen, not derived: when to go on, when to stop, and how much to ask, for each kind of answers.

Behind a number stands the row of ``benchmarks/black_box_noisy.py`` that it was tuned on, or the word guess. Tuning used
other seeds than the rows report.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...fit.joint import Widening


@dataclass(frozen=True)
class Learning:
    """How the student learns.

    Attributes
    ----------
    n_spare, most_spare : int
        Units of the first student; it has this many at least, and grows by `grows` while it uses almost all. Who needs
        the most is no sum of sigmoids.
    per_feature : float
        First answers per input, over the squared ratio of signal and noise.
    growth : float
        Answers over those before, after a lesson that was not accepted.
    rows_per_spare, least_per_unknown, most_per_unknown : float
        Answers per unknown: of the student, of what it learned to be accepted, and before giving up.
    clear_gap : float
        By how much BIC must prefer the number of units to the next one.
    rough : float
        Radians: directions known better than this can be improved.
    arguments : float or None
        Spread of a typical unit's arguments that the inputs aim at; None: inputs keep their scale.
    narrow : float
        Spread below which units can hide behind each other.
    most_lessons : int
        Lessons in all, each after something spoke against the one before.
    widens : bool
        Take one more unit where it was shown, instead of learning anew.
    """

    n_spare: int = 8  # guess
    grows: int = 4  # guess
    most_spare: int = 32  # guess; hostile_boxes, algebraic: time grows like the fourth power
    per_feature: float = 60.0  # guess
    growth: float = 1.35  # guess
    rows_per_spare: float = 1.9  # guess
    least_per_unknown: float = 2.2  # guess
    most_per_unknown: float = 25.0  # guess
    clear_gap: float = 10.0  # guess
    rough: float = 0.35  # guess
    arguments: float | None = 3.5  # guess
    narrow: float = 1.2  # guess
    most_lessons: int = 4  # guess
    widens: bool = False


@dataclass(frozen=True)
class LookForAnother:
    """How a further unit is looked for.

    Attributes
    ----------
    shows : float
        Share of the smallest weight that the test is to see.
    share, share_when_sharp : float
        Of the queries so far, for the first look, and for one at sharp units.
    farther : float
        Radius of random inputs over the last one, after a unit showed that they did not.
    beyond_doubt : float
        Standard errors from which the next student must have that unit.
    blind : tuple of float
        A partner of a unit at a wider angle is to show: radians, over the noise per weight, at least and at most.
    """

    shows: float = 0.65  # guess
    share: float = 0.12  # guess
    share_when_sharp: float = 0.3  # guess
    farther: float = 1.5  # guess
    beyond_doubt: float = 6.0  # guess
    blind: tuple[float, float, float] = (1.6, 0.05, 0.45)  # black_box_noisy, rows k5d10 and k8d10


@dataclass(frozen=True)
class Sharpening:
    """How directions become sharp.

    Attributes
    ----------
    sure : float
        Radians: known units this sure leave room on a circle for another one to show.
    patience_when_rough, patience : float
        Lever answers over those of the student after which one does not go on: for rough units, and before another look
        at the number of sharp ones.
    least_widening : Widening
        Factors of cones, however well calibration finds them.
    spare : float
        Information asked for beyond what the accuracy needs.
    most_calibrations, most_rounds : int
    """

    sure: float = 0.15  # guess
    patience_when_rough: float = float("inf")
    patience: float = float("inf")
    least_widening: Widening = field(
        default=Widening(1.3, 1.3, 1.3)
    )  # rounded: stopping favours cones that are too narrow
    spare: float = 0.0
    most_calibrations: int = 6  # guess
    most_rounds: int = 40  # guess; hostile_boxes, two layers with noise and heavy tails: these take all there are


@dataclass(frozen=True)
class Policy:
    """All of it for one kind of answers.

    Attributes
    ----------
    accuracy : float
        Direction error that is aimed at where none was asked for.
    refuted : float
        Level at which residuals refute a fit.
    """

    learning: Learning
    another: LookForAnother
    sharpening: Sharpening
    accuracy: float = 0.1  # guess
    refuted: float = 1e-3  # guess


FOR_ROUNDING = Policy(Learning(), LookForAnother(), Sharpening(), accuracy=float("inf"))  # rounded, single precision
FOR_NOISE = replace(
    FOR_ROUNDING,
    # Bias is taken off instead; stopping still favours narrow cones a little. All rows with sd .1.
    sharpening=Sharpening(least_widening=Widening(1.0, 1.05, 1.0)),
    accuracy=0.1,
)
FOR_LABELS = Policy(
    # Labels show units one by one, and none of them can surprise: a better start, more lessons, any gap of BIC.
    Learning(per_feature=75.0, clear_gap=0.0, rough=0.3, most_lessons=8, widens=True),  # labels, k3d20
    LookForAnother(share=0.5, share_when_sharp=0.5),  # labels, k3d20
    Sharpening(
        patience_when_rough=0.5,  # labels, k3d20
        patience=1.0,  # labels, k3d20
        # What labels say far from the fit is less than next to it. Labels, k2d10 and k3d20.
        least_widening=Widening(1.8, 1.4, 1.8),
        spare=0.05,  # guess
    ),
)
_IN_A_BOX = Learning(
    growth=1.25,  # guess
    grows=3,  # guess
    rows_per_spare=0.8,  # box 5 k3d10 sd .1, and (6,3) with 3 decimals
    arguments=None,
    narrow=0.0,
    most_lessons=3,  # guess
)
FOR_A_BOX = Policy(_IN_A_BOX, LookForAnother(), Sharpening(), refuted=0.02)
FOR_LABELS_IN_A_BOX = replace(FOR_A_BOX, learning=replace(_IN_A_BOX, per_feature=75.0))  # guess
