"""Inputs confined to a box: derivatives or a student inside it, all replies jointly, fresh points as the judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...activations import Activation, get_activation
from ...arguments import as_generator
from ...certificate import EXACT, EXACT_IN_A_BOX
from ...errors import BudgetSpent, NotIdentifiable
from ...fit import Fitted, Layout, Parameters, fit_jointly, predict
from ...fit.covariance import cones
from ...fit.students import STUDENT, TrainedStudent, fit_students
from ...forecasting import QueryLimit
from ...likelihood import Noise
from ...oracle import Oracle
from ...tuned import SHARE, TRIES
from ..ledger import EPS, Ledger, Place
from ..odd_form import Link, identity_form, link_of
from ..precision import Precision
from ..region import Region
from ..result import Reading
from ..scouts import measure_precision
from .box_certificate import box_errors, exact_result
from .derivatives import NearField, look_near
from .settings import INSIDE, NEAR_FIELD


def identify_bounded(
    oracle: Oracle,
    activation: str = "tanh",
    rng: Any = None,
    *,
    others: tuple[str, ...] = (),
    precision: Precision | None = None,
    region: Region | None = None,
    ledger: Ledger | None = None,
    straight: Callable[[], bool] | None = None,
) -> Reading:
    """Find all units of a sum of sigmoids whose inputs must stay in a box; never asks outside ``oracle.bounds``.

    Parameters
    ----------
    oracle : Oracle
        With one output and finite bounds.
    activation : {"tanh", "logistic", "erf", "softplus", "silu", "gelu", "gelu_tanh", "mish"}
        Those that grow are found behind exact answers, and only fewer units than inputs.
    rng : None, int or Generator
    others : tuple of str
        Activations to try where the derivatives of exact answers are not those of such units; a few queries for each
        that fits.
    precision : Precision, optional
        As found by :func:`measure_precision`; found now if it is not given.
    region : Region, optional
        Where the oracle may be asked; found now if it is not given.
    ledger : Ledger, optional
        Whose rows stay equations; a new one if it is not given.
    straight : callable, optional
        Says whether the function is straight in parts. Asked before a student is trained on exact answers; where it
        is, the box is refused instead.

    Notes
    -----
    About 2.5 to 3 queries per unknown for exact answers and fewer units than inputs (derivatives, see
    :mod:`gradsift.reading.box.derivatives`), about 3.5 for more (a student).
    """
    f = get_activation(activation)
    link = link_of(f) if f.saturates else identity_form(f)
    rng = as_generator(rng)
    before = oracle.n_answered
    ledger = ledger or Ledger(oracle)
    ledger.limit(QueryLimit("noise", bounded=True))
    box = Place(ledger, Region.of(oracle) if region is None else region)
    if not box.region.is_bounded:
        raise ValueError("oracle must have bounds, got none: leave it to gradsift.recover to choose a reader.")
    precision = measure_precision(oracle, rng) if precision is None else precision
    if not precision.is_exact:
        raise NotIdentifiable(
            f"Inside bounds {f.name} units are found through answers of double precision, and {precision}."
        )
    links = [link_of(name) if get_activation(name).saturates else identity_form(name) for name in others]
    search = _ExactInside(box, [link, *links], straight, rng)
    try:
        search.run()
    except BudgetSpent as spent:
        search.shortage = search.outlook(str(spent))
        if search.fitted is None:
            raise BudgetSpent(search.shortage) from None
    return search.result(oracle.n_answered - before)


class _ExactInside:
    """One identification with exact answers while it runs; all parameters are those of the box's coordinates."""

    def __init__(
        self, box: Place, links: list[Link], straight: Callable[[], bool] | None, rng: np.random.Generator
    ) -> None:
        self.box, self.rng, self.links, self.straight = box, rng, links, straight
        self.link = links[0]
        self.share = 1.0  # of the box that random inputs fill
        self.n_spare = INSIDE.spare
        self.fitted: Fitted | None = None
        self.shortage = ""
        self.n_untaught = 0
        self.n_unknowns = 0  # as far as the span of the units tells
        self.fresh = np.empty(0)

    @property
    def g(self) -> Activation:
        """What units are read with."""
        return self.link.odd

    def run(self) -> None:
        """Algebra near the origin where units are no more than inputs, else a student."""
        found = self._look_near()
        if not (found or self.g.saturates):
            raise NotIdentifiable(
                f"Derivatives inside the box do not separate into {self.g.name} units ({self.box.ledger.n_queries} "
                "queries): another activation, a deeper network, or as many units as inputs, which are found only "
                "without bounds."
            )
        if not found:
            if self.straight is not None and self.straight():
                raise NotIdentifiable(f"The function is straight in parts inside the box ({self.g.name} units bend).")
            self.fitted, self.share = None, 1.0
            self.n_untaught = len(self.box.y)
            self._train()

    def _look_near(self) -> bool:
        near = look_near(self.box, self.rng)
        self.share = min(1.0, near.share / NEAR_FIELD.first_share)
        k, d = near.basis.shape
        if k == d:  # as many units as inputs, or more
            return False
        self.n_unknowns = Layout(k, d, linear=near.line is not None).size
        self._draw(int(INSIDE.per_unknown * self.n_unknowns) - near.worth)
        near.bend_again(self.rng)
        for _ in range(TRIES):
            near.bend_again(self.rng)
            for link in self.links:
                self.link = link
                start = near.start(self.g, self.rng)
                if start is not None and self._settles(start, near):
                    self._refine()
                    return True
        self.link = self.links[0]
        return False

    def _refine(self) -> None:
        """Draw more where the answers leave too much open."""
        for _ in range(TRIES):
            fitted, largest = self._known(), self.box.ledger.largest
            if float(box_errors(fitted, largest).bounds.max()) < SHARE * EXACT.error_bound:
                return
            self._draw(len(fitted.information) // 6)
            self.fitted = fit_jointly(fitted.theta, self.box.X, self.box.y, Noise(16 * EPS * largest), self.g)

    def _settles(self, start: Parameters, near: NearField) -> bool:
        """Fit a start first in the units' span, where unknowns are few, and then everywhere."""
        X, y, basis, line = self.box.X, self.box.y, near.basis, near.line
        rough = Noise(INSIDE.missed * self.noise.sd)  # what a span known to four digits leaves
        # In the span there are k (k + 2) + 1 unknowns in the place of k (d + 2) + 1, and rough starts converge.
        inner, curved = X @ basis.T, y if line is None else y - X @ line
        if line is None:
            start = start._replace(c=float(np.median(y - predict(start, inner, self.g))))
        else:
            left = curved - predict(start, inner, self.g)
            c, *linear = np.linalg.lstsq(np.column_stack([np.ones(len(X)), inner]), left, rcond=None)[0]
            start = start._replace(c=float(c), linear=np.array(linear))
        fitted = fit_jointly(start, inner, curved, rough, self.g)
        if 2 * fitted.loss > INSIDE.missed**2 * len(y):
            return False
        theta = fitted.theta._replace(A=fitted.theta.A @ basis)
        if theta.linear is not None and line is not None:
            theta = theta._replace(linear=theta.linear @ basis + line)
        fitted = fit_jointly(theta, X, y, self.noise, self.g, damping=1e-6)
        return 2 * fitted.loss < len(y) and self._holds_at_fresh(fitted.theta)

    def _train(self) -> None:
        d = self.box.region.n_features
        wanted = 5 * (d + 2)
        most = np.inf
        while wanted < most:
            self._draw(wanted - self.n_trained)
            lesson = self._trained()
            most = max(INSIDE.most_per_unknown * (self.n_spare + 4) * (d + 2), 2000)
            if self._accepts(lesson) and self._holds_at_fresh(lesson.fitted.theta):
                return
            self._draw_from_smaller(lesson)
            wanted = int(np.ceil(INSIDE.per_unknown * self.n_trained))
        raise NotIdentifiable(
            f"No number of units up to {self.n_spare} explains {len(self.box.y)} answers inside the box: the "
            "function is not a sum of such sigmoids, it has a linear term beside as many units as inputs, or the box "
            "is too small for its units to bend (or far too large)."
        )

    @property
    def noise(self) -> Noise:
        return Noise(INSIDE.exact * max(self.box.ledger.largest, 1e-300))

    def outlook(self, reason: str) -> str:
        """Say why the search ended, and what it takes once the number of units is known."""
        if not self.n_unknowns:
            return reason
        whole = int(INSIDE.all_per_unknown * self.n_unknowns)
        return f"{reason.rstrip('.')}; about {whole} queries in all would do for its {self.n_unknowns} unknowns."

    def _draw(self, n: int) -> None:
        if n > 0:
            self.box.ask(self.box.region.draw(n, self.share, self.rng), "student")

    @property
    def n_trained(self) -> int:
        """Answers to the student's own random inputs; lines through the centre would mislead it."""
        return len(self.box.y) - self.n_untaught

    def _trained(self) -> TrainedStudent:
        X, y = self.box.X[self.n_untaught :], self.box.y[self.n_untaught :]
        while True:
            lesson = fit_students(X, y, self.noise, self.g, self.n_spare, self.share / np.sqrt(3.0), self.rng)
            room = len(y) >= 1.3 * (self.n_spare + 3) * (X.shape[1] + 2) and self.n_spare < INSIDE.most_spare
            if not lesson.saturated or not room:
                return lesson
            self.n_spare += 3

    def _accepts(self, lesson: TrainedStudent) -> bool:
        fitted = lesson.fitted
        n, n_unknowns = len(fitted.residuals), len(fitted.information)
        if lesson.gap < INSIDE.clear_gap or n < max(STUDENT.least_rows * n_unknowns, n_unknowns + 3):
            return False
        explained = fitted.loss < n
        return explained and bool(cones(fitted).max() < 1e-2)

    def _holds_at_fresh(self, theta: Parameters) -> bool:
        """Ask at fresh points, compare, and fit them too."""
        points = self.box.region.draw(3 + len(theta.u), 1.0, self.rng)
        self.fresh = self.box.ask(points, "check").answers - predict(theta, points, self.g)
        largest = self.box.ledger.largest
        if np.abs(self.fresh).max() > EXACT_IN_A_BOX.fresh_points * largest:
            return False
        X, y = self.box.X, self.box.y
        rounding = Noise(16 * EPS * largest)
        self.fitted = fit_jointly(theta, X, y, rounding, self.g, damping=1e-9)
        return True

    def _known(self) -> Fitted:
        if self.fitted is None:
            raise NotIdentifiable("No units were found.")
        return self.fitted

    def _draw_from_smaller(self, lesson: TrainedStudent) -> None:
        """Draw from a smaller share of a box in which typical units are steps."""
        lengths = np.linalg.norm(lesson.fitted.theta.A, axis=1)
        spread = self.share * float(np.median(lengths)) / np.sqrt(3.0)
        if spread > 2.5 * INSIDE.arguments:
            self.share *= max(0.5, float(np.sqrt(INSIDE.arguments / spread)))

    def result(self, n_queries: int) -> Reading:
        """Return what was found."""
        return exact_result(self._known(), self.box, self.link, self.fresh, n_queries)
