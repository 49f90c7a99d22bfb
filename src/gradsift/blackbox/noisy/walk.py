"""From a noisy or rounded black box to its network: scale, student, test for another unit, levers, verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...activations import get_activation
from ...checking import Floats, as_generator, at_least
from ...errors import BudgetSpent
from ...oracle import Oracle
from ..answers import Floor, choose_path
from ..asking import Ledger
from ..result import Identification, Progress
from .agreement import look_for_another_by_labels
from .campaign import Campaign
from .far_circles import ENOUGH, look_for_another, weight_in_question
from .informative import informative_points
from .learning import draw, learn
from .local_fit import fit_jointly
from .noise import Variance, relative_spread
from .outlook import by_levers, outlook
from .scale import SPREAD, find_scale
from .sharpening import LABELS_MOST, UNEVEN_WIDENING, calibrate_cones, pull_levers, sharpen
from .steps import find_by_steps

__all__ = ["identify_imperfect"]

_MOST_RELEARNED = (4, 8)  # additive noise, and labels: these show units one by one
_MOST_SHARPENED = 3  # labels: with a look for another unit each time
_ARGUMENTS = 3.5  # spread of a typical unit's arguments that the student's inputs aim at
_DOUBT = 0.02  # level at which residuals make the noise worth measuring
_SURE = 0.15  # radians: known units this sure leave room on a circle for another one to show
_FARTHER = 1.5  # radius over the last one, after a far circle showed a unit that random inputs did not
_BEYOND_DOUBT = 6.0  # standard errors
_SHOWS = 0.65  # of the smallest weight: what the test for another unit is to see
_PER_UNKNOWN = 2  # answers beside those that gave a start


def identify_imperfect(
    oracle: Oracle,
    activation: str = "tanh",
    rng: Any = None,
    *,
    accuracy: float | None = None,
    floor: Floor | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Identification:
    """Find all units of a sum of sigmoids whose values come rounded or with noise.

    Parameters
    ----------
    oracle : Oracle
        With one output; its ``max_queries`` is respected: what is known by then is returned, uncertified.
    activation : {"tanh", "logistic", "erf"}
    rng : None, int or Generator
    accuracy : float, optional
        Direction error wanted (the distance of unit vectors); the campaign ends once all cones are narrower. By default
        0.1 for noise, and for rounded answers as far as the grid allows.
    floor : Floor, optional
        As found by :func:`choose_path`; found now if it is not given.

    Raises
    ------
    NotIdentifiable
        The answers look constant, or no number of units explains them.
    BudgetSpent
        Before there were any units.
    """
    if accuracy is not None:
        at_least("accuracy", accuracy, 0, strict=True)
    rng = as_generator(rng)
    before = oracle.n_answered
    floor = choose_path(oracle, rng) if floor is None else floor
    ledger = Ledger(oracle, None, progress, floor.step)
    campaign = Campaign(ledger, get_activation(activation).name, floor, accuracy, rng)
    try:
        _run(campaign)
    except BudgetSpent as spent:
        if campaign.fitted is None:
            raise
        needed = by_levers(campaign.fitted, campaign.cones, campaign.accuracy, campaign.variance.sd)
        campaign.shortage = outlook(str(spent), needed, campaign.accuracy)
    return campaign.result(oracle.n_answered - before)


def _run(campaign: Campaign) -> None:
    if _read_steps(campaign):
        _sharpened(campaign)
    elif _ask_student(campaign) and campaign.noise.labels:
        return  # which were looked at in every way already
    if campaign.refuted(_DOUBT) and campaign.floor.kind == "noisy":
        campaign.measure_noise()
        campaign.fit()
    if campaign.take_in():
        sharpen(campaign, campaign.accuracy)
    campaign.thin_out()
    campaign.wider = campaign.with_another()
    if campaign.asked_for is None and campaign.floor.kind in ("rounded", "float32") and not campaign.read:
        _measure_parameters(campaign)
    if campaign.floor.kind == "noisy":
        _allow_for_uneven_noise(campaign)


def _allow_for_uneven_noise(campaign: Campaign) -> None:
    """Weigh each answer by a variance function where one size of noise does not do; the last step, for rows as used."""
    if _spread(campaign) is None:
        return
    sharpen(campaign, campaign.accuracy / UNEVEN_WIDENING)
    relative = _spread(campaign)
    campaign.relative = 1.0 if relative is None else relative
    X, y = campaign.ledger.X[campaign.used], campaign.ledger.y[campaign.used]
    campaign.fitted = fit_jointly(campaign.known().theta, X, y, campaign.uneven_noise, campaign.g)
    calibrate_cones(campaign)


def _spread(campaign: Campaign) -> Floats | None:
    residuals = campaign.known().residuals
    return relative_spread(residuals, campaign.ledger.y[campaign.used] - residuals)


def _read_steps(campaign: Campaign) -> bool:
    """Start from units read off a circle, where rounding is fine enough for that; False if they fall short."""
    start = find_by_steps(campaign.ledger, campaign.link, campaign.floor, campaign.rng) if campaign.floor.step else None
    if start is None:
        return False
    campaign.radius = _ARGUMENTS / float(np.median(np.linalg.norm(start.A, axis=1)))
    n = _PER_UNKNOWN * (start.A.size + 2 * len(start.u) + 1)
    points = informative_points(start, campaign.radius, n, campaign.g, campaign.rng)
    first = len(campaign.ledger.X)
    answers = campaign.ledger.ask(points, "parameters")
    campaign.fitted = fit_jointly(start, points, answers, campaign.noise, campaign.g)
    campaign.used = list(range(first, first + n))
    campaign.ledger.n_units = len(start.u)
    if campaign.floor.kind == "float32":
        _allow_for_arithmetic(campaign)
    if campaign.refuted():
        return False
    campaign.thin_out()
    _test(campaign)
    campaign.read = campaign.test is not None and not campaign.test.alarm
    return campaign.read


def _allow_for_arithmetic(campaign: Campaign) -> None:
    """Take the noise from residuals as far as sums in single precision explain them."""
    fitted = campaign.known()
    theta = fitted.theta
    X = campaign.ledger.X[campaign.used]
    active = np.abs(theta.u) * campaign.g.derivative(X @ theta.A.T + theta.b)
    terms = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(theta.A, axis=1) + np.abs(theta.b)
    explained = 2.0**-24 * (4 * campaign.ledger.largest + (active * terms).sum(axis=1))
    freedom = len(X) - len(fitted.information)
    observed = float((fitted.residuals**2).sum()) / freedom
    value = min(max(campaign.variance.value, observed), float(np.mean(explained**2)))
    campaign.variance = campaign.first_guess = Variance(max(value, campaign.variance.value), np.inf)
    campaign.fit()


def _ask_student(campaign: Campaign) -> bool:
    """Start from a student of random inputs, and look for units that it missed; tell whether no test found any."""
    first = len(campaign.ledger.X)
    scale = find_scale(campaign.ledger, campaign.noise, campaign.rng)
    even = scale.even
    campaign.variance = campaign.variance.pooled(2 * float(((even - even.mean()) ** 2).sum()), len(even) - 1)
    campaign.radius, campaign.signal = scale.radius, scale.signal
    campaign.typical_slope = SPREAD / scale.radius
    campaign.near = list(range(first + 2 * len(even), len(campaign.ledger.X)))
    campaign.first_guess = campaign.variance
    widened = False
    for _ in range(_MOST_RELEARNED[campaign.noise.labels]):
        if not widened:
            learn(campaign)
        if _stands_up(campaign):
            return True
        widened = campaign.noise.labels and campaign.widen()  # learning would drop the levers
        if not widened:
            campaign.n_spare += 2
            campaign.variance = campaign.first_guess
            draw(campaign, max(2 * campaign.ledger.n_features, len(campaign.near) // 4))
    sharpen(campaign, campaign.accuracy)
    return False


def _stands_up(campaign: Campaign) -> bool:
    """Improve what the student said, and tell whether no test speaks against it."""
    if campaign.noise.labels and not _test(campaign, shows=1.0):  # where units agree signs are sure without levers
        return False
    n_units = len(campaign.known().theta.u)
    most = LABELS_MOST.rough * len(campaign.near) if campaign.noise.labels else np.inf
    if not pull_levers(campaign, _SURE, most):
        return False
    campaign.thin_out()
    campaign.wider = campaign.with_another()
    if campaign.wider is not None:
        return False
    tested = campaign.noise.labels and len(campaign.known().theta.u) == n_units
    return (tested or _test(campaign)) and _sharpened(campaign)


def _sharpened(campaign: Campaign) -> bool:
    """Reach the accuracy, and tell whether a test of surer units still shows no other one."""
    if campaign.noise.labels:
        return _sharpened_by_labels(campaign)
    sharpen(campaign, campaign.accuracy)
    campaign.thin_out()
    shown = campaign.test is not None and campaign.test.level <= ENOUGH * weight_in_question(campaign.known().theta.u)
    return shown or _test(campaign, 0.3)  # now that known units are surer


def _sharpened_by_labels(campaign: Campaign) -> bool:
    """The same for labels, which never refute a fit, so that many levers could be wasted on a wrong one."""
    for _ in range(_MOST_SHARPENED):
        sharpen(campaign, campaign.accuracy)
        campaign.thin_out()
        if campaign.with_another() is not None:  # wrong itself, among many levers of wrong units: learn anew
            campaign.least = len(campaign.known().theta.u) + 1
            return False
        if float(campaign.cones.max()) <= campaign.accuracy:
            break
    return _test(campaign)  # a merged pair hides while units are rough


def _test(campaign: Campaign, share: float = 0.12, shows: float = _SHOWS) -> bool:
    """Look for another unit with at most this share of the queries (labels: half); tell whether there is none."""
    fitted = campaign.settled()
    level = shows * weight_in_question(fitted.theta.u)
    most = max(24, int((0.5 if campaign.noise.labels else share) * campaign.ledger.n_queries))
    if campaign.noise.labels:
        campaign.test = look_for_another_by_labels(
            fitted, campaign.ledger, campaign.radius, level, most, campaign.g, campaign.rng
        )
    else:
        # On plateaus rounding is no noise: it is the same at every point of an arc.
        noise = replace(campaign.noise, sd=max(campaign.noise.sd, campaign.floor.grid))
        campaign.test = look_for_another(
            fitted, campaign.ledger, noise, campaign.radius, level, most, campaign.g, campaign.rng
        )
    # Later alarms may be errors of what is known, but labels show units one by one.
    if campaign.test.statistic > _BEYOND_DOUBT and (campaign.noise.labels or campaign.least == 0):
        campaign.least = len(fitted.theta.u) + 1
    if campaign.test.alarm:
        campaign.radius *= _FARTHER
    return not campaign.test.alarm


def _measure_parameters(campaign: Campaign) -> None:
    """Ask where slopes, weights and offsets show best, as often as there are unknowns."""
    fitted = campaign.known()
    points = informative_points(fitted.theta, campaign.radius, len(fitted.information), campaign.g, campaign.rng)
    first = len(campaign.ledger.X)
    campaign.ledger.ask(points, "parameters")
    campaign.used.extend(range(first, first + len(points)))
    campaign.fit()
