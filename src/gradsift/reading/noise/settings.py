"""What was chosen, not derived: when to go on, when to stop, and how much to ask.

Behind a number stands the row of ``boxes/black_box_noisy.py`` that it was tuned on, or the word guess. Tuning used
other seeds than the rows report.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...fit.joint import Calibration
from ...fit.moves import MOVES


@dataclass(frozen=True)
class DoubtTuning:
    """What counts as certain, as refuted, or as worth a question, and how often it is asked, wherever that is."""

    impossible: float = 6.0  # standard errors that neither noise nor chance explains; guess
    sign: float = 4.0  # standard errors by which a sign is sure: one wrong sign far out would turn a unit; guess
    level: float = 1e-3  # at which residuals refute their noise; box 5 k3d10 sd .1
    worth_asking: float = 0.02  # level at which residuals make the noise worth measuring; guess
    misfit: float = 4.0  # mean square of residuals over what was expected, from which units are wrong; guess
    nats: float = 3.0  # that speak for one of two explanations: odds of 20 to 1; guess
    rounds: int = 3  # of more answers for the sake of one test, circles of it, and what is tried in vain; guess
    alarms: int = 6  # of one kind, or lessons after these, after which a test stands as it is; guess
    most: int = 40  # steps of what ends by itself; hostile_boxes, two layers with noise and heavy tails: all there are
    few: int = 24  # answers, with which a look begins: random inputs, rows asked again, labels of one test; guess
    sampled: int = 2000  # inputs or directions over which averages are taken; these ask nobody; guess
    half: float = 0.25  # least weight of the smaller half of a unit that is two, over the unit's; guess


DOUBT = DoubtTuning()


@dataclass(frozen=True)
class ScaleTuning:
    """How far from the origin units bend, tell most, and stand still; arguments of units but for the first three."""

    far: float = 2.0**30  # radius, over that of the inputs, at which only signs are left; guess
    factor: float = 6.0  # from one radius to the next, and of arguments over those wanted; guess
    faint: float = 1e-5  # share of the far answers that only growth with the distance leaves; guess
    spread: float = 3.0  # wanted of random inputs; beyond it a unit hardly bends; guess
    steep: float = 0.7  # where an answer tells most of a unit, and how uncertain an argument may be at first; guess
    quiet: float = 8.0  # where a unit stands still; guess
    saturated: float = 60.0  # where offsets and slopes do not matter either; guess


@dataclass(frozen=True)
class StepTuning:
    """Steps on a circle seen through rounding."""

    coarsest: float = 2e-4  # step of the answers over the largest, beyond which too little can be inverted; guess


@dataclass(frozen=True)
class TrainTuning:
    """What a lesson must show."""

    many_per_unknown: float = 4.0  # guess
    tailed: float = 3.0  # excess kurtosis; guess


@dataclass(frozen=True)
class RefitTuning:
    """Rows that are asked again, set aside or taken in."""

    first_freedom: float = 7.0  # of the first look at the noise, in degrees; guess
    most_stray: float = 0.05  # share of the answers; guess


@dataclass(frozen=True)
class LabelLeverageTuning:
    """Queries beside a unit's plane where a label says most."""

    clear: float = 2.0  # arguments wanted of the other units, beside so many standard errors; guess


@dataclass(frozen=True)
class RefineTuning:
    """Rounds of points of high leverage."""

    uneven_widening: float = 1.25  # a variance function is a model, too; guess


@dataclass(frozen=True)
class FarCircleTuning:
    """Another unit on far circles."""

    share: float = 0.4  # of all weights; guess


@dataclass(frozen=True)
class BesideTuning:
    """One unit or two nearly parallel ones, on both sides of a hyperplane far out."""

    least_tilt: float = 0.001  # radians; guess
    wider: float = 20.0  # largest tilt over the least one, where a partner is to be located; guess
    shows: tuple[float, ...] = (0.7, 0.2)  # probabilities that a partner shows in a direction; guess
    doubtful: float = 0.5  # of one direction, from which it is asked again; black_box_noisy, row k8d10
    ladder: tuple[float, ...] = (1.0, 1.5, 2.25, 3.4, 5.0)  # weights of a partner over the least one; guess
    share_of_least: float = 0.35  # the same over the smallest weight of all; guess
    per_unit: int = 3  # inputs for each unit, if all are asked about in the same pair; guess
    n_pairs: tuple[int, int, int] = (4, 8, 12)  # at least, for up to 5 and 10 inputs and for more; guess
    sharper: float = 0.3  # least cone that one of them aims at, over the one before; guess


@dataclass(frozen=True)
class HalvesTuning:
    """One unit made two."""

    angles: tuple[float, ...] = (0.15, 0.3, 0.6)  # between them, in radians, beside multiples of the tilt; guess
    over_tilt: tuple[float, ...] = (2.0, 6.0)  # guess
    least_weight: float = 0.15  # of the smaller half over the unit; guess


@dataclass(frozen=True)
class ProfileTuning:
    """Parallel units on the slopes of what they are taken for."""

    n_points: int = 32  # in one round; black_box_pairs, "parallel tanh"


@dataclass(frozen=True)
class SplitPowerTuning:
    """Which pairs the answers at hand would show."""

    angles: tuple[float, float] = (0.01, 1.5707)  # radians, the first and the last tried
    n_tried: int = 16  # of these, and directions of the partner across each unit; guess


