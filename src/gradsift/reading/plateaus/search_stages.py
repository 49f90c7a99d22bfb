"""The order of stages for exact answers: scan a circle, read units, compare, fit jointly, certify."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...certificate import EXACT, n_of
from ...geometry import orthonormal_rows
from ...tuned import TRIES
from ..circle import CircleScan, check_steps, scan_circle
from ..in_plane import settle_in_plane
from ..ledger import EPS, Ledger
from ..odd_form import Net
from ..plane_frame import PlaneFrame, frame_through
from ..probe import probe_units
from ..rays import Rays
from ..result import Reading
from ..scan_settings import SCAN, UNITS
from ..searches import END, Stage
from .cancelling_units import read_bump
from .joint_fit import NetFit, solve_jointly
from .large.equations import AtRows, at_rows
from .large.suspects import unit_errors, with_own_rows, without_cancelling, without_missed_probes
from .parallel_units import pair_arcs, read_pairs
from .settings import BUMPS, JOINT, PRUNE

if TYPE_CHECKING:
    from .search import Search


class CircleOutcome(Enum):
    """How a stage ended."""

    DONE = "done"
    AGAIN = "again"
    MISSED = "answers missed"
    EXHAUSTED = "exhausted"


@dataclass(frozen=True)
class SearchState:
    """What is known between two stages.

    Attributes
    ----------
    known : Net
    rays : Rays or None
        Where the first circle lies; None after it.
    radius : float
        Of the next circle.
    scans : tuple of CircleScan
    notes : tuple of str
        On joint fits that missed answers.
    n_deferred, n_reread, n_idle : int
        Circles that left units to the next one, those for misread units, and the last ones in a row that showed nothing
        new.
    n_stored : int
        Rows before the last circle.
    shows_new, leaves_some : bool
        Whether the last circle added units, and whether it left units to the next one.
    further_out : bool
        Whether hyperplanes are seen beyond the first circle.
    rows : AtRows or None
        `known` at the stored rows, where they were compared.
    missing, far_out : bool
        Whether a unit is missing, and whether far from the origin.
    fit : NetFit or None
        The joint fit.
    fallback : Net or None
        Units that are believed if nothing explains the answers that the fit misses; None: `known`.
    n_failed : int
        Units of the last joint fit that missed answers.
    n_cancelling, n_vain : int
        Sets of cancelling units that were read since the last circle, and searches for them in vain.
    close : Net or None
        Explains all rows but some near the origin.
    last : Reading or None
        The last result that was judged.
    """

    known: Net
    rays: Rays | None = None
    radius: float = 0.0
    scans: tuple[CircleScan, ...] = ()
    notes: tuple[str, ...] = ()
    n_deferred: int = 0
    n_reread: int = 0
    n_idle: int = 0
    n_stored: int = 0
    shows_new: bool = False
    leaves_some: bool = False
    further_out: bool = False
    rows: AtRows | None = None
    missing: bool = True
    far_out: bool = False
    fit: NetFit | None = None
    fallback: Net | None = None
    n_failed: int = 0
    n_cancelling: int = 0
    n_vain: int = 0
    close: Net | None = None
    last: Reading | None = None

    def at_rows(self, ledger: Ledger) -> AtRows:
        """Compare the known units with the stored rows, unless that was done."""
        return at_rows(self.known, ledger) if self.rows is None else self.rows

    @property
    def n_counted(self) -> int:
        """Number of circles beside those that left units to the next one."""
        return len(self.scans) - self.n_deferred

    @property
    def few_left(self) -> bool:
        """Whether the last circle showed a few steps that could not be read there: among many units, the next one may
        let them stand alone."""
        n_shown = len(self.scans[-1].steps) + len(self.scans[-1].unresolved)
        return self.known.k >= UNITS.many and 0 < n_shown < SCAN.by_chance * self.known.k

    @property
    def fitted(self) -> NetFit:
        """The joint fit, which some stage must have made."""
        if self.fit is None:
            raise RuntimeError("No joint fit was made.")
        return self.fit


_Stepped = tuple[SearchState, CircleOutcome]
_DONE, _AGAIN, _MISSED, _EXHAUSTED = CircleOutcome


def scan(state: SearchState, search: Search) -> _Stepped:
    """Scan a circle in one more plane for steps of units that are not known yet."""
    policy, ledger = search.policy, search.ledger
    n_circles = len(state.scans)
    if state.n_counted == policy.most_attempts or n_circles == 2 * policy.most_attempts - 1:
        return state, _EXHAUSTED
    n_stored = ledger.n_stored
    plane = _plane(state, search)
    n_intervals = policy.first.intervals * 2 ** min(n_circles, policy.most_doublings)
    seen = scan_circle(ledger, plane.frame, state.radius, state.known, plane.angles, plane.answers, n_intervals)
    return replace(
        state,
        rays=None,
        scans=(*state.scans, seen),
        n_stored=n_stored,
        further_out=plane.further_out,
    ), _DONE


class _Plane(NamedTuple):
    """A plane, angles at which the circle is flat with the answers there, and whether it lies within hyperplanes."""

    frame: PlaneFrame
    angles: Floats
    answers: Floats
    further_out: bool


def _plane(state: SearchState, search: Search) -> _Plane:
    """Return the plane of the rays for the first circle, then random ones."""
    rays, radius, ledger = state.rays, state.radius, search.ledger
    first, second = orthonormal_rows(2, ledger.n_features, search.rng) if rays is None else (rays.first, rays.second)
    frame = frame_through(first, second)
    if rays is None or ledger.linear is not None:  # beside a linear term, far plateaus are coarsely rounded
        angles = np.array([0.0, np.pi])
        return _Plane(frame, angles, ledger.ask(frame.on_circle(radius, angles), "scan"), state.further_out)
    back = ledger.ask(-radius * rays.first[None], "scan")
    further_out = bool(abs(back[0] - rays.plateaus[2]) > ledger.tolerance(radius))
    angles, answers = np.array([0.0, np.pi, np.pi / 2]), np.array([rays.plateaus[0], back[0], rays.plateaus[1]])
    n_flat = 3 if radius > 1.5 * rays.second_scale else 2
    return _Plane(frame, angles[:n_flat], answers[:n_flat], further_out)


def read_units(state: SearchState, search: Search) -> _Stepped:
    """Read the units whose steps the last circle showed."""
    ledger, policy, before, seen = search.ledger, search.policy, state.known, state.scans[-1]
    units, impure, n_left = settle_in_plane(ledger, seen, before, len(state.scans) < policy.most_attempts)
    ledger.n_units = before.k + len(units)
    known = before.with_units(probe_units(ledger, seen.frame, units, before))
    # On the first circle single units overlap by chance; what is no unit on the next one is suspected of being two.
    arcs = pair_arcs(seen, impure, known, before, state.n_stored) if len(state.scans) > 1 else []
    if len(arcs) <= (policy.most_pairs if known.k else 1) and known.a.size < JOINT.largest:
        known = known.with_units(read_pairs(ledger, arcs, known, search.rng))
    known = without_missed_probes(without_cancelling(known, ledger), ledger)
    ledger.n_units = known.k
    return replace(state, known=known, shows_new=known.k > before.k, leaves_some=n_left > 0, rows=None), _DONE


def check_shape(state: SearchState, search: Search) -> _Stepped:
    """Refuse a function whose first steps are no units; units left to another plane come before any fit."""
    if not (state.known.k or state.further_out) and state.last is None:
        check_steps(state.scans[-1], search.link, search.ledger.n_queries)
    if not state.leaves_some:
        return state, _DONE
    return replace(state, n_deferred=state.n_deferred + 1), _AGAIN


def compare_residuals(state: SearchState, search: Search) -> _Stepped:
    """Say whether the units seem to be all; a circle for those that are missing lies further out."""
    known, rows = state.known, state.at_rows(search.ledger)
    n_idle = 0 if state.shows_new or state.few_left else state.n_idle + 1
    missing = not known.k or not search.all_found(known, rows, n_idle)
    far_out = missing and (_only_far_rows_missed(state, rows, search) or (state.further_out and not known.k))
    return replace(
        state,
        radius=state.radius * (search.policy.leap if far_out else search.policy.growth),
        n_idle=n_idle,
        rows=rows,
        missing=missing,
        far_out=far_out,
        fit=None,
        fallback=known,
    ), _MISSED if missing else _DONE


def _only_far_rows_missed(state: SearchState, rows: AtRows, search: Search) -> bool:
    """Say whether what is missing lies far out: all rows up to the circle are met up to a constant."""
    ledger = search.ledger
    residuals = rows.residuals * (np.abs(rows.residuals) > search.tolerance(state.known, rows))
    near = np.linalg.norm(ledger.X, axis=1) < 1.5 * state.radius
    wrong = SCAN.little * max(ledger.largest, 1e-300)
    spread = np.abs(residuals[near] - np.median(residuals[near])).max()
    return bool(spread < wrong < np.abs(residuals).max())


def drop_suspects(state: SearchState, search: Search) -> _Stepped:
    """Drop units that must be wrong by more than their last digits, if these are few: now that all others are known,
    the next circle reads them better."""
    known, ledger = state.known, search.ledger
    others_to_come = state.n_counted < search.policy.most_attempts and state.n_reread < search.policy.most_in_vain
    if not (others_to_come and _many_exact(known, ledger)):
        return state, _DONE
    rows = state.at_rows(ledger)
    off = np.abs(rows.residuals) > search.tolerance(known, rows)
    if not off.any():
        return state, _DONE
    wrong = unit_errors(known, ledger, off) > PRUNE.misread
    if not 0 < wrong.mean() < SCAN.by_chance:
        return state, _DONE
    known = known.only(~wrong)
    ledger.n_units = known.k
    return replace(state, known=known, rows=None, n_reread=state.n_reread + 1), _AGAIN


def _many_exact(known: Net, ledger: Ledger) -> bool:
    """Say whether there are many units, and their answers exact to the last digit wherever they are read."""
    return known.k >= UNITS.many and ledger.resolution <= EPS and ledger.linear is None


def ask_own_rows(state: SearchState, search: Search) -> _Stepped:
    """Ask rows of their own for units on which too few have leverage, now that all are known."""
    ledger, n_before = search.ledger, search.ledger.n_queries
    if not _many_exact(state.known, ledger):
        return state, _DONE
    known = with_own_rows(state.known, ledger, state.at_rows(ledger).turning)
    return replace(state, known=known, rows=None if ledger.n_queries > n_before else state.rows), _DONE


def fit_jointly(state: SearchState, search: Search) -> _Stepped:
    """Fit all answers; where that misses some, say which units are still believed."""
    known, fit = search.joint(state.known)
    state = replace(state, known=known, fit=fit)
    if fit.chi < search.limits.residuals:
        return state, _DONE
    fallback = search.after_a_misfit(known, fit, state.n_failed)
    note = (
        f"attempt {len(state.scans)}: joint fit misses by {fit.chi:.3g} rounding errors, "
        f"{n_of(fit.net.k - fallback.k, 'unit')} of {fit.net.k} suspected"
    )
    return replace(state, fallback=fallback, n_failed=known.k, notes=(*state.notes, note)), _MISSED


def compare_far_rows(state: SearchState, search: Search) -> _Stepped:
    """Say whether only rows near the origin may be missed: then units may cancel far out, else one is lacking."""
    few_out_of_reach = state.fit is not None and state.fit.few_out_of_reach
    if few_out_of_reach or not search.policy.mends:
        return state, _MISSED
    if state.known.k >= UNITS.many:  # a joint fit would be vain
        off = search.off(state.known, state.at_rows(search.ledger))
        if (off & ~_near(state, search.ledger)).any():
            return state, _MISSED
    return replace(state, n_cancelling=0), _DONE


def read_cancelling(state: SearchState, search: Search) -> _Stepped:
    """Read units that cancel far out where the largest residual is; done when a joint fit then misses no answer."""
    ledger = search.ledger
    exhausted = state.n_cancelling == TRIES or state.n_vain == search.policy.most_in_vain
    fit = None if exhausted or not state.known.k else _fit_without_near_rows(state, ledger)
    if fit is None:
        return state, _MISSED
    X, off = ledger.X, np.abs(ledger.y - fit.net.predict(ledger.X))
    units = read_bump(ledger, fit.net, X[np.argmax(off / fit.net.noise(X, ledger))], search.rng)
    if units is None:
        return replace(state, n_vain=state.n_vain + 1, close=fit.net), _MISSED
    known = fit.net.with_units(units)
    ledger.n_units = known.k
    fit = solve_jointly(known, ledger)
    state = replace(state, known=known, rows=None, fit=fit, n_cancelling=state.n_cancelling + 1)
    return state, _DONE if fit.chi < EXACT.residuals else _AGAIN


def _near(state: SearchState, ledger: Ledger) -> NDArray[np.bool_]:
    """Say which rows are so near the origin that units which cancel far out may show there, (n,)."""
    return np.asarray(np.linalg.norm(ledger.X, axis=1) < BUMPS.near * state.scans[0].radius)


def _fit_without_near_rows(state: SearchState, ledger: Ledger) -> NetFit | None:
    """Return the joint fit to all rows but those near the origin, if it misses none of these."""
    near = np.flatnonzero(_near(state, ledger))
    probed = [probe.rows for probe in state.known.all_probes()]
    ledger.aside = frozenset(np.setdiff1d(near, np.concatenate([np.empty(0), *probed])).tolist())
    fit = solve_jointly(state.known, ledger)
    ledger.aside = frozenset()
    return fit if fit.chi < EXACT.residuals else None


def keep_known(state: SearchState, search: Search) -> _Stepped:
    """Go on with the units that are still believed, unless the last circles showed nothing new."""
    policy, known = search.policy, state.known if state.fallback is None else state.fallback
    state = replace(state, known=known, rows=None)
    idle = state.n_idle > (policy.patience if known.k else policy.most_in_vain) and not state.far_out
    hopeless = idle and (state.missing or not policy.mends)
    return state, _EXHAUSTED if hopeless or state.n_vain == search.policy.most_in_vain else _AGAIN


def judge_fit(state: SearchState, search: Search) -> _Stepped:
    """Test the fit on fresh points and judge it; uncertified, it is where the next circle begins."""
    found = search.finish(state.fitted)
    known = search.known if found.certified else state.fitted.net
    return replace(state, last=found, known=known, rows=None), _DONE if found.certified else _AGAIN


EXACT_STAGES: Mapping[str, Stage[SearchState, Search]] = {
    "scan": Stage(scan, {_DONE: "units", _EXHAUSTED: END}),
    "units": Stage(read_units, {_DONE: "shape"}),
    "shape": Stage(check_shape, {_DONE: "residuals", _AGAIN: "scan"}),
    "residuals": Stage(compare_residuals, {_DONE: "misread units", _MISSED: "far residuals"}),
    "misread units": Stage(drop_suspects, {_DONE: "leverage", _AGAIN: "scan"}),
    "leverage": Stage(ask_own_rows, {_DONE: "joint fit"}),
    "joint fit": Stage(fit_jointly, {_DONE: "certificate", _MISSED: "far residuals"}),
    "far residuals": Stage(compare_far_rows, {_DONE: "cancelling units", _MISSED: "fall back"}),
    "cancelling units": Stage(
        read_cancelling, {_DONE: "certificate", _AGAIN: "cancelling units", _MISSED: "fall back"}
    ),
    "fall back": Stage(keep_known, {_AGAIN: "scan", _EXHAUSTED: END}),
    "certificate": Stage(judge_fit, {_DONE: END, _AGAIN: "scan"}),
}  # fmt: skip
