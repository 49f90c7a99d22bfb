"""From a black box to its network: rays, circle, plane, probes, joint fit, certificate, retry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...activations import get_activation
from ...checking import Floats, as_generator, at_least
from ...checks import EXACT, ExactLimits, Verdict, any_method, exact, n_of
from ...errors import BudgetSpent, NotIdentifiable
from ...forecasting import Allotment
from ...geometry import orthonormal_rows
from ...memory import keep_freed_memory
from ...oracle import Oracle
from ...threads import one_thread
from ..asking import EPS, Ledger, n_affordable
from ..fresh_inputs import fresh_inputs
from ..links import Link, link_of, with_algebraic_tails
from ..result import Identification, Progress
from ..verify import allowance_of, compare, with_verification
from .accuracy import Errors
from .arcs import suspected_arcs
from .bumps import read_bump
from .certificate import far_points, fresh_points, smallest_angle, vouch_for
from .circle import CircleScan, scan_circle
from .exact_policy import BUMPS, PRUNE, SEARCH, SearchPolicy
from .families import AlgebraicTails, WrongFamily
from .frames import PlaneFrame, frame_through
from .joint import Solution, parameter_errors, solve_jointly
from .net import Net, empty_net
from .outwards import excused, misread, solve_outwards
from .own_rows import with_own_rows
from .pairs import read_pairs
from .plane import settle_in_plane
from .polish import polish
from .probe import probe_units
from .prune import suspects, without_cancelled, without_contaminated
from .rays import Rays, cast_rays
from .refusals import incomplete, raise_if_drowned, raise_if_shapeless
from .replies import AtRows, at_rows
from .tails import find_by_student

__all__ = ["Search", "identify"]


def identify(
    oracle: Oracle,
    activation: str = "tanh",
    rng: Any = None,
    max_queries: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    n_verify: int = 0,
    ledger: Ledger | None = None,
) -> Identification:
    """Find all units of a sum of sigmoids by asking for about as many values as it has unknowns.

    Parameters
    ----------
    oracle : Oracle
        With exact answers: rounded to double precision, no noise.
    activation : {"tanh", "logistic", "erf", "arctan", "softsign", "auto"}
        arctan and softsign only with few units (a student is trained); "auto" tells the family from the answers, where
        logistic is called tanh.
    rng : None, int or Generator
        Query i depends only on this and on the answers before it.
    max_queries : int, optional
    progress : callable, optional
        Called with a :class:`Progress` after each batch.
    n_verify : int
        Fresh inputs to ask at the end, or as many as the budget allows. Where some differ, parallel units that cancel
        elsewhere are looked for.
    ledger : Ledger, optional
        Where to keep the answers, for whoever goes on with them; `max_queries` and `progress` are then its own.

    Raises
    ------
    NotIdentifiable
        The function is no such sum, or its units cannot be told apart; carries what was found.
    BudgetSpent
        Carries what was found.

    Notes
    -----
    About ``15 + k (d + 7)`` queries for k units in dimension d; O(k d (k + d)) flops, O(k d) memory beside the
    equations that are not probes, about 10 k rows. Units whose parameters agree to seven digits are one unit here: in
    double precision their sum is the same function. A unit without weight or without slope is part of the intercept.
    """
    if max_queries is not None:
        at_least("max_queries", max_queries, 1)
    if activation != "auto":
        get_activation(activation)
    if oracle.n_features < 2:
        raise NotIdentifiable("In one dimension all units are parallel and cannot be separated; fit samples instead.")
    ledger = ledger or Ledger(oracle, max_queries, progress, allotment=Allotment("exact"))
    search = Search(ledger, as_generator(rng))
    keep_freed_memory()
    try:
        with one_thread():
            found = search.any_family() if activation == "auto" else search.family(activation)
            return search.verified(found, n_verify)
    except BudgetSpent as spent:
        raise BudgetSpent(str(spent), search.partial()) from None
    except NotIdentifiable as refused:
        if refused.partial is None:
            refused.partial = search.partial()
        raise


class Search:
    """One identification while it runs: what is known, and the attempts so far."""

    limits: ExactLimits = EXACT
    policy: SearchPolicy = SEARCH

    def __init__(self, ledger: Ledger, rng: np.random.Generator) -> None:
        self.ledger, self.rng = ledger, rng
        self.link = link_of("tanh")
        self.known = empty_net(self.link, ledger.n_features, 0.0)
        self.scans: list[CircleScan] = []
        self.notes: list[str] = []
        self.close: Net | None = None  # explains all rows but some near the origin
        self.n_vain = 0  # looks for cancelling units that found none
        self.n_left = 0  # units that the last circle left to the next one
        self.further_out = False  # hyperplanes are seen beyond the first circle

    def any_family(self) -> Identification:
        """Begin with tanh; a wrong family costs one circle at most."""
        try:
            return self.family("tanh")
        except WrongFamily as other:
            return self.family(other.family)
        except AlgebraicTails:
            return self.student(*with_algebraic_tails())

    def student(self, *links: Link) -> Identification:
        """Train students of these activations."""
        if self.ledger.linear is not None:
            names = " or ".join(link.activation.name for link in links)
            raise NotIdentifiable(
                f"Beside a linear term the function has algebraic tails ({self.ledger.n_queries} queries): units of "
                f"{names} can only be found without one; subtract it first."
            )
        net = find_by_student(self.ledger, links, self.rng)
        self.link, self.known = net.link, net
        return self.finish(solve_jointly(net, self.ledger))

    def family(self, name: str) -> Identification:
        """Find the units of one activation."""
        self.link = link_of(name)
        if np.isinf(self.link.flat):
            return self.student(self.link)
        rays = cast_rays(self.ledger, self.link, self.rng)
        self.link = self.seen(self.link)
        self.known = empty_net(self.link, self.ledger.n_features, rays.intercept, self.ledger.linear)
        raise_if_drowned(self.ledger, self.policy.circle * rays.scale)
        last: Identification | None = None
        idle = n_leaving = n_again = 0
        radius = self.policy.circle * rays.scale
        for attempt in range(self.policy.most_attempts + self.policy.fine_attempts):
            if attempt - n_leaving == self.policy.most_attempts:
                break
            before = self.known.k
            self._look(rays, attempt, radius)
            if not self.known.k and not self.further_out and last is None:
                raise_if_shapeless(self.scans[-1], self.link, self.ledger.n_queries)
            if self.n_left:  # seen, and left to another plane: there is nothing to fit or to mend before that
                n_leaving += 1
                continue
            idle = 0 if self.known.k > before or self._glimpsed() else idle + 1
            rows = at_rows(self.known, self.ledger)
            missing = not self.known.k or not self.complete(rows, idle)
            far_out = missing and (self._only_far_rows_missed(rows, radius) or (self.further_out and not self.known.k))
            radius *= self.policy.leap if far_out else self.policy.growth
            others_to_come = attempt - n_leaving + 1 < self.policy.most_attempts
            if not missing and others_to_come and n_again < self.policy.most_again and self._drop_misread(rows):
                n_again += 1
                continue
            if not missing and self._give_own_rows(rows):
                rows = at_rows(self.known, self.ledger)
            fit = None if missing else self.joint()
            if fit is None or not fit.chi < self.limits.residuals:
                others = self.known if fit is None else self.after_a_misfit(fit)
                if fit is not None:
                    self.notes.append(
                        f"attempt {attempt + 1}: joint fit misses by {fit.chi:.3g} rounding errors, "
                        f"{n_of(fit.net.k - others.k, 'unit')} of {fit.net.k} suspected"
                    )
                mends = self.policy.mends and not (fit is not None and fit.few_astray)
                fit = self._mended(rows, self.policy.circle * rays.scale) if mends else None
            if fit is None:
                self.known = others
                given_up = idle > (self.policy.patience if self.known.k else self.policy.most_idle) and not far_out
                if self.n_vain == BUMPS.most_in_vain or (given_up and (missing or not self.policy.mends)):
                    break
                continue
            last = self.finish(fit)
            if last.certified:
                return last
            self.known = fit.net
        if last is not None:
            return last
        if self.close is not None:
            return self._nearly(self.close)
        note = self.notes[-1] if self.notes else ""
        raise incomplete(self.known, self.scans, self.link, self.ledger.n_queries, self.partial(), note)

    def seen(self, link: Link) -> Link:
        """Return the sigmoid as the answers show it."""
        return link

    def _look(self, rays: Rays, attempt: int, radius: float) -> None:
        """Scan one more plane for units that are not known yet, and read those found."""
        n_before = self.ledger.n_stored
        frame, angles, answers = self._plane(rays, attempt, radius)
        scan = scan_circle(
            self.ledger,
            frame,
            radius,
            self.known,
            angles,
            answers,
            self.policy.intervals * 2 ** min(attempt, self.policy.most_doublings),
        )
        self.scans.append(scan)
        units, impure, self.n_left = settle_in_plane(self.ledger, scan, self.known, attempt < self.policy.fine_attempts)
        self.ledger.n_units = self.known.k + len(units)
        before, known = self.known, self.known.with_units(probe_units(self.ledger, frame, units, self.known))
        # On the first circle single units overlap by chance; what is no unit on the next one is suspected of being two.
        arcs = suspected_arcs(scan, impure, known, before, n_before) if attempt else []
        if len(arcs) <= (self.policy.most_pairs if known.k else 1) and known.a.size < self.policy.most_for_pairs:
            known = known.with_units(read_pairs(self.ledger, arcs, known, self.rng))
        self.known = without_contaminated(without_cancelled(known, self.ledger), self.ledger)
        self.ledger.n_units = self.known.k

    def _glimpsed(self) -> bool:
        """Say whether the last circle showed a few steps that could not be read there: among many units, the next one
        may let them stand alone."""
        n_shown = len(self.scans[-1].steps) + len(self.scans[-1].unresolved)
        return self.known.k >= PRUNE.many and 0 < n_shown < PRUNE.most * self.known.k

    def _plane(self, rays: Rays, attempt: int, radius: float) -> tuple[PlaneFrame, Floats, Floats]:
        """Return a plane, and angles at which the circle is flat: on the rays the first time."""
        first, second = orthonormal_rows(2, self.ledger.n_features, self.rng) if attempt else (rays.first, rays.second)
        frame = frame_through(first, second)
        if attempt or self.ledger.linear is not None:  # beside a linear term, far plateaus are coarsely rounded
            angles = np.array([0.0, np.pi])
            return frame, angles, self.ledger.ask(frame.on_circle(radius, angles), "scan")
        back = self.ledger.ask(-radius * rays.first[None], "scan")
        self.further_out = bool(abs(back[0] - rays.plateaus[2]) > self.ledger.tolerance(radius))
        angles, answers = np.array([0.0, np.pi, np.pi / 2]), np.array([rays.plateaus[0], back[0], rays.plateaus[1]])
        n_flat = 3 if radius > 1.5 * rays.second_scale else 2
        return frame, angles[:n_flat], answers[:n_flat]

    def joint(self) -> Solution:
        """Fit all answers, the furthest of them last if that fails."""
        fit = solve_jointly(self.known, self.ledger)
        if fit.chi < self.limits.residuals or self.known.k < PRUNE.many:
            return fit
        rows = at_rows(self.known, self.ledger)
        return solve_outwards(fit, self.ledger, np.abs(rows.residuals) > self.inaccuracy(rows))

    def after_a_misfit(self, fit: Solution) -> Net:
        """Return what is still believed when a joint fit does not meet all answers: its units, or those that were read
        where it misses by more than reading does."""
        better = fit.chi < PRUNE.as_read or self.known.k < PRUNE.many
        believed = fit.net if better else self.known
        return believed.only(~suspects(fit, self.ledger, self.limits.residuals))

    def inaccuracy(self, rows: AtRows) -> Floats:
        """Return what the units' own inaccuracy, before the joint fit, may leave of the stored answers, (n,)."""
        return np.asarray(1e-7 * rows.sensitivity)

    def _many_read_finely(self) -> bool:
        """Say whether there are many units, and their answers exact to the last digit wherever they are read."""
        return self.known.k >= PRUNE.many and self.ledger.resolution <= EPS and self.ledger.linear is None

    def _give_own_rows(self, rows: AtRows) -> bool:
        """Ask rows of their own for units that have too few, now that all are known. Say whether there were any."""
        n_before = self.ledger.n_queries
        if self._many_read_finely():
            self.known = with_own_rows(self.known, self.ledger, rows.turning)
        return self.ledger.n_queries > n_before

    def _drop_misread(self, rows: AtRows) -> bool:
        """Drop units that must be wrong by more than their last digits, if these are few: now that all others are
        known, the next circle reads them better. Say whether there are any."""
        off = np.abs(rows.residuals) > self.inaccuracy(rows)
        if not self._many_read_finely() or not off.any():
            return False
        wrong = misread(self.known, self.ledger, off) > PRUNE.misread
        if not 0 < wrong.mean() < PRUNE.most:
            return False
        self.known = self.known.only(~wrong)
        self.ledger.n_units = self.known.k
        return True

    def complete(self, rows: AtRows, idle: int) -> bool:
        """Say whether the units seem to be all: no answer is off by more than their own inaccuracy."""
        return not self._off(rows).any()

    def _off(self, rows: AtRows) -> NDArray[np.bool_]:
        """Say which answers speak of a unit that is missing: off, and not for the last digits of a unit, (n,)."""
        off = self._missed(rows)
        return off & ~excused(self.known, self.ledger, off) if off.any() and self.known.k >= PRUNE.many else off

    def _missed(self, rows: AtRows) -> NDArray[np.bool_]:
        """Say which answers are off by more than the units' own inaccuracy, (n,)."""
        most = self.policy.complete * np.abs(self.known.u).min() + self.inaccuracy(rows)
        return np.asarray(np.abs(rows.residuals) > most)

    def _only_far_rows_missed(self, rows: AtRows, radius: float) -> bool:
        """Say whether what is missing lies far out: all rows up to the circle are met up to a constant."""
        residuals = rows.residuals * (np.abs(rows.residuals) > self.inaccuracy(rows))
        near = np.linalg.norm(self.ledger.X, axis=1) < 1.5 * radius
        wrong = self.policy.complete * max(self.ledger.largest, 1e-300)
        spread = np.abs(residuals[near] - np.median(residuals[near])).max()
        return bool(spread < wrong < np.abs(residuals).max())

    def _mended(self, rows: AtRows, radius: float) -> Solution | None:
        """Where only rows near the origin are missed, read what cancels far out, and return a fit that misses none.

        Costs no query where rows further out are missed, too: then a unit is lacking.
        """
        if self.known.k >= PRUNE.many and (self._off(rows) & ~self._near(radius)).any():  # a joint fit would be vain
            return None
        for _ in range(BUMPS.most_rounds):
            if not self.known.k or self.n_vain == BUMPS.most_in_vain:
                return None
            fit = self._fit_without_near_rows(radius)
            if fit is None:
                return None
            X, off = self.ledger.X, np.abs(self.ledger.y - fit.net.predict(self.ledger.X))
            units = read_bump(self.ledger, fit.net, X[np.argmax(off / fit.net.noise(X, self.ledger))], self.rng)
            if units is None:
                self.n_vain += 1
                self.close = fit.net
                return None
            self.known = fit.net.with_units(units)
            self.ledger.n_units = self.known.k
            fit = solve_jointly(self.known, self.ledger)
            if fit.chi < EXACT.residuals:
                return fit
        return None

    def _near(self, radius: float) -> NDArray[np.bool_]:
        """Say which rows are so near the origin that they may lie on a bump, (n,)."""
        return np.asarray(np.linalg.norm(self.ledger.X, axis=1) < BUMPS.near * radius)

    def _fit_without_near_rows(self, radius: float) -> Solution | None:
        """Return the joint fit to all rows but those near the origin, if it misses none of these."""
        near = np.flatnonzero(self._near(radius))
        probed = [probe.rows for probe in self.known.all_probes()]
        self.ledger.aside = frozenset(np.setdiff1d(near, np.concatenate([np.empty(0), *probed])).tolist())
        fit = solve_jointly(self.known, self.ledger)
        self.ledger.aside = frozenset()
        return fit if fit.chi < EXACT.residuals else None

    def finish(self, fit: Solution) -> Identification:
        """Polish, test on fresh points, and judge."""
        fit, errors = polish(fit, self.ledger, self.rng)
        fresh = self._fresh(fit)
        far = far_points(fit.net, self.ledger, self.rng)
        if len(far):
            self.ledger.ask(far, "fresh")
        fit = solve_jointly(fit.net, self.ledger)
        self.known = fit.net
        return self.result(fit, errors, vouch_for(fit, errors, self.ledger, fresh))

    def _fresh(self, fit: Solution) -> Floats:
        """Ask at fresh points, and return how far they are missed, relative to what their parameters could do."""
        points = fresh_points(fit.net, self.policy.n_fresh, self.rng)
        return np.asarray((self.ledger.ask(points, "fresh") - fit.net.predict(points)) / fit.net.sensitivity(points))

    def _nearly(self, net: Net) -> Identification:
        """Return a network that explains all rows but some, uncertified; those are set aside and said to be missed."""
        X, y = self.ledger.X, self.ledger.y
        off = np.abs(y - net.predict(X))
        missed = np.flatnonzero(off > EXACT.residuals * net.noise(X, self.ledger))
        self.ledger.aside = frozenset(missed.tolist())
        fit = solve_jointly(net, self.ledger)
        errors = parameter_errors(fit, self.ledger, self.rng)
        self.ledger.aside = frozenset()
        self.known, fresh = fit.net, self._fresh(fit)
        found = self.result(fit, errors, vouch_for(fit, errors, self.ledger, fresh))
        if np.sum(np.abs(fresh) > BUMPS.close) > 1:  # not one bump, but everywhere
            raise incomplete(net, self.scans, self.link, self.ledger.n_queries, found)
        check = exact.close_to(len(missed), len(y), float(off.max()))
        return replace(found, judgement=found.judgement.headed(check))

    def verified(self, found: Identification, n_verify: int) -> Identification:
        """Ask fresh inputs; where they differ, read what is there and ask others."""
        for _ in range(BUMPS.most_rounds):
            n = n_affordable(self.ledger.oracle, n_verify, self.ledger)
            if not n:
                return with_verification(self._counted(found), None, None)
            points = fresh_inputs(found.model, self.ledger.oracle, n, self.rng)
            answers = self.ledger.ask(points, "verify")
            checked = compare((found.model,), allowance_of(found), points, answers)
            if not (checked.n_different and self.known.k and found.certified):
                break
            units = read_bump(self.ledger, self.known, checked.where, self.rng)
            if units is None:
                break
            fit = solve_jointly(self.known.with_units(units), self.ledger)
            if not fit.chi < EXACT.residuals:
                break
            found = self.finish(fit)
        return with_verification(self._counted(found), checked, self.ledger.oracle.frame)

    def _counted(self, found: Identification) -> Identification:
        spent = dict(self.ledger.spent)
        return replace(found, n_queries=self.ledger.n_queries, diagnostics={**found.diagnostics, "spent": spent})

    def result(self, fit: Solution, errors: Errors, judgement: Verdict) -> Identification:
        net, link = fit.net, self.link
        order = np.argsort(-np.abs(net.u), kind="stable")
        standard = {
            "units": errors.unit[order],
            "slopes": errors.slope[order] / link.stretch,
            "offsets": errors.offset[order] / link.stretch,
            "weights": errors.weight[order] / link.gain,
            "intercept": np.array([errors.intercept]),
            **({} if net.linear is None else {"linear": errors.linear}),
        }
        return Identification(
            net.to_model(), judgement, self.ledger.n_queries, standard, errors.relative[order],
            {"chi": fit.chi, **self._diagnostics(net)},
        )  # fmt: skip

    def _diagnostics(self, net: Net) -> dict[str, Any]:
        first = self.scans[0] if self.scans else None
        return {
            "smallest_angle": smallest_angle(net),
            "smallest_weight": float(np.abs(net.u).min(initial=np.inf)),
            "attempts": len(self.scans),
            "notes": list(self.notes),
            "spent": dict(self.ledger.spent),
            "angles": None if first is None else first.angles,
            "values": None if first is None else first.values + net.c,
        }

    def partial(self) -> Identification | None:
        """Return what is known so far, uncertified; None before the first unit."""
        if not self.known.k:
            return None
        nothing = np.full(self.known.k, np.nan)
        errors = Errors(
            nothing, nothing, nothing, nothing, np.nan, nothing, nothing, np.full(self.known.a.shape[1], np.nan)
        )
        fit = Solution(self.known, np.nan, nothing, nothing)
        cut_short = any_method.finished("the search did not come to its end")
        return self.result(fit, errors, Verdict((cut_short,), f"{n_of(self.known.k, 'unit')} so far", claim=""))
