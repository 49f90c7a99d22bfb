"""Random inputs and a student, until it explains them: the first guess at the units."""

from __future__ import annotations

import numpy as np

from ...errors import NotIdentifiable
from .campaign import Campaign
from .local_fit import Fitted
from .noise import Variance, excess_kurtosis
from .student import Lesson, study

__all__ = ["draw", "learn"]

_GROWTH = 1.35
_ROWS_PER_SPARE = 1.9  # answers per unknown of the student
_CLEAR_GAP = (10.0, 0.0)  # of BIC: additive noise; and labels (any but a constant), whose units are tested later on
_ROUGH = 0.35  # radians: directions known better than this can be improved by levers
_LABELS_ROUGH = 0.3  # answers of which none can surprise need a better start
_PER_FEATURE = (60, 75)  # first answers, over the noise's share of the variance: additive noise, and labels
_LEAST_PER_UNKNOWN = 2.2  # answers
_ARGUMENTS = 3.5  # spread of a typical unit's arguments that the student's inputs aim at
_PLAUSIBLE = 4.0  # mean square of residuals over the noise: slopes of worse fits say nothing about the scale
_MOST_PER_UNKNOWN = 25.0  # answers to random inputs, before giving up
_MANY_PER_UNKNOWN = 4.0
_TAILED = 3.0  # excess kurtosis
_DOUBTFUL = 1.3  # residual variance over the first guess of the noise, from which that guess is worth improving
_NARROW = 1.2  # spread of arguments below which units can hide behind each other


def draw(campaign: Campaign, n: int) -> None:
    rows = campaign.radius * campaign.rng.standard_normal((n, campaign.ledger.n_features))
    first = len(campaign.ledger.X)
    campaign.ledger.ask(rows, "student")
    campaign.near.extend(range(first, first + n))


def learn(campaign: Campaign) -> None:
    """Draw random inputs until a student explains them."""
    d = campaign.ledger.n_features
    wanted = max(
        7 * (d + 2), int(_PER_FEATURE[campaign.noise.labels] * d * (campaign.variance.sd / campaign.signal) ** 2)
    )
    most = (
        _MOST_PER_UNKNOWN
        * (campaign.n_spare + 4)
        * (d + 2)
        * max(1.0, (2 * campaign.variance.sd / campaign.signal) ** 2)
    )
    in_vain = 0
    while wanted < most:
        if len(campaign.near) < wanted:
            draw(campaign, wanted - len(campaign.near))
        lesson = _lesson(campaign)
        in_vain = in_vain + 1 if lesson.gap < 0 else 0
        if in_vain == 3:
            raise NotIdentifiable(
                f"A constant explains {len(campaign.near)} answers to random inputs as well as any units would: the "
                "function looks constant under this noise."
            )
        if _accepts(campaign, lesson):
            _take(campaign, lesson)
            return
        if campaign.noise.labels and len(lesson.fitted.theta.u) == campaign.least:
            campaign.least -= 1  # why ever it was refused: if a unit is missing, the next test says so again
        if 2 * lesson.fitted.loss < _PLAUSIBLE * len(campaign.near):
            campaign.radius *= float(np.clip(np.sqrt(_ARGUMENTS / _spread(campaign, lesson)), 0.6, 1.8))
        wanted = int(np.ceil(_GROWTH * len(campaign.near)))
    raise NotIdentifiable(
        f"No number of units up to {campaign.n_spare} explains {len(campaign.near)} answers to random inputs: the "
        "function is no sum of such sigmoids, or the noise is not what its repeats show."
    )


def _lesson(campaign: Campaign) -> Lesson:
    X, y = campaign.ledger.X[campaign.near], campaign.ledger.y[campaign.near]
    most = int(len(y) / (_ROWS_PER_SPARE * (X.shape[1] + 2)))
    while True:
        n_spare = max(3, min(campaign.n_spare, most))
        lesson = study(X, y, campaign.noise, campaign.g, n_spare, campaign.radius, campaign.rng, campaign.least)
        if not lesson.saturated or campaign.n_spare >= most:
            return lesson
        campaign.n_spare += 4


def _accepts(campaign: Campaign, lesson: Lesson) -> bool:
    fitted = lesson.fitted
    n, n_unknowns = len(fitted.residuals), len(fitted.information)
    if lesson.saturated or lesson.gap < _CLEAR_GAP[campaign.noise.labels] or n < _LEAST_PER_UNKNOWN * n_unknowns:
        return False
    if _spread(campaign, lesson) < _NARROW:
        return False
    freedom = n - n_unknowns
    squares = float((fitted.residuals**2).sum())
    if not campaign.noise.labels:
        if squares / freedom > _DOUBTFUL * campaign.variance.value:
            campaign.measure_noise()
        if campaign.variance.too_small(squares, freedom) and not _blames_tails(campaign, fitted, squares / freedom):
            return False
    return bool(fitted.angles.max() < (_LABELS_ROUGH if campaign.noise.labels else _ROUGH))


def _blames_tails(campaign: Campaign, fitted: Fitted, variance: float) -> bool:
    """Tell whether rare large errors explain a misfit that many answers confirm; then take their variance."""
    n = len(fitted.residuals)
    if n < _MANY_PER_UNKNOWN * len(fitted.information) or excess_kurtosis(fitted.residuals) < _TAILED:
        return False
    campaign.variance = campaign.first_guess = Variance(variance, float(n - len(fitted.information)))
    return True


def _spread(campaign: Campaign, lesson: Lesson) -> float:
    """Return the spread of a typical unit's arguments over random inputs."""
    return campaign.radius * float(np.median(np.linalg.norm(lesson.fitted.theta.A, axis=1)))


def _take(campaign: Campaign, lesson: Lesson) -> None:
    campaign.fitted, campaign.gap, campaign.used = lesson.fitted, lesson.gap, list(campaign.near)
    campaign.stray, campaign.wider = [], None
    campaign.ledger.n_units = len(lesson.fitted.theta.u)
    campaign.fit()
    campaign.thin_out()
