"""What a campaign against imperfect answers knows so far: rows, noise, the joint fit, and what speaks against it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...checking import Floats
from ...errors import NotIdentifiable
from ..answers import Floor
from ..asking import Ledger
from ..links import link_of
from ..result import Identification
from .bias import Replies, debiased
from .cones import LEVELS, Widening, cones
from .escape import mend
from .far_circles import CircleTest
from .levers import clear_of
from .local_fit import Fitted, Noise, fit_jointly, predict
from .noise import Variance
from .thinning import leaves_room, richer, simpler
from .verdict import Evidence, judge, result

__all__ = ["Campaign"]

_REPEATED = 20
_IMPOSSIBLE = 6.0  # standard deviations of the noise
_MOST_STRAY = 0.05  # share of the answers
_BEYOND_DOUBT = 4.0  # standard errors: one wrong sign far out would turn a unit
_SPARE = 8  # units of the first student


class Campaign:
    """One identification while it runs."""

    def __init__(
        self, ledger: Ledger, activation: str, floor: Floor, accuracy: float | None, rng: np.random.Generator
    ) -> None:
        self.ledger, self.link, self.floor, self.rng = ledger, link_of(activation), floor, rng
        self.g = self.link.odd
        self.accuracy = accuracy if accuracy is not None else (0.1 if floor.kind in ("noisy", "labels") else np.inf)
        self.asked_for = accuracy
        known = floor.kind != "noisy"
        self.variance = self.first_guess = Variance(max(floor.sd, 1e-300) ** 2, np.inf if known else 7.0)
        self.near: list[int] = []  # numbers of the ledger's rows that were drawn for the student
        self.used: list[int] = []  # and of those that are fitted
        self.placed: list[int] = []  # and of levers
        self.fitted: Fitted | None = None
        self.radius, self.signal = 1.0, 1.0  # of random inputs, and what the units add to the answers
        self.n_spare = _SPARE
        self.gap = 0.0
        self.typical_slope: float | None = None
        self.test: CircleTest | None = None
        self.shortage = ""
        self.rounds = 0
        self.widening = Widening(1.5, 1.5)  # of the cones, before it is calibrated
        self.wider: Fitted | None = None  # with one more unit, if the last look showed one
        self.least = 0  # units that far circles have shown, or all replies together
        self.stray: list[int] = []  # numbers of rows that were set aside
        self.read = False  # units come from steps on a circle
        self.relative: Floats | float = 1.0  # spread of the answers in use, once noise proves uneven
        self._settled: Fitted | None = None
        self._basis: tuple[object, ...] = (None, None, None)  # what `_settled` was made of

    @property
    def noise(self) -> Noise:
        if self.floor.kind == "labels":
            return Noise(1.0, labels=True, typical_slope=self.typical_slope)
        return Noise(self.variance.sd)

    @property
    def uneven_noise(self) -> Noise:
        """The noise of the rows in use, one spread for each where that was found."""
        return replace(self.noise, relative=self.relative)

    def known(self) -> Fitted:
        if self.fitted is None:
            raise NotIdentifiable("No number of units explains the answers.")
        return self.fitted

    def settled(self) -> Fitted:
        """Return what is known, without its bias where noise is additive."""
        if self.floor.kind != "noisy":
            return self.known()
        basis = (self.known(), self.variance, self.relative)  # every change of the rows in use ends with a fit
        if self._settled is None or any(now is not then for now, then in zip(basis, self._basis)):
            replies = Replies(self.ledger.X[self.used], self.ledger.y[self.used], np.isin(self.used, self.placed))
            self._settled, self._basis = debiased(self.known(), replies, self.uneven_noise, self.g), basis
        return self._settled

    def linear_cones(self, level: float = LEVELS[0]) -> Floats:
        """(k,) cones before they are widened, with the bias or without, whichever are wider."""
        return np.maximum(cones(self.known(), level), cones(self.settled(), level))

    def take_in(self) -> bool:
        """Fit noisy answers of all other steps, too, but for those that hang on a sign in doubt; tell if there are."""
        others = np.setdiff1d(np.arange(len(self.ledger.X)), [*self.used, *self.stray])
        if self.floor.kind != "noisy" or not len(others):
            return False
        fitted = self.settled()
        clear = others[clear_of(range(len(fitted.theta.u)), fitted, self.ledger.X[others], _BEYOND_DOUBT)]
        if len(clear):
            self.used = sorted([*self.used, *clear.tolist()])
            self.fit()
        return len(clear) > 0

    def fit(self) -> None:
        """Fit all rows in use; then take the noise from the residuals and fit once more."""
        self.fitted = self._fit_rows(self.known())
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

    def refuted(self, level: float = 1e-3) -> bool:
        """Tell whether the residuals have outgrown the noise of the repeats."""
        fitted = self.known()
        freedom = len(self.used) - len(fitted.information)
        return not self.noise.labels and self.first_guess.too_small(float((fitted.residuals**2).sum()), freedom, level)

    def measure_noise(self) -> None:
        """Repeat some random inputs, once in a campaign: a misfit is to be told from noise."""
        if self.first_guess.freedom > 2 * _REPEATED:
            return
        rows = self.rng.choice(self.near, _REPEATED, replace=False)
        first = len(self.ledger.X)
        gaps = self.ledger.ask(self.ledger.X[rows], "noise") - self.ledger.y[rows]
        self.near.extend(range(first, first + _REPEATED))
        self.variance = self.first_guess = self.first_guess.pooled(0.5 * float((gaps**2).sum()), _REPEATED)

    def thin_out(self) -> None:
        """Drop units that all replies together do not need."""
        X, y = self.ledger.X[self.used], self.ledger.y[self.used]
        while len(self.known().theta.u) > self.least and (smaller := simpler(self.known(), X, y, self.noise, self.g)):
            self.fitted = smaller
            self.ledger.n_units = len(smaller.theta.u)
            self.fit()

    def with_another(self) -> Fitted | None:
        """Return the network with one more unit, for instance a split pair, if that explains the replies better.

        With the noise of the repeats: that of the residuals would hide what is missing.
        """
        fitted, X, y = self.known(), self.ledger.X[self.used], self.ledger.y[self.used]
        if self.read and not leaves_room(fitted):
            return None
        noise = replace(self.noise, sd=min(self.first_guess.sd, self.variance.sd))
        again = fit_jointly(fitted.theta, X, y, noise, self.g)
        return richer(again, X, y, noise, self.g, self.rng)

    def widen(self) -> bool:
        """Go on with the wider network, if there is one; tell whether."""
        if self.wider is None:
            return False
        self.fitted, self.wider, self.test = self.wider, None, None
        self.ledger.n_units = len(self.fitted.theta.u)
        self.fit()
        return True

    @property
    def cones(self) -> Floats:
        """(k,) calibrated cones of 99%."""
        return np.asarray(self.widening.stop * self.linear_cones())

    def result(self, n_queries: int) -> Identification:
        """Return what is known."""
        fitted, settled = self.known(), self.settled()
        misfit = 1.0 if self.noise.labels else float(np.mean(fitted.residuals**2) / self.variance.value)
        if self.floor.kind == "noisy" and self.refuted():
            misfit = max(misfit, self.variance.value / self.first_guess.value)
        evidence = Evidence(
            self.floor,
            self.variance,
            self.gap,
            self.test,
            self.asked_for,
            self.shortage,
            misfit,
            lacking=self.wider is not None,
            n_stray=len(self.stray),
            uneven=np.ndim(self.relative) > 0,
        )
        X, y = self.ledger.X[self.used], self.ledger.y[self.used]
        studentised = fitted.studentised(X, self.uneven_noise, self.g)
        judgement = judge(settled, self.cones, evidence, y - fitted.residuals, studentised)
        facts = {
            "rounds": self.rounds,
            "widening": self.widening.report,
            "bounds_hold": LEVELS[1],
            "spent": dict(self.ledger.spent),
        }
        bounds = self.widening.report * self.linear_cones(LEVELS[1])
        return result(settled, bounds, self.link, judgement, n_queries, evidence, facts)
