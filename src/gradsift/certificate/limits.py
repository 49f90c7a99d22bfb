"""Every limit of a certificate, by kind of answers.

Beside each stands the benchmark whose rows it was chosen with, or the word guess. Rows named beside a guess do not
refute it: none of their networks is certified but wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

# Standard errors in every error bound; error_bounds, tuning seeds: none of 4,356 networks was off by more than 4.6.
BOUND = 6.0


@dataclass(frozen=True)
class ExactLimits:
    """For answers that are exact but for rounding."""

    residuals: float  # of the worst answer, over its rounding error
    fresh_points: float  # of the worst fresh answer, relative or over what was to be expected
    error_bound: float  # `BOUND` standard errors of any parameter, relative
    spare_answers: int  # beside one for each unknown and each unit
    negligible_weight: float  # over the largest one


@dataclass(frozen=True)
class CoarseKinkLimits(ExactLimits):
    """For units with kinks behind answers that are not exact."""

    offsets: float  # error bound of an offset over its size
    pairs: float  # nats by which two parallel units may explain the answers better than one, by BIC


EXACT = ExactLimits(
    residuals=2.0,  # guess; black_box_exact, all rows
    fresh_points=1e-8,  # what black_box_exact counts as wrong
    error_bound=7.5e-9,  # below the 1e-8 that black_box_exact counts as wrong, all rows
    spare_answers=3,  # guess
    negligible_weight=1e-7,  # guess
)
# Where answers carry seven digits or less, as in single precision, fewer are left of the parameters.
COARSE = ExactLimits(
    residuals=3.0,  # guess; real_boxes, all rows
    fresh_points=4.0,  # guess; over what rounding of all answers explains there
    error_bound=1.25e-2,  # guess; real_boxes, all rows
    spare_answers=3,  # guess
    negligible_weight=1e-5,  # guess
)
# For units with kinks answers are compared with what rounding and the errors of all parameters explain together.
KINKED_UNITS = ExactLimits(
    residuals=12.0,  # guess; black_box_kinked, all rows
    fresh_points=12.0,  # guess; in the same units, since answers near and far differ by many orders of magnitude
    error_bound=1e-8,  # what black_box_kinked counts as wrong
    spare_answers=0,  # not asked: fresh answers are counted by themselves
    negligible_weight=1e-7,  # guess
)
# Through coarse answers the bound is on directions, which far answers tell; offsets have their standard errors.
COARSE_KINKS = CoarseKinkLimits(
    residuals=12.0,  # guess; black_box_kinked, coarse rows
    fresh_points=12.0,  # guess; the same rows
    error_bound=1e-4,  # guess; at 1e-3 one of six trained float32 networks of ReLU units was certified wrong
    spare_answers=0,  # not asked
    negligible_weight=1e-7,  # guess
    offsets=3.0,  # guess; trained_kinked, rows "torch float32"
    pairs=8.0,  # guess; black_box_kinked_coarse, rows "noise": up to 5.0 in networks without pairs
)
# Inside bounds, or the range of a link, a ray is short, and an answer may have lost digits.
KINKS_WITHIN = replace(KINKED_UNITS, error_bound=1e-6)  # what trained_kinked counts as wrong
# Inside a box the fit has one rounding error for all answers (no argument is large there), in units of 16 eps times the
# largest answer, and fresh points come before the last fit; so all three are wider, and here only.
EXACT_IN_A_BOX = ExactLimits(
    residuals=8.0,  # guess; black_box_noisy, exact rows "box 5"
    fresh_points=1e-5,  # guess; over the largest answer
    error_bound=1.5e-7,  # guess
    spare_answers=0,  # not asked: a student has answers to spare
    negligible_weight=0.0,  # not asked: the error bound of a faint unit is large
)


# Behind decisions a crossing is known to the width of its bracket; the accuracy that was asked for is the error bound.
DECIDED = ExactLimits(
    residuals=BOUND,  # of 10 million crossings none is off by more; black_box_decisions, all rows
    fresh_points=BOUND,  # guess; not asked: fresh crossings are counted
    error_bound=1e-6,  # without accuracy=; what black_box_decisions counts as wrong
    spare_answers=3,  # beside one for each unit; guess
    negligible_weight=0.0,  # not asked: the error bound of a faint unit is large
)


@dataclass(frozen=True)
class OutputLimits:
    """For each of several outputs over units that were found through a projection of them."""

    residuals: float  # of the worst answer, over its rounding error and what the units' error bounds explain


OUTPUTS = OutputLimits(
    residuals=4.0,  # guess; real_boxes, rows with several outputs
)


@dataclass(frozen=True)
class DeepLimits(ExactLimits):
    """For several hidden layers behind exact answers; fresh answers over ten roundings and six standard errors."""

    promising: float  # of the worst answer, over its rounding error: worth going on with


DEEP = DeepLimits(
    residuals=2.0,  # black_box_deep, CANYON-B "AT10": 5 without a unit that adds 1e-13
    fresh_points=1.0,  # by its definition; guess
    error_bound=6e-8,  # black_box_deep counts errors of 1e-8 as wrong: one standard error, all rows
    spare_answers=20,  # guess
    negligible_weight=0.0,  # not asked: the error bound of a faint unit is large
    promising=8.0,  # guess; black_box_deep, all rows: up to 0.9 in networks that are right
)
# Several layers of sharp units: answers over what rounding, and for fresh ones all error bounds, explain.
DEEP_KINKS = replace(KINKED_UNITS, spare_answers=20)  # guess; black_box_deep_relu, all rows
# Through single precision four digits of the parameters are left.
DEEP_COARSE = DeepLimits(
    residuals=8.0,  # guess; black_box_deep, row float32
    fresh_points=1.0,  # by its definition; guess
    error_bound=6e-3,  # guess; one standard error is what black_box_deep counts as wrong, row float32
    spare_answers=20,  # guess
    negligible_weight=0.0,  # not asked
    promising=8.0,  # guess
)


@dataclass(frozen=True)
class UnitLimits:
    """For units that are seen through imperfect answers."""

    another_unit: float  # standard errors by which one more may stand out on far circles
    weight_shown: float  # of a unit that would have stood out, over the weight in question
    parallel: float  # cosine from which two units may cancel
    cancelling: float  # what must be left of the larger one's weight, far out, by two parallel units,
    carried: int  # or answers without which such a pair would not be worth its price,
    told: float  # if the standard error of its weights is at most this share of them


@dataclass(frozen=True)
class NoisyLimits(UnitLimits):
    """For answers with additive noise or rounding, whose residuals can be looked at."""

    blind_angle: float  # degrees
    single_units: float  # log-likelihood ratio of a nearly parallel partner over none
    misfit: float  # mean square of the residuals over the noise's
    few: int  # residuals that are too few for the tests that follow
    tails: float  # level of two tests: the largest residual, and the fourth moment
    stretches: int  # of the campaign, in which the mean may drift
    drift: float  # level of two tests: their standardised means, and a trend
    independent: float  # level of the test that consecutive residuals are not alike
    even_noise: float  # level of the test that the size of residuals does not depend on the function
    activation: float  # nats by which another activation may explain the answers better
    parallel_pair: float  # nats that two parallel units in the place of one may gain
    shape: float  # level of the test that residuals do not depend on the units' own arguments


@dataclass(frozen=True)
class LabelLimits(UnitLimits):
    """For labels -1 and +1, whose mean the function is."""

    known_mean: float  # error of the mean, root mean square over fresh inputs
    link: float  # nats by which a function behind a link may explain the labels better
    told_apart: float  # nats by which it must explain them worse, or the mean is known no better than both agree


LABELS = LabelLimits(
    another_unit=4.2,  # guess; black_box_noisy, rows "labels"
    weight_shown=0.8,  # guess; black_box_noisy, rows "labels"
    parallel=0.9,  # guess
    cancelling=0.25,  # guess
    carried=8,  # guess; hostile_boxes, rows "one percent garbage" and "opposite pair, noise .1"
    told=0.25,  # guess; hostile_boxes, rows "labels by a majority of seven"
    known_mean=0.3,  # guess; black_box_noisy, rows "labels", and hostile_boxes, rows "labels by"
    link=3.0,  # nats; 1.4% of boxes by chance; hostile_boxes, rows "labels by"
    told_apart=8.0,  # guess; the same rows
)
NOISY = NoisyLimits(
    another_unit=4.2,  # guess; black_box_noisy, rows "sd .1" and "decimals"
    weight_shown=0.8,  # guess; the same rows
    parallel=0.9,  # guess
    cancelling=0.25,  # guess
    carried=8,  # guess; hostile_boxes, rows "one percent garbage" and "opposite pair, noise .1"
    told=0.25,  # guess; hostile_boxes, rows "labels by a majority of seven"
    blind_angle=45.0,  # guess; black_box_pairs, all rows
    single_units=9.2,  # one in 10,000; black_box_pairs, all rows
    misfit=1.4,  # guess; the same rows
    few=60,  # guess
    tails=0.01,  # a level: heavy tails are the likeliest fault, and hard to see
    stretches=20,  # guess
    drift=0.001,  # a level
    independent=0.001,  # a level
    even_noise=0.001,  # a level
    activation=3.0,  # guess; hostile_boxes, rows "erf with noise called tanh", "hard tanh, noise .05" and "noise"
    parallel_pair=7.0,  # BIC's price of three numbers; black_box_pairs, "parallel tanh"
    shape=0.001,  # a level
)


# Widths of kinks are hardly known through noise, and the best of six rivals fits by chance: the others are named.
KINKS_IN_NOISE = replace(NOISY, activation=8.0)  # black_box_kinked_coarse, rows "noise .1"


@dataclass(frozen=True)
class VerifyLimits:
    """From where on an answer differs from the network that was found."""

    level: float  # of the test on all fresh inputs at once, where answers are noisy or labels
    errors: float  # of the function, over what the errors of all parameters make of it
    rounding: float  # least relative error of a parameter that is allowed for, in units of double precision
    steps: float  # of the grid that answers are rounded to
    asked_twice: int  # inputs of a box of labels


VERIFY = VerifyLimits(
    level=1e-3,  # a level
    errors=4.0,  # guess; hostile_boxes, rows of honest networks
    rounding=64.0,  # guess; the same rows
    steps=4.0,  # guess; the same rows
    asked_twice=12,  # even odds make 12 equal pairs once in 4,096 boxes; hostile_boxes, decisions without noise
)


@dataclass(frozen=True)
class TableLimits:
    """For fits to rows."""

    gain: float  # of BIC over a simpler model, of a milder criterion over more units
    mild_price: float  # of a parameter, for that criterion; AIC's is 2
    directions: float  # radians: units less certain than this are not units anyone should name
    faint_weights: float  # standard errors that a weight must be away from zero
    same_place: float  # standard errors up to which two offsets may be one
    further_unit: float  # level of the cross-fitted test
    pairs: float  # level of the test that every unit is a single one
    half_as_strong: float  # what a unit of half the strength would explain, over BIC's price of a unit
    rival_gap: float  # nats: another optimum this close fits practically as well
    rival_hits: int  # starts that ended in the best one, from which on no rival matters
    rows_per_parameter: float  # fewer: the fit is regularised, and nothing is claimed
    steeper: float  # times: a unit as much steeper must cost something,
    steeper_costs: float  # nats: this much, or its slope has no upper end
    shrinkage: float  # standard errors by which a prior may pull any coefficient


TABLE = TableLimits(
    gain=0.0,  # BIC's own
    mild_price=4.0,  # table_certificates.py, seeds below 10,000
    directions=0.4,  # guess
    faint_weights=2.5,  # guess
    same_place=2.0,  # guess
    further_unit=0.01,  # a level
    pairs=0.1,  # table_certificates.py, seeds below 10,000
    half_as_strong=2.2,  # phase_table.py, seeds 100 to 109
    rival_gap=3.0,  # guess
    rival_hits=3,  # guess
    rows_per_parameter=3.0,  # guess
    steeper=4.0,  # guess
    steeper_costs=2.0,  # level 0.05 of a likelihood interval
    shrinkage=0.5,  # guess
)


@dataclass(frozen=True)
class PaperLimits:
    """For the paper's method, which has no certificate, but may look better or worse."""

    support: float  # effective samples behind the median candidate
    scatter: float  # mean cosine of candidates with their centre
    gaussian: float  # difference of a mean from zero or of a covariance from one


PAPER = PaperLimits(
    support=30.0,  # guess
    scatter=0.9,  # guess
    gaussian=0.2,  # guess
)
