"""From a black box to its network: rays, circle, plane, probes, joint fit, certificate, retry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...activations import get_activation
from ...checking import Floats, as_generator, at_least
from ...checks import EXACT, Verdict, any_method, n_of
from ...errors import BudgetSpent, NotIdentifiable
from ...geometry import orthonormal_rows
from ...oracle import Oracle
from ..asking import Ledger
from ..links import Link, link_of, with_algebraic_tails
from ..result import Identification, Progress
from .accuracy import Errors
from .arcs import suspected_arcs
from .certificate import certify, far_points, fresh_points, smallest_angle
from .circle import CircleScan, scan_circle
from .exact_policy import SEARCH
from .families import AlgebraicTails, WrongFamily
from .frames import PlaneFrame, frame_through
from .joint import Solution, solve_jointly
from .net import Net, empty_net
from .pairs import read_pairs
from .plane import settle_in_plane
from .polish import polish
from .probe import probe_units
from .prune import without_cancelled, without_contaminated, without_suspects
from .rays import Rays, cast_rays
from .refusals import raise_if_drowned, raise_if_shapeless, why_incomplete
from .tails import find_by_student

__all__ = ["identify"]


def identify(
    oracle: Oracle,
    activation: str = "tanh",
    rng: Any = None,
    max_queries: int | None = None,
    progress: Callable[[Progress], None] | None = None,
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
    search = _Search(Ledger(oracle, max_queries, progress), as_generator(rng))
    try:
        return search.any_family() if activation == "auto" else search.family(activation)
    except BudgetSpent as spent:
        raise BudgetSpent(str(spent), search.partial()) from None


class _Search:
    """One identification while it runs: what is known, and the attempts so far."""

    def __init__(self, ledger: Ledger, rng: np.random.Generator) -> None:
        self.ledger, self.rng = ledger, rng
        self.link = link_of("tanh")
        self.known = empty_net(self.link, ledger.n_features, 0.0)
        self.scans: list[CircleScan] = []
        self.notes: list[str] = []
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
        return self._finish(solve_jointly(net, self.ledger))

    def family(self, name: str) -> Identification:
        """Find the units of one activation."""
        self.link = link_of(name)
        if np.isinf(self.link.flat):
            return self.student(self.link)
        rays = cast_rays(self.ledger, self.link, self.rng)
        self.known = empty_net(self.link, self.ledger.n_features, rays.intercept, self.ledger.linear)
        raise_if_drowned(self.ledger, SEARCH.circle * rays.scale)
        last: Identification | None = None
        idle = 0
        radius = SEARCH.circle * rays.scale
        for attempt in range(SEARCH.most_attempts):
            before = self.known.k
            self._look(rays, attempt, radius)
            if not self.known.k and not self.further_out and last is None:
                raise_if_shapeless(self.scans[-1], self.link, self.ledger.n_queries)
            idle = idle + 1 if self.known.k <= before else 0
            residuals = self.ledger.y - self.known.predict(self.ledger.X)
            far_out = self._only_far_rows_missed(residuals, radius) or (self.further_out and not self.known.k)
            radius *= SEARCH.leap if far_out else 2
            if idle > (1 if self.known.k else SEARCH.most_idle) and not far_out:
                break
            if not self.known.k or self._misses_a_unit(residuals):
                continue
            fit = solve_jointly(self.known, self.ledger)
            if not fit.chi < EXACT.residuals:
                self.notes.append(f"attempt {attempt + 1}: joint fit misses by {fit.chi:.3g} times the rounding error")
                self.known = without_suspects(fit, self.ledger)
                continue
            last = self._finish(fit)
            if last.certified:
                return last
            self.known = fit.net
        if last is not None:
            return last
        raise NotIdentifiable(why_incomplete(self.known.k, self.scans, self.ledger.n_queries), self.partial())

    def _look(self, rays: Rays, attempt: int, radius: float) -> None:
        """Scan one more plane for units that are not known yet, and read those found."""
        n_before = self.ledger.n_stored
        frame, angles, answers = self._plane(rays, attempt, radius)
        scan = scan_circle(self.ledger, frame, radius, self.known, angles, answers, SEARCH.intervals * 2**attempt)
        self.scans.append(scan)
        units, impure = settle_in_plane(self.ledger, scan, self.known)
        before, known = self.known, self.known.with_units(probe_units(self.ledger, frame, units, self.known))
        # On the first circle single units overlap by chance; what is no unit on the next one is suspected of being two.
        arcs = suspected_arcs(scan, impure, known, before, n_before) if attempt else []
        if len(arcs) <= (SEARCH.most_pairs if known.k else 1) and known.a.size < SEARCH.most_for_pairs:
            known = known.with_units(read_pairs(self.ledger, arcs, known, self.rng))
        self.known = without_contaminated(without_cancelled(known), self.ledger)
        self.ledger.n_units = self.known.k

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

    def _misses_a_unit(self, residuals: Floats) -> bool:
        """Say whether some answer is off by more than the units' own inaccuracy before the joint fit."""
        inaccuracy = 1e-7 * self.known.sensitivity(self.ledger.X)
        return bool((np.abs(residuals) > SEARCH.complete * np.abs(self.known.u).min() + inaccuracy).any())

    def _only_far_rows_missed(self, residuals: Floats, radius: float) -> bool:
        """Say whether what is missing lies far out: all rows up to the circle are met up to a constant."""
        residuals = residuals * (np.abs(residuals) > 1e-7 * self.known.sensitivity(self.ledger.X))
        near = np.linalg.norm(self.ledger.X, axis=1) < 1.5 * radius
        wrong = SEARCH.complete * max(self.ledger.largest, 1e-300)
        spread = np.abs(residuals[near] - np.median(residuals[near])).max()
        return bool(spread < wrong < np.abs(residuals).max())

    def _finish(self, fit: Solution) -> Identification:
        """Polish, test on fresh points, and judge."""
        fit, errors = polish(fit, self.ledger, self.rng)
        points = fresh_points(fit.net, SEARCH.n_fresh, self.rng)
        fresh = (self.ledger.ask(points, "fresh") - fit.net.predict(points)) / fit.net.sensitivity(points)
        far = far_points(fit.net, self.ledger, self.rng)
        if len(far):
            self.ledger.ask(far, "fresh")
        fit = solve_jointly(fit.net, self.ledger)
        return self._result(fit, errors, certify(fit, errors, self.ledger, fresh))

    def _result(self, fit: Solution, errors: Errors, judgement: Verdict) -> Identification:
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
        return self._result(fit, errors, Verdict((cut_short,), f"{n_of(self.known.k, 'unit')} so far", claim=""))
