"""The same search where answers carry some seven digits: single precision, or rounded decimals.

Units are read with the answers' own resolution as the tolerance. Far out that leaves three or four digits of them; many
answers near the origin, where arguments are small, then bring the parameters down to what rounding allows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...arguments import Floats, as_generator
from ...certificate import BOUND, COARSE, ExactLimits
from ...errors import NotIdentifiable
from ...tuned import SHARE
from ..circle import tolerances
from ..ledger import Ledger
from ..odd_form import Link, Net
from ..question import attempted
from ..result import Reading
from ..scan_settings import negligible_at
from .joint_fit import NetFit, measure, parameter_errors, prediction_errors, solve_jointly
from .large.equations import AtRows, shown_rounding
from .plateau_certificate import evidence_of
from .search import Search
from .settings import COARSE_SEARCH, NEARBY, SearchPolicy


def identify_coarse(
    activation: str,
    rng: Any,
    ledger: Ledger,
) -> Reading:
    """Find all units of a sum of sigmoids whose answers are rounded finely.

    Parameters
    ----------
    ledger : Ledger
        Of an oracle with one output, with what rounds its answers.

    Notes
    -----
    About ``15 + 3 k (d + 4)`` queries for k units in dimension d. Raises as :func:`identify` does.
    """
    rng = as_generator(rng)
    for attempt in range(COARSE_SEARCH.most_in_vain):
        search = CoarseSearch(ledger, rng)
        found = attempted(lambda: search.within_budget(lambda: search.family(activation)))  # noqa: B023
        if not isinstance(found, NotIdentifiable):
            if found.certified:
                break
        # By bad luck, if there were units at all: other planes may show them one by one.
        elif not search.known.k or attempt + 1 == COARSE_SEARCH.most_in_vain:
            raise found
    return found  # type: ignore[return-value]


class CoarseSearch(Search):
    """A search that ends with answers near the origin."""

    limits: ExactLimits = COARSE
    policy: SearchPolicy = COARSE_SEARCH

    def __init__(self, ledger: Ledger, rng: np.random.Generator) -> None:
        super().__init__(ledger, rng)
        self.near = np.empty(0, dtype=np.intp)  # numbers of the rows near the origin

    def seen(self, link: Link) -> Link:
        """Return the sigmoid as the answers show it."""
        tolerance = float(self.ledger.tolerance(0.0)) / self.ledger.largest
        return link.with_precision(tolerance, max(link.eps, self.ledger.eps))

    def all_found(self, known: Net, rows: AtRows, n_idle: int) -> bool:
        """Say whether the units seem to be all; a unit read badly may look like one that is missing."""
        return n_idle > 0 or super().all_found(known, rows, n_idle)

    def after_a_misfit(self, known: Net, fit: NetFit, n_failed: int) -> Net:
        """Return the units as they were read; without suspects if as many have failed before.

        A faint unit that is still missing shows on all rows, and speaks against none of the others.
        """
        return super().after_a_misfit(known, fit, n_failed) if n_failed == known.k else known

    def tolerance(self, known: Net, rows: AtRows) -> Floats:
        """Return what the units' own errors, before the joint fit, may leave of the stored answers, (n,)."""
        levels = 0.1 * negligible_at(self.ledger.resolution).known * np.abs(known.u).sum()
        X, y = self.ledger.X, self.ledger.y
        lengths, arguments = np.linalg.norm(X, axis=1), known.arguments(X)
        return np.asarray(tolerances(self.ledger, known, lengths, arguments, y) + levels)

    def joint(self, known: Net) -> tuple[Net, NetFit]:
        """Fit all answers, beginning near the origin if that fails: far out a unit read badly is off by its all."""
        known, fit = super().joint(known)
        if fit.chi < self.limits.residuals:
            return known, fit
        near = self._near_origin(known)
        again = solve_jointly(near, self.ledger)
        return self._with_better_units(known, near), again if again.chi < fit.chi else fit

    def _with_better_units(self, known: Net, near: Net) -> Net:
        """Take units that were badly read from the fit near the origin if that is much closer there.

        Where a faint unit is missing yet, all others have taken a share of it, so that what was read well stays.
        """
        there, answers = self.ledger.X[self.near], self.ledger.y[self.near]
        misses = [float(np.abs(answers - net.predict(there)).max()) for net in (known, near)]
        if not misses[1] < (1 - SHARE) * misses[0]:
            return known
        far_off = BOUND * negligible_at(self.ledger.resolution).known * np.linalg.norm(near.a, axis=1)
        misread = np.linalg.norm(near.a - known.a, axis=1) > far_off
        a, b = known.a.copy(), known.b.copy()
        a[misread], b[misread] = near.a[misread], near.b[misread]
        return replace(known, a=a, b=b)

    def _near_origin(self, net: Net) -> Net:
        """Return the network fitted to answers near the origin alone, after asking for those that are still due."""
        due = int(np.ceil(NEARBY.per_unknown * net.n_unknowns)) - len(self.near)
        if due > 0:
            first = len(self.ledger.X)
            self.ledger.ask(near_points(net, due, self.rng), "parameters")
            self.near = np.concatenate([self.near, np.arange(first, first + due)])
        fit = solve_jointly(replace(net, probes=(None,) * net.k), self.ledger.only(self.near))
        return replace(fit.net, probes=net.probes)

    def finish(self, fit: NetFit) -> Reading:
        """Ask near the origin, foretell further answers, fit all, and judge."""
        net = self._near_origin(fit.net)
        fit = solve_jointly(net, self.ledger)
        held = near_points(net, 10 + int(NEARBY.held_out * net.n_unknowns), self.rng)
        errors = prediction_errors(fit, self.ledger, held, self.rng)
        noise = fit.net.noise(held, self.ledger)
        # Independent errors add in squares; what a bad fit would foretell badly may not excuse a miss of any size.
        expected = np.hypot(noise, np.minimum(errors, BOUND * noise))
        fresh = (self.ledger.ask(held, "fresh") - fit.net.predict(held)) / expected
        fit = self._weighed(solve_jointly(fit.net, self.ledger))
        known = parameter_errors(fit, self.ledger, self.rng)
        return self.result(fit, known, evidence_of(fit, known, self.ledger, fresh, COARSE))

    def _weighed(self, fit: NetFit) -> NetFit:
        """Fit once more, with rounding errors of the sizes that the residuals show, unless answers then are missed."""
        sizes = shown_rounding(fit.net, self.ledger)
        again = solve_jointly(fit.net, self.ledger.weighted(sizes / fit.net.noise(self.ledger.X, self.ledger)))
        met = measure(again.net, self.ledger)
        return met if met.chi < self.limits.residuals else fit


def near_points(net: Net, n: int, rng: np.random.Generator) -> Floats:
    """Return random inputs where one unit after the other is active, at the scale of the units; (n, d).

    A direction is known in proportion to the room across it. There is more of it where no unit turns.
    """
    d = net.a.shape[1]
    squares = (net.a**2).sum(axis=1)
    units = np.arange(n) % net.k
    radii = NEARBY.spread / np.sqrt(np.median(squares))
    points = radii * rng.standard_normal((n, d))
    # Subtract the projection on the span of all units, A^+ A x: what is left moves no argument.
    across = points - (points @ net.a.T) @ np.linalg.pinv(net.a).T
    points += (NEARBY.room / NEARBY.spread - 1.0) * across
    wanted = NEARBY.spread * rng.standard_normal(n)
    # Move each point along its own unit to a wanted argument: x + (z - <a, x> - b) a / |a|^2.
    off = wanted - (points * net.a[units]).sum(axis=1) - net.b[units]
    return np.asarray(points + (off / squares[units])[:, None] * net.a[units])
