"""From a noisy or rounded black box to its network: scale, student, test for another unit, levers, verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...activations import get_activation
from ...checking import Floats, as_generator, at_least
from ...errors import BudgetSpent, NotIdentifiable
from ...oracle import Oracle
from ..ledger import Ledger
from ..links import LINKS
from ..result import Identification, Progress
from .circles import ENOUGH, CircleTest, look_for_another, weight_in_question
from .cones import LEVELS, Widening, calibrate, cones
from .design import informative_points
from .escape import mend
from .fit import Fitted, Noise, fit_jointly, predict
from .floor import Floor, choose_path
from .levers import LONGEST, lever_points, lever_sets, surprise
from .noise import Variance, excess_kurtosis
from .outlook import by_levers, outlook
from .scale import SPREAD, find_scale
from .steps import find_by_steps
from .student import Lesson, study
from .thinning import leaves_room, richer, simpler
from .verdict import Evidence, judge, result

__all__ = ["identify_imperfect"]

_GROWTH = 1.35
_MOST_ROUNDS = 200
_SPARE = 8  # units of the first student
_ROWS_PER_SPARE = 1.9  # answers per unknown of the student
_CLEAR_GAP = 10.0  # of BIC
_ROUGH = 0.35  # radians: directions known better than this can be improved by levers
_LABELS_ROUGH = 0.2  # answers of which none can surprise need a better start
_MOST_RELEARNED = 4
_PER_FEATURE = (60, 75)  # first answers, over the noise's share of the variance: additive noise, and labels
_LEAST_PER_UNKNOWN = 2.2  # answers
_ARGUMENTS = 3.5  # spread of a typical unit's arguments that the student's inputs aim at
_PLAUSIBLE = 4.0  # mean square of residuals over the noise: slopes of worse fits say nothing about the scale
_MOST_PER_UNKNOWN = 25.0  # answers to random inputs, before giving up
_MANY_PER_UNKNOWN = 4.0
_TAILED = 3.0  # excess kurtosis
_DOUBTFUL = 1.3  # residual variance over the first guess of the noise, from which that guess is worth improving
_REPEATED = 20
_NARROW = 1.2  # spread of arguments below which units can hide behind each other
_REFUTED = 4.0  # mean square of the first lever answers over what the student foretold
_IMPOSSIBLE = 6.0  # standard deviations of the noise
_DOUBT = 0.02  # level at which residuals make the noise worth measuring
_MOST_STRAY = 0.05  # share of the answers
_SURE = 0.15  # radians: known units this sure leave room on a circle for another one to show
_FARTHER = 1.5  # radius over the last one, after a far circle showed a unit that random inputs did not
_BEYOND_DOUBT = 6.0  # standard errors
_SHOWS = 0.65  # of the smallest weight: what the test for another unit is to see
_MOST_CALIBRATIONS = 6
_LINEAR = 1e-2  # radians: with noise known, cones this narrow need no calibration
_PER_UNKNOWN = 2  # answers beside those that gave a start
_LABELS_WIDENING = Widening(1.4, 1.5)
_LEAST_WIDENING = Widening(1.3, 1.3)  # measured: stopping when cones look narrow favours those that are too narrow


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
    campaign = _Campaign(ledger, get_activation(activation).name, floor, accuracy, rng)
    try:
        campaign.run()
    except BudgetSpent as spent:
        if campaign.fitted is None:
            raise
        needed = by_levers(campaign.fitted, campaign.cones, campaign.accuracy, campaign.variance.sd)
        campaign.shortage = outlook(str(spent), needed, campaign.accuracy)
    return campaign.result(oracle.n_answered - before)


class _Campaign:
    """One identification while it runs."""

    def __init__(
        self, ledger: Ledger, activation: str, floor: Floor, accuracy: float | None, rng: np.random.Generator
    ) -> None:
        if activation not in LINKS:
            raise ValueError(f"activation must be one of {', '.join(LINKS)} for imperfect answers, got {activation!r}.")
        self.ledger, self.link, self.floor, self.rng = ledger, LINKS[activation], floor, rng
        self.g = self.link.odd
        self.accuracy = accuracy if accuracy is not None else (0.1 if floor.kind in ("noisy", "labels") else np.inf)
        self.asked_for = accuracy
        known = floor.kind != "noisy"
        self.variance = self.first_guess = Variance(max(floor.sd, 1e-300) ** 2, np.inf if known else 7.0)
        self.near: list[int] = []  # numbers of the ledger's rows that were drawn for the student
        self.used: list[int] = []  # and of those that are fitted
        self.fitted: Fitted | None = None
        self.gap = 0.0
        self.typical_slope: float | None = None
        self.test: CircleTest | None = None
        self.shortage = ""
        self.rounds = 0
        self.widening = Widening(1.5, 1.5)  # of the cones, before it is calibrated
        self.lacking = False
        self.least = 0  # units that far circles have shown
        self.stray: list[int] = []  # numbers of rows that were set aside
        self.read = False  # units come from steps on a circle

    @property
    def noise(self) -> Noise:
        if self.floor.kind == "labels":
            return Noise(1.0, labels=True, typical_slope=self.typical_slope)
        return Noise(self.variance.sd)

    def run(self) -> None:
        if self._read_steps():
            self._sharpened()
        else:
            self._ask_student()
        if self._refuted(_DOUBT) and self.floor.kind == "noisy":
            self._measure_noise()
            self._fit()
        self._thin_out()
        self.lacking = self._lacks_unit()
        if self.asked_for is None and self.floor.kind in ("rounded", "float32") and not self.read:
            self._measure_parameters()

    # Steps

    def _read_steps(self) -> bool:
        """Start from units read off a circle, where rounding is fine enough for that; False if they fall short."""
        start = find_by_steps(self.ledger, self.link, self.floor, self.rng) if self.floor.step else None
        if start is None:
            return False
        self.radius = _ARGUMENTS / float(np.median(np.linalg.norm(start.A, axis=1)))
        n = _PER_UNKNOWN * (start.A.size + 2 * len(start.u) + 1)
        points = informative_points(start, self.radius, n, self.g, self.rng)
        first = len(self.ledger.X)
        answers = self.ledger.ask(points, "parameters")
        self.fitted = fit_jointly(start, points, answers, self.noise, self.g)
        self.used = list(range(first, first + n))
        self.ledger.n_units = len(start.u)
        if self.floor.kind == "float32":
            self._allow_for_arithmetic()
        if self._refuted():
            return False
        self._thin_out()
        self._test()
        self.read = self.test is not None and not self.test.alarm
        return self.read

    def _allow_for_arithmetic(self) -> None:
        """Take the noise from residuals as far as sums in single precision explain them."""
        fitted = self._known()
        theta = fitted.theta
        X = self.ledger.X[self.used]
        active = np.abs(theta.u) * self.g.derivative(X @ theta.A.T + theta.b)
        terms = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(theta.A, axis=1) + np.abs(theta.b)
        explained = 2.0**-24 * (4 * self.ledger.largest + (active * terms).sum(axis=1))
        freedom = len(X) - len(fitted.information)
        observed = float((fitted.residuals**2).sum()) / freedom
        value = min(max(self.variance.value, observed), float(np.mean(explained**2)))
        self.variance = self.first_guess = Variance(max(value, self.variance.value), np.inf)
        self._fit()

    def _ask_student(self) -> None:
        """Start from a student of random inputs, and look for units that it missed."""
        first = len(self.ledger.X)
        scale = find_scale(self.ledger, self.noise, self.rng)
        even = scale.even
        self.variance = self.variance.pooled(2 * float(((even - even.mean()) ** 2).sum()), len(even) - 1)
        self.radius, self.signal = scale.radius, scale.signal
        self.typical_slope = SPREAD / scale.radius
        self.near = list(range(first + 2 * len(even), len(self.ledger.X)))
        self.n_spare = _SPARE
        self.first_guess = self.variance
        for _ in range(_MOST_RELEARNED):
            self._learn()
            if self._stands_up():
                break
            self.n_spare += 2
            self.variance = self.first_guess
            self._draw(max(2 * self.ledger.n_features, len(self.near) // 4))
        else:
            self._sharpen(self.accuracy)

    def _stands_up(self) -> bool:
        """Improve what the student said, and tell whether no test speaks against it."""
        if not self._pull_levers(_SURE):
            return False
        self._thin_out()
        return not self._lacks_unit() and self._test() and self._sharpened()

    def _sharpened(self) -> bool:
        """Reach the accuracy, and tell whether a test of surer units still shows no other one."""
        self._sharpen(self.accuracy)
        self._thin_out()
        shown = self.test is not None and self.test.level <= ENOUGH * weight_in_question(self._known().theta.u)
        return shown or self._test(0.3)  # now that known units are surer

    # Student

    def _draw(self, n: int) -> None:
        rows = self.radius * self.rng.standard_normal((n, self.ledger.n_features))
        first = len(self.ledger.X)
        self.ledger.ask(rows, "student")
        self.near.extend(range(first, first + n))

    def _learn(self) -> None:
        """Draw random inputs until a student explains them."""
        d = self.ledger.n_features
        wanted = max(7 * (d + 2), int(_PER_FEATURE[self.noise.labels] * d * (self.variance.sd / self.signal) ** 2))
        most = _MOST_PER_UNKNOWN * (self.n_spare + 4) * (d + 2) * max(1.0, (2 * self.variance.sd / self.signal) ** 2)
        in_vain = 0
        while wanted < most:
            if len(self.near) < wanted:
                self._draw(wanted - len(self.near))
            lesson = self._lesson()
            in_vain = in_vain + 1 if lesson.gap < 0 else 0
            if in_vain == 3:
                raise NotIdentifiable(
                    f"A constant explains {len(self.near)} answers to random inputs as well as any units would: the "
                    "function looks constant under this noise."
                )
            if self._accepts(lesson):
                self._take(lesson)
                return
            if 2 * lesson.fitted.loss < _PLAUSIBLE * len(self.near):
                self.radius *= float(np.clip(np.sqrt(_ARGUMENTS / self._spread(lesson)), 0.6, 1.8))
            wanted = int(np.ceil(_GROWTH * len(self.near)))
        raise NotIdentifiable(
            f"No number of units up to {self.n_spare} explains {len(self.near)} answers to random inputs: the function "
            "is no sum of such sigmoids, or the noise is not what its repeats show."
        )

    def _lesson(self) -> Lesson:
        X, y = self.ledger.X[self.near], self.ledger.y[self.near]
        most = int(len(y) / (_ROWS_PER_SPARE * (X.shape[1] + 2)))
        while True:
            n_spare = max(3, min(self.n_spare, most))
            lesson = study(X, y, self.noise, self.g, n_spare, self.radius, self.rng, self.least)
            if not lesson.saturated or self.n_spare >= most:
                return lesson
            self.n_spare += 4

    def _accepts(self, lesson: Lesson) -> bool:
        fitted = lesson.fitted
        n, n_unknowns = len(fitted.residuals), len(fitted.information)
        if lesson.saturated or lesson.gap < _CLEAR_GAP or n < _LEAST_PER_UNKNOWN * n_unknowns:
            return False
        if self._spread(lesson) < _NARROW:
            return False
        freedom = n - n_unknowns
        squares = float((fitted.residuals**2).sum())
        if not self.noise.labels:
            if squares / freedom > _DOUBTFUL * self.variance.value:
                self._measure_noise()
            if self.variance.too_small(squares, freedom) and not self._blames_tails(fitted, squares / freedom):
                return False
        return bool(_rms_angles(fitted).max() < (_LABELS_ROUGH if self.noise.labels else _ROUGH))

    def _blames_tails(self, fitted: Fitted, variance: float) -> bool:
        """Tell whether rare large errors explain a misfit that many answers confirm; then take their variance."""
        n = len(fitted.residuals)
        if n < _MANY_PER_UNKNOWN * len(fitted.information) or excess_kurtosis(fitted.residuals) < _TAILED:
            return False
        self.variance = self.first_guess = Variance(variance, float(n - len(fitted.information)))
        return True

    def _measure_noise(self) -> None:
        """Repeat some random inputs, once in a campaign: a misfit is to be told from noise."""
        if self.first_guess.freedom > 2 * _REPEATED:
            return
        rows = self.rng.choice(self.near, _REPEATED, replace=False)
        first = len(self.ledger.X)
        gaps = self.ledger.ask(self.ledger.X[rows], "noise") - self.ledger.y[rows]
        self.near.extend(range(first, first + _REPEATED))
        self.variance = self.first_guess = self.first_guess.pooled(0.5 * float((gaps**2).sum()), _REPEATED)

    def _spread(self, lesson: Lesson) -> float:
        """Return the spread of a typical unit's arguments over random inputs."""
        return self.radius * float(np.median(np.linalg.norm(lesson.fitted.theta.A, axis=1)))

    def _take(self, lesson: Lesson) -> None:
        self.fitted, self.gap, self.used = lesson.fitted, lesson.gap, list(self.near)
        self.stray = []
        self.ledger.n_units = len(lesson.fitted.theta.u)
        self._fit()
        self._thin_out()

    def _fit(self) -> None:
        """Fit all rows in use; then take the noise from the residuals and fit once more."""
        self.fitted = self._fit_rows(self._known())
        if not self.noise.labels and self._set_aside(self.fitted):
            self.fitted = self._fit_rows(self.fitted)

    def _fit_rows(self, fitted: Fitted) -> Fitted:
        X, y = self.ledger.X[self.used], self.ledger.y[self.used]
        fitted = fit_jointly(fitted.theta, X, y, self.noise, self.g)
        if self.floor.kind == "noisy":
            freedom = len(y) - len(fitted.information)
            self.variance = Variance(self.floor.sd**2, 7.0).pooled(float((fitted.residuals**2).sum()), freedom)
            fitted = fit_jointly(fitted.theta, X, y, self.noise, self.g)
        return mend(fitted, X, y, self.noise, self.g)

    def _thin_out(self) -> None:
        """Drop units that all replies together do not need."""
        X, y = self.ledger.X[self.used], self.ledger.y[self.used]
        while len(self._known().theta.u) > self.least and (smaller := simpler(self._known(), X, y, self.noise, self.g)):
            self.fitted = smaller
            self.ledger.n_units = len(smaller.theta.u)
            self._fit()

    def _lacks_unit(self) -> bool:
        """Tell whether one more unit, for instance half of a merged pair, explains the replies better.

        With the noise of the repeats: that of the residuals would hide what is missing.
        """
        fitted, X, y = self._known(), self.ledger.X[self.used], self.ledger.y[self.used]
        if self.read and not leaves_room(fitted):
            return False
        noise = replace(self.noise, sd=min(self.first_guess.sd, self.variance.sd))
        again = fit_jointly(fitted.theta, X, y, noise, self.g)
        return richer(again, X, y, noise, self.g, self.rng) is not None

    # Another unit?

    def _test(self, share: float = 0.12) -> bool:
        """Look for another unit with at most this share of the queries (labels: half); tell whether there is none."""
        fitted = self._known()
        level = _SHOWS * weight_in_question(fitted.theta.u)
        most = max(24, int((0.5 if self.noise.labels else share) * self.ledger.n_queries))
        # On plateaus rounding is no noise: it is the same at every point of an arc.
        noise = replace(self.noise, sd=max(self.noise.sd, self.floor.grid))
        self.test = look_for_another(fitted, self.ledger, noise, self.radius, level, most, self.g, self.rng)
        if self.test.statistic > _BEYOND_DOUBT and self.least == 0:  # later ones may be errors of what is known
            self.least = len(fitted.theta.u) + 1
        if self.test.alarm:
            self.radius *= _FARTHER
        return not self.test.alarm

    # Levers

    def _sharpen(self, accuracy: float) -> None:
        """Pull levers until the calibrated cones are narrow enough."""
        for _ in range(_MOST_CALIBRATIONS):
            sound = self._pull_levers(accuracy / self.widening.stop)
            self._calibrate()
            if not sound or float(self.cones.max()) <= accuracy:
                return

    def _calibrate(self) -> None:
        fitted = self._known()
        if self.read and float(cones(fitted).max()) < _LINEAR:
            self.widening = _LEAST_WIDENING
            return
        n_draws = 16 if len(fitted.information) < 200 else 8
        found = calibrate(fitted, self.ledger.X[self.used], self.noise, self.g, self.rng, n_draws)
        self.widening = Widening(*(max(least, factor) for least, factor in zip(self._least_widening, found)))

    @property
    def _least_widening(self) -> Widening:
        return _LABELS_WIDENING if self.noise.labels else _LEAST_WIDENING

    @property
    def cones(self) -> Floats:
        """(k,) calibrated cones of 99%."""
        return np.asarray(self.widening.stop * cones(self._known()))

    def _pull_levers(self, accuracy: float) -> bool:
        """Lever rounds until the linear cones are narrower than `accuracy`; False if the student was refuted."""
        length = LONGEST
        for _ in range(_MOST_ROUNDS):
            fitted = self._known()
            wide = np.flatnonzero(cones(fitted) > accuracy)
            if len(wide) == 0 or self.ledger.n_features < 2:
                return True
            points = self._levers(fitted, wide, length)
            first = len(self.ledger.X)
            squares = surprise(fitted, points, self.ledger.ask(points, "levers"), self.noise, self.g)
            self.rounds += 1
            amazed = float(np.mean(np.minimum(squares, _IMPOSSIBLE**2)))
            if amazed > _REFUTED and len(self.used) + len(self.stray) == len(self.near):
                return False
            self.used.extend(range(first, first + len(points)))
            length = max(0.5 * length, 0.1) if amazed > 2.5 else min(1.3 * length, LONGEST)
            self._fit()
            if self._refuted():
                return False
        return len(wide) == 0

    def _set_aside(self, fitted: Fitted) -> bool:
        """Set answers aside that are isolated and impossible, and take those back that have become possible."""
        X, y = self.ledger.X[self.stray], self.ledger.y[self.stray]
        off = np.abs(y - predict(fitted.theta, X, self.g)) > _IMPOSSIBLE * self.noise.sd
        back = [row for row, still in zip(self.stray, off) if not still]
        out = [self.used[i] for i in np.flatnonzero(np.abs(fitted.residuals) > _IMPOSSIBLE * self.noise.sd)]
        if len(out) > _MOST_STRAY * len(self.used):
            out = []  # not isolated: it is the fit that is wrong
        self.stray = [row for row in self.stray if row not in back] + out
        self.used = sorted({*self.used, *back} - {*out})
        return bool(back or out)

    def _refuted(self, level: float = 1e-3) -> bool:
        """Tell whether the residuals have outgrown the noise of the repeats."""
        fitted = self._known()
        freedom = len(self.used) - len(fitted.information)
        return not self.noise.labels and self.first_guess.too_small(float((fitted.residuals**2).sum()), freedom, level)

    def _levers(self, fitted: Fitted, units: NDArray[np.intp], length: float) -> Floats:
        """Return lever points of some units, or random inputs where no lever is free of other units."""
        points = [
            lever_points(fitted, int(unit), length, self.rng)
            for unit in units
            for _ in range(lever_sets(fitted, int(unit), self.variance.sd))
        ]
        if any(len(part) for part in points):
            return np.concatenate(points)
        d = self.ledger.n_features
        return np.asarray(self.radius * self.rng.standard_normal((2 * d, d)))

    def _known(self) -> Fitted:
        if self.fitted is None:
            raise NotIdentifiable("No number of units explains the answers.")
        return self.fitted

    def _measure_parameters(self) -> None:
        """Ask where slopes, weights and offsets show best, as often as there are unknowns."""
        fitted = self._known()
        points = informative_points(fitted.theta, self.radius, len(fitted.information), self.g, self.rng)
        first = len(self.ledger.X)
        self.ledger.ask(points, "parameters")
        self.used.extend(range(first, first + len(points)))
        self._fit()

    # Result

    def result(self, n_queries: int) -> Identification:
        """Return what is known."""
        fitted = self._known()
        misfit = 1.0 if self.noise.labels else float(np.mean(fitted.residuals**2) / self.variance.value)
        if self.floor.kind == "noisy" and self._refuted():
            misfit = max(misfit, self.variance.value / self.first_guess.value)
        evidence = Evidence(
            self.floor,
            self.variance,
            self.gap,
            self.test,
            self.asked_for,
            self.shortage,
            misfit,
            lacking=self.lacking,
            n_stray=len(self.stray),
        )
        X, y = self.ledger.X[self.used], self.ledger.y[self.used]
        studentised = fitted.studentised(X, self.noise, self.g)
        judgement = judge(fitted, self.cones, evidence, y - fitted.residuals, studentised)
        facts = {
            "rounds": self.rounds,
            "widening": self.widening.report,
            "bounds_hold": LEVELS[1],
            "spent": dict(self.ledger.spent),
        }
        bounds = self.widening.report * cones(fitted, LEVELS[1])
        return result(fitted, bounds, self.link, judgement, n_queries, evidence, facts)


def _rms_angles(fitted: Fitted) -> Floats:
    return np.array([np.sqrt(np.trace(fitted.tangent(unit))) for unit in range(len(fitted.theta.u))])
