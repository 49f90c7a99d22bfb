"""Imperfect answers inside a box: the student grows until it is sure, then the most telling inputs sharpen it."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from ...checking import Floats
from ...errors import NotIdentifiable
from ..answers import Floor
from ..links import Link
from ..noisy.bias import Replies, debiased
from ..noisy.cones import LEVELS, Widening, calibrate, cones
from ..noisy.levers import surprise
from ..noisy.local_fit import Fitted, Noise, fit_jointly
from ..noisy.noise import Variance
from ..noisy.outlook import by_averaging, outlook
from ..noisy.student import Lesson, study
from ..noisy.thinning import richer, simpler
from ..noisy.verdict import Evidence, judge, result
from ..result import Identification
from .box import Box
from .telling import telling_points

__all__ = ["NoisyBox"]

_SPARE = 8
_FIRST = 24  # random inputs, asked twice where answers are noisy
_GROWTH = 1.25
_CLEAR_GAP = 10.0
_LEAST_PER_UNKNOWN = 2.2
_ROUGH = 0.35
_REFUTED = 0.02  # probability that noise leaves residuals as large
_MOST_RELEARNED = 3
_MOST_ROUNDS = 60
_ALIKE, _MOST_DOUBLINGS = 10, 4  # rounds of one size, and how often it then doubles
_FRESH = 4  # random answers per input, to confirm what was found
_MOST_ANSWERS = 200_000
_LEAST_WIDENING = Widening(1.3, 1.3)  # of the cones, as outside a box


class NoisyBox:
    """One identification while it runs, in the box's coordinates."""

    def __init__(self, box: Box, link: Link, floor: Floor, accuracy: float | None, rng: np.random.Generator) -> None:
        self.box, self.link, self.floor, self.asked_for, self.rng = box, link, floor, accuracy, rng
        self.g = link.odd
        self.accuracy = 0.1 if accuracy is None else accuracy
        self.variance = self.repeated = Variance(max(floor.sd, 1e-300) ** 2, 7.0 if floor.kind == "noisy" else np.inf)
        self.fitted: Fitted | None = None
        self.gap, self.widening, self.shortage = 0.0, _LEAST_WIDENING, ""
        self.n_spare = _SPARE

    @property
    def noise(self) -> Noise:
        return Noise(self.variance.sd, self.floor.kind == "labels")

    @property
    def _least_noise(self) -> Noise:
        """That of the repeats, or of the residuals where it is less: what is missing enlarges residuals."""
        return Noise(min(self.repeated.sd, self.variance.sd), self.noise.labels)

    def run(self) -> None:
        """Learn, then sharpen; again from more answers where residuals refute what was learned."""
        signal = self._look_first()
        for _ in range(_MOST_RELEARNED):
            self._learn(signal)
            self._sharpen()
            if not self._misfits(_REFUTED):
                return
            self.variance = self.repeated

    def _sharpen(self) -> None:
        for n_done in range(_MOST_ROUNDS):
            self._thin_out()
            if float(self._cones().max()) <= self.accuracy:
                found = calibrate(self._known(), self.box.inside, self.noise, self.g, self.rng, 12)
                self.widening = Widening(*np.maximum(_LEAST_WIDENING, found).tolist())
                if float(self._cones().max()) <= self.accuracy:
                    foretold = self._foretells()
                    if not self._lacks_unit() and (foretold or self._misfits(_REFUTED)):
                        return
            n = max(len(self._known().information) // 3, len(self.box.half)) * 2 ** min(
                n_done // _ALIKE, _MOST_DOUBLINGS
            )
            self.box.ask(telling_points(self._known(), n, 1.0, self.noise, self.g, self.rng), "design")
            self._fit()
        if self._n_more():
            self.shortage = self.outlook(f"{_MOST_ROUNDS} rounds of the most telling inputs were not enough")

    def _foretells(self) -> bool:
        """Tell whether fresh random answers are as foretold; either way they join the others.

        Most answers were asked where the known units show best, which is where a merged pair hides best.
        """
        fitted, n = self._known(), _FRESH * (len(self.box.half) + 2)
        points = self.box.draw(n, 1.0, self.rng)
        squares = surprise(fitted, points, self.box.ask(points, "fresh"), self._least_noise, self.g)
        self._fit()
        return bool(squares.sum() < chi2.isf(_REFUTED, n))

    def _look_first(self) -> float:
        """Return the spread of the answers; where they are noisy the first ones are asked twice."""
        first = self.box.draw(_FIRST, 1.0, self.rng)
        answers = self.box.ask(first, "student")
        if self.floor.kind == "noisy":  # residuals are judged by it: a misfit is to be told from noise
            gaps = self.box.ask(first, "noise") - answers
            self.variance = self.repeated = self.repeated.pooled(0.5 * float((gaps**2).sum()), _FIRST)
        return float(np.std(answers))

    def _learn(self, signal: float) -> None:
        d = len(self.box.half)
        wanted = max(7 * (d + 2), int(60 * d * min(1.0, self.variance.sd / max(signal, 1e-300)) ** 2))
        if self.fitted is not None:
            wanted = max(wanted, int(np.ceil(_GROWTH * len(self.box.answers))))
        in_vain = 0
        while wanted < _MOST_ANSWERS:
            self.box.ask(self.box.draw(max(0, wanted - len(self.box.answers)), 1.0, self.rng), "student")
            lesson = study(
                self.box.inside, self.box.answers, self.noise, self.g, self.n_spare, 1 / np.sqrt(3.0), self.rng
            )
            in_vain = in_vain + 1 if lesson.gap < 0 else 0
            if in_vain == 3:
                raise NotIdentifiable(
                    f"A constant explains {len(self.box.answers)} answers inside the box as well as any units would: "
                    "the function looks constant there under this noise."
                )
            if self._accepts(lesson):
                self.fitted, self.gap = lesson.fitted, lesson.gap
                self._fit()
                return
            if lesson.saturated and len(self.box.answers) > (self.n_spare + 3) * (d + 2):
                self.n_spare += 3
            wanted = int(np.ceil(_GROWTH * len(self.box.answers)))
        raise NotIdentifiable(
            f"No number of units explains {len(self.box.answers)} answers inside the box: the function is no sum of "
            "such sigmoids, the noise is too large, or the box is too small for its units to bend."
        )

    def _accepts(self, lesson: Lesson) -> bool:
        fitted = lesson.fitted
        n, n_unknowns = len(fitted.residuals), len(fitted.information)
        if lesson.saturated or lesson.gap < _CLEAR_GAP or n < _LEAST_PER_UNKNOWN * n_unknowns:
            return False
        squares = float((fitted.residuals**2).sum())
        if not self.noise.labels and self.variance.too_small(squares, n - n_unknowns):
            return False
        return all(float(np.trace(fitted.tangent(unit))) < _ROUGH**2 for unit in range(len(fitted.theta.u)))

    def _known(self) -> Fitted:
        if self.fitted is None:
            raise NotIdentifiable("No units were found inside the box.")
        return self.fitted

    def _settled(self) -> Fitted:
        """Return what is known, without its bias where noise is additive."""
        if self.floor.kind != "noisy":
            return self._known()
        replies = Replies(self.box.inside, self.box.answers, np.zeros(len(self.box.answers), dtype=bool))
        return debiased(self._known(), replies, self.noise, self.g)

    def _fit(self) -> None:
        X, y = self.box.inside, self.box.answers
        fitted = fit_jointly(self._known().theta, X, y, self.noise, self.g)
        if self.floor.kind == "noisy":
            self.variance = self.repeated.pooled(float((fitted.residuals**2).sum()), len(y) - len(fitted.information))
            fitted = fit_jointly(fitted.theta, X, y, self.noise, self.g)
        self.fitted = fitted

    def _misfits(self, level: float) -> bool:
        """Tell whether residuals are larger than the repeats explain."""
        fitted = self._known()
        freedom = len(fitted.residuals) - len(fitted.information)
        squares = float((fitted.residuals**2).sum())
        return not self.noise.labels and self.repeated.too_small(squares, freedom, level)

    def _lacks_unit(self) -> bool:
        """Take one more unit where that explains the answers better, with the noise of the repeats."""
        X, y = self.box.inside, self.box.answers
        noise = self._least_noise
        more = richer(fit_jointly(self._known().theta, X, y, noise, self.g), X, y, noise, self.g, self.rng)
        if more is None:
            return False
        self.fitted = more
        self._fit()
        return True

    def _thin_out(self) -> None:
        X, y = self.box.inside, self.box.answers
        while (smaller := simpler(self._known(), X, y, self.noise, self.g)) is not None:
            self.fitted = smaller
            self._fit()

    def outlook(self, reason: str) -> str:
        """Say why the search ended, and what the accuracy would take."""
        if self.fitted is None:
            return reason
        return outlook(reason, self._n_more(), self.accuracy)

    def _n_more(self) -> int:
        """Return how many more queries the accuracy would take."""
        return by_averaging(len(self.box.answers), self._cones(), self.accuracy)

    def _cones(self) -> Floats:
        """(k,) calibrated cones of 99%."""
        return np.asarray(self.widening.stop * cones(self._known()))

    def result(self, n_queries: int) -> Identification:
        """Return what is known, in the oracle's coordinates."""
        fitted, settled = self._known(), self._settled()
        misfit = 1.0 if self.noise.labels else float(np.mean(fitted.residuals**2) / self.variance.value)
        if self.floor.kind == "noisy" and self._misfits(_REFUTED):
            misfit = max(misfit, self.variance.value / self.repeated.value)
        evidence = Evidence(
            self.floor, self.variance, self.gap, None, self.asked_for, self.shortage, misfit, bounded=True
        )
        studentised = fitted.studentised(self.box.inside, self.noise, self.g)
        judgement = judge(settled, self._cones(), evidence, self.box.answers - fitted.residuals, studentised)
        facts = {
            "widening": self.widening.report,
            "bounds_hold": LEVELS[1],
            "spent": dict(self.box.ledger.spent),
        }
        bounds = self.widening.report * cones(fitted, LEVELS[1])
        outside = self.box.outside(settled.theta)
        return result(settled, bounds, self.link, judgement, n_queries, evidence, facts, outside)
