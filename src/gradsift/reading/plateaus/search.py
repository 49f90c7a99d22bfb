"""From a black box to its network: rays, circle, plane, probes, joint fit, certificate, retry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...activations import get_activation
from ...arguments import Floats, as_generator, at_least
from ...certificate import EXACT, Evidence, ExactLimits, Verdict, certify, n_of
from ...certificate import exact_rules as exact
from ...certificate import shared_rules as shared
from ...errors import BudgetSpent, NotIdentifiable
from ...forecasting import QueryLimit
from ...network import Network
from ...oracle import Oracle
from ...runtime import keep_memory, one_thread
from ...tuned import TRIES
from ..check_inputs import fresh_inputs
from ..circle import check_linear_term, search_refusal
from ..idle_inputs import PARALLEL
from ..ledger import Ledger, n_affordable
from ..odd_form import Link, Net, empty_net, link_of
from ..question import SATURATING_KINDS, Narrowing, attempted, names_of
from ..rays import ask_rays, opposites_cancel
from ..result import Progress, Reading
from ..scan_settings import SCAN, UNITS
from ..searches import walk
from ..verify import compare, with_verification
from .cancelling_units import read_bump
from .joint_fit import NetFit, parameter_errors, solve_jointly
from .large.equations import AtRows, Errors, at_rows
from .large.suspects import solve_outwards, suspects, within_unit_errors
from .plateau_certificate import evidence_of, far_points, fresh_points, polish, smallest_angle
from .search_stages import EXACT_STAGES, SearchState
from .settings import PRUNE, SEARCH, SearchPolicy
from .tails import find_by_student


def identify(
    oracle: Oracle,
    activation: str = "tanh",
    rng: Any = None,
    max_queries: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    n_verify: int = 0,
    ledger: Ledger | None = None,
    several: bool = False,
) -> Reading:
    """Find all units of a sum of sigmoids by asking for about as many values as it has unknowns.

    Parameters
    ----------
    oracle : Oracle
        With exact answers: rounded to double precision, no noise.
    activation : {"tanh", "logistic", "erf", "arctan", "softsign"}
        arctan and softsign only with few units (a student is trained).
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
    several : bool
        Whether the function may have several layers, so that opposite points are looked at before any circle.

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
    get_activation(activation)
    if oracle.n_features < 2:
        raise NotIdentifiable(PARALLEL, rules_out=Narrowing(names_of(*SATURATING_KINDS)))
    ledger = ledger or Ledger(oracle, max_queries, progress, allotment=QueryLimit("exact"))
    search = Search(ledger, as_generator(rng))
    keep_memory()
    return search.finished(lambda: search.family(activation, several), n_verify)