@dataclass(frozen=True)
class FarLabelTuning:
    """Another unit behind labels."""

    excess: float = 0.1  # the same for pairs at smaller angles that are to be seen; guess
    almost_best: float = 2.0  # variance over the smallest, up to which an angle is worth asking; guess


@dataclass(frozen=True)
class InformativeTuning:
    """Where slopes, weights and offsets show best."""

    inner: float = 0.58  # share of arguments on the slope; the others are saturated; guess


@dataclass(frozen=True)
class NoiseTuning:
    """Does the noise behave?"""

    least_spread: float = 0.4  # relative: a parabola of logarithms must not make a few answers all-important; guess


@dataclass(frozen=True)
class BiasTuning:
    """Second-order bias."""

    most: float = 1.5  # standard errors: beyond this the expansion is not trusted; guess


@dataclass(frozen=True)
class BoxDesignTuning:
    """The most telling inputs."""

    pool: int = 12  # candidates per point; guess


@dataclass(frozen=True)
class NoisyBoxPolicy:
    """Stages of imperfect answers that only a box has."""

    alike: int = 10  # rounds of one size, and how often it then doubles; guess
    fresh: int = 4  # random answers per input, to confirm what was found; guess


SCALE = ScaleTuning()
STEPS = StepTuning()
TRAIN = TrainTuning()
REFIT = RefitTuning()
LABEL_LEVERAGE = LabelLeverageTuning()
REFINE = RefineTuning()
FAR_CIRCLES = FarCircleTuning()
BESIDE = BesideTuning()
HALVES = HalvesTuning()
PROFILES = ProfileTuning()
SPLIT_POWER = SplitPowerTuning()
FAR_LABELS = FarLabelTuning()
INFORMATIVE = InformativeTuning()
NOISE = NoiseTuning()
BIAS = BiasTuning()
BOX_DESIGN = BoxDesignTuning()
NOISY_BOX = NoisyBoxPolicy()


@dataclass(frozen=True)
class StudentPolicy:
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
    clear_gap: float = MOVES.margin  # guess
    rough: float = 0.35  # guess
    arguments: float | None = SCALE.spread
    narrow: float = 1.2  # guess
    widens: bool = False


@dataclass(frozen=True)
class LookForAnother:
    """How a further unit is looked for.

    Attributes
    ----------
    shows : float
        Share of the smallest weight that the test is to see.
    share : float
        Of the queries so far, for one look at most; of random inputs, that are asked again where noise is doubted.
    farther : float
        Radius of random inputs over the last one, after a unit showed that they did not.
    blind : tuple of float
        A partner of a unit at a wider angle is to show: radians, over the noise per weight, at least and at most.
    """

    shows: float = 0.65  # guess
    share: float = 0.3  # guess
    farther: float = 1.5  # guess
    blind: tuple[float, float, float] = (1.6, 0.05, 0.45)  # black_box_noisy, rows k5d10 and k8d10


@dataclass(frozen=True)
class RefinePolicy:
    """How directions become sharp.

    Attributes
    ----------
    sure : float
        Radians: known units this sure leave room on a circle for another one to show.
    patience_when_rough, patience : float
        Lever answers over those of the student after which one does not go on: for rough units, and before another look
        at the number of sharp ones.
    least_widening : Calibration
        Factors of cones, however well calibration finds them.
    """

    sure: float = 0.15  # guess
    patience_when_rough: float = float("inf")
    patience: float = float("inf")
    least_widening: Calibration = field(
        default=Calibration(1.3, 1.3, 1.3)
    )  # rounded: stopping favours cones that are too narrow


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

    student: StudentPolicy
    another: LookForAnother
    refine: RefinePolicy
    accuracy: float = 0.1  # guess
    refuted: float = DOUBT.level


FOR_ROUNDING = Policy(
    StudentPolicy(), LookForAnother(), RefinePolicy(), accuracy=float("inf")
)  # rounded, single precision
FOR_NOISE = replace(
    FOR_ROUNDING,
    # Bias is taken off instead; stopping still favours narrow cones a little. All rows with sd .1.
    refine=RefinePolicy(least_widening=Calibration(1.0, 1.05, 1.0)),
    accuracy=0.1,
)
FOR_LABELS = Policy(
    # Labels show units one by one, and none of them can surprise: a better start, more lessons, any gap of BIC.
    StudentPolicy(per_feature=75.0, clear_gap=0.0, rough=0.3, widens=True),  # labels, k3d20
    LookForAnother(share=0.5),  # labels, k3d20
    RefinePolicy(
        patience_when_rough=0.5,  # labels, k3d20
        patience=1.0,  # labels, k3d20
        # What labels say far from the fit is less than next to it. Labels, k2d10 and k3d20.
        least_widening=Calibration(1.8, 1.4, 1.8),
    ),
)
_IN_A_BOX = StudentPolicy(
    rows_per_spare=0.8,  # box 5 k3d10 sd .1, and (6,3) with 3 decimals
    arguments=None,
    narrow=0.0,
)
FOR_A_BOX = Policy(_IN_A_BOX, LookForAnother(), RefinePolicy(), refuted=DOUBT.worth_asking)