class Search:
    """One identification while it runs: what is known, and the attempts so far."""

    limits: ExactLimits = EXACT
    policy: SearchPolicy = SEARCH

    def __init__(self, ledger: Ledger, rng: np.random.Generator) -> None:
        self.ledger, self.rng = ledger, rng
        self.link = link_of("tanh")
        self.state = SearchState(empty_net(self.link, ledger.n_features, 0.0))

    @property
    def known(self) -> Net:
        """The units known so far."""
        return self.state.known

    @known.setter
    def known(self, net: Net) -> None:
        self.state = replace(self.state, known=net)

    def keep(self, state: SearchState) -> None:
        """Keep the latest state, so that a spent budget costs no more than the stage it ends in."""
        self.state = state

    def finished(self, searched: Callable[[], Reading], n_verify: int) -> Reading:
        """Search and verify; a refusal carries what is known by then."""
        with one_thread():
            found = attempted(lambda: self.within_budget(lambda: self.verified(searched(), n_verify)))
        if isinstance(found, NotIdentifiable):
            found.partial = self.partial() if found.partial is None else found.partial
            raise found
        return found

    def within_budget(self, searched: Callable[[], Reading]) -> Reading:
        """Search; where a budget ends it, what is known by then goes with the word that it did."""
        try:
            return searched()
        except BudgetSpent as spent:
            raise BudgetSpent(str(spent), self.partial()) from None

    def student(self, *links: Link) -> Reading:
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

    def family(self, name: str, several: bool = False) -> Reading:
        """Find the units of one activation; refuse at once what may have `several` layers and shows them far out."""
        self.link = link_of(name)
        if np.isinf(self.link.flat):
            return self.student(self.link)
        rays = ask_rays(self.ledger, self.link, self.rng, both_ways=several)
        if not rays.may_cancel(self.ledger.tolerance(0.0)):
            self._refuse_several()
        self.link = self.seen(self.link)
        self.known = empty_net(self.link, self.ledger.n_features, rays.intercept, self.ledger.linear)
        radius = self.policy.first.circle * rays.scale
        check_linear_term(self.ledger, radius)
        begun = replace(self.state, rays=rays, radius=radius)
        ended = walk(EXACT_STAGES, begun, self)
        if ended.last is not None:
            return ended.last
        if ended.close is not None:
            return self._finish_partial(ended.close)
        note = ended.notes[-1] if ended.notes else ""
        raise search_refusal(ended.known, ended.scans, self.link, self.ledger.n_queries, self.partial(), note)

    def _refuse_several(self) -> None:
        """Raise if more opposite points do not cancel either: a slow unit alone would not be two layers."""
        limit = self.ledger.limit(None)
        if not opposites_cancel(self.ledger, self.rng):
            raise NotIdentifiable(
                f"Opposite points far out do not cancel, as they do with one hidden layer ({self.ledger.n_queries} "
                "queries): several layers, or no odd units.",
                rules_out=Narrowing(depths=frozenset({1})),
            )
        self.ledger.limit(limit)

    def seen(self, link: Link) -> Link:
        """Return the sigmoid as the answers show it."""
        return link

    def joint(self, known: Net) -> tuple[Net, NetFit]:
        """Fit all answers, the furthest of them last if that fails; return the units as they are known now, too."""
        fit = solve_jointly(known, self.ledger)
        if fit.chi < self.limits.residuals or known.k < UNITS.many:
            return known, fit
        rows = at_rows(known, self.ledger)
        return known, solve_outwards(fit, self.ledger, np.abs(rows.residuals) > self.tolerance(known, rows))

    def after_a_misfit(self, known: Net, fit: NetFit, n_failed: int) -> Net:
        """Return what is still believed when a joint fit does not meet all answers: its units, or those that were read
        where it misses by more than reading does; `n_failed` is the number of units when one did before."""
        better = fit.chi < PRUNE.as_read or known.k < UNITS.many
        believed = fit.net if better else known
        return believed.only(~suspects(fit, self.ledger, self.limits.residuals))

    def tolerance(self, known: Net, rows: AtRows) -> Floats:
        """Return what the units' own errors, before the joint fit, may leave of the stored answers, (n,)."""
        return np.asarray(1e-7 * rows.sensitivity)

    def all_found(self, known: Net, rows: AtRows, n_idle: int) -> bool:
        """Say whether the units seem to be all: no answer is off by more than their own errors."""
        return not self.off(known, rows).any()

    def off(self, known: Net, rows: AtRows) -> NDArray[np.bool_]:
        """Say which answers speak of a unit that is missing: off by more than the units' own errors, and not for
        the last digits of one, (n,)."""
        most = SCAN.little * np.abs(known.u).min() + self.tolerance(known, rows)
        off = np.asarray(np.abs(rows.residuals) > most)
        return off & ~within_unit_errors(known, self.ledger, off) if off.any() and known.k >= UNITS.many else off

    def finish(self, fit: NetFit) -> Reading:
        """Polish, test on fresh points, and judge."""
        fit, errors = polish(fit, self.ledger, self.rng)
        fresh = self._fresh(fit)
        far = far_points(fit.net, self.ledger, self.rng)
        if len(far):
            self.ledger.ask(far, "fresh")
        fit = solve_jointly(fit.net, self.ledger)
        self.known = fit.net
        return self.result(fit, errors, evidence_of(fit, errors, self.ledger, fresh))

    def _fresh(self, fit: NetFit) -> Floats:
        """Ask at fresh points, and return how far they are missed, relative to what their parameters could do."""
        points = fresh_points(fit.net, EXACT.spare_answers, self.rng)
        return np.asarray((self.ledger.ask(points, "fresh") - fit.net.predict(points)) / fit.net.sensitivity(points))

    def _finish_partial(self, net: Net) -> Reading:
        """Return a network that explains all rows but some, uncertified; those are set aside and said to be missed."""
        X, y = self.ledger.X, self.ledger.y
        off = np.abs(y - net.predict(X))
        missed = np.flatnonzero(off > EXACT.residuals * net.noise(X, self.ledger))
        self.ledger.aside = frozenset(missed.tolist())
        fit = solve_jointly(net, self.ledger)
        errors = parameter_errors(fit, self.ledger, self.rng)
        self.ledger.aside = frozenset()
        self.known, fresh = fit.net, self._fresh(fit)
        found = self.result(fit, errors, evidence_of(fit, errors, self.ledger, fresh))
        if np.sum(np.abs(fresh) > SCAN.little) > 1:  # not one bump, but everywhere
            raise search_refusal(net, self.state.scans, self.link, self.ledger.n_queries, found)
        check = exact.close_to(len(missed), len(y), float(off.max()))
        return replace(found, judgement=found.judgement.add(check, first=True))

    def verified(self, found: Reading, n_verify: int) -> Reading:
        """Ask fresh inputs; where they differ, read what is there and ask others."""
        for _ in range(TRIES):
            n = n_affordable(self.ledger.oracle, n_verify, self.ledger)
            if not n:
                return self._counted(found)
            points = fresh_inputs(found.model, self.ledger.oracle, n, self.rng)
            answers = self.ledger.ask(points, "verify")
            checked = compare(found, points, answers)
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

    def _counted(self, found: Reading) -> Reading:
        return found.with_evidence(spent=dict(self.ledger.spent))

    def result(self, fit: NetFit, errors: Errors, evidence: Evidence, judgement: Verdict | None = None) -> Reading:
        """Return what was found, judged by its evidence unless a verdict is given."""
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
        evidence = replace(
            evidence, errors=standard, bounds=errors.relative[order], spent=dict(self.ledger.spent),
            notes={"chi": fit.chi, **self._notes(net)},
        )  # fmt: skip
        return Reading(Network.of(net.to_model()), judgement or certify(evidence, self.limits), evidence)

    def _notes(self, net: Net) -> dict[str, Any]:
        scans = self.state.scans
        first = scans[0] if scans else None
        return {
            "smallest_angle": smallest_angle(net),
            "smallest_weight": float(np.abs(net.u).min(initial=np.inf)),
            "attempts": len(scans),
            "notes": list(self.state.notes),
            "angles": None if first is None else first.angles,
            "values": None if first is None else first.values + net.c,
        }

    def partial(self) -> Reading | None:
        """Return what is known so far, uncertified; None before the first unit."""
        if not self.known.k:
            return None
        nothing = np.full(self.known.k, np.nan)
        errors = Errors(
            nothing, nothing, nothing, nothing, np.nan, nothing, nothing, np.full(self.known.a.shape[1], np.nan)
        )
        fit = NetFit(self.known, np.nan, nothing, nothing)
        cut_short = shared.finished("the search did not come to its end")
        so_far = Verdict((cut_short,), f"{n_of(self.known.k, 'unit')} so far", claim="")
        return self.result(fit, errors, Evidence(own=(cut_short,)), so_far)
