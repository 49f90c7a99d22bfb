"""Stages that doubt: is every unit one, or does it stand for two parallel or nearly parallel ones?"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ...arguments import Floats
from ...certificate import NOISY
from ...fit import Fitted, fit_jointly
from ...likelihood import Noise
from .beside_planes import (
    SecondUnitTest,
    Sides,
    blind_angle,
    least_second_weight,
    log_ratios,
    no_sides,
    pair_covariance,
    residuals_of,
    sides_of,
)
from .leverage import informative_points
from .other_shapes import best_rivals
from .refine_directions import ask_leverage_points
from .refit import least_noise, one_more_unit, refit, restart_across_plane, take_one_more, thin_out
from .settings import BESIDE, DOUBT, PROFILES
from .split_unit import SuspectedPair, halved
from .state import FitState, Numbers, Outcome, Session


class _Heard(NamedTuple):
    """Pairs of inputs beside hyperplanes, and what was answered.

    sides : n pairs
    rows, answers : (m, 2) numbers of rows, and their answers
    pair : (m,) number of the pair that each was asked at
    """

    sides: Sides
    rows: Numbers
    answers: Floats
    pair: NDArray[np.intp]

    def joined(self, others: _Heard) -> _Heard:
        """Return these and others."""
        return _Heard(
            self.sides.joined(others.sides),
            np.concatenate([self.rows, others.rows]),
            np.concatenate([self.answers, others.answers]),
            np.concatenate([self.pair, others.pair + len(self.sides.across)]),
        )

    @property
    def counts(self) -> NDArray[np.intp]:
        """(n,) how often each pair was asked."""
        return np.bincount(self.pair, minlength=len(self.sides.across))

    @property
    def means(self) -> Floats:
        """(n, 2) mean answers of each pair."""
        sums = np.zeros((len(self.sides.across), 2))
        np.add.at(sums, self.pair, self.answers)
        return np.asarray(sums / self.counts[:, None])


def look_beside_planes(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Ask on both sides of each unit's hyperplane far out; where a partner shows, make the unit two.

    An alarm may also come from a unit that is off by more than its errors say: one unit is fitted to these answers as
    well, and asked about again.
    """
    if session.n_features < 2:
        return state, Outcome.STANDS
    leaner = thin_out(state.with_student(least=0), session)  # what circles about rough units have shown counts no more
    if leaner.known.n_units < state.known.n_units:
        return replace(leaner, another=None), Outcome.REFUTED
    state = _sharp_enough(state, session)
    heard = _ask(state, session)
    test = _weighed(state, session, heard)
    n_alarms = (0 if state.partners is None else state.partners.n_alarms) + (test.suspect is not None)
    state = replace(state, partners=test._replace(n_alarms=n_alarms))
    if test.suspect is None or n_alarms >= DOUBT.alarms:
        return state, Outcome.STANDS
    return _refit_suspected(state, session, heard.joined(_find_step(state, session, heard, test.suspect)), test.suspect)


def look_for_parallel_pairs(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Ask on the slopes of all units at once while two parallel units in the place of one might explain the answers.

    No answer far out tells them from one. Where they explain the answers better they take its place.
    """
    for _ in range(DOUBT.rounds if session.noisy else 0):
        joint = state.known
        if best_rivals(state, session)[1].gain < DOUBT.nats + np.log(joint.n_units):  # the best of as many by chance
            break
        points = informative_points(joint.fitted.theta, state.radius, PROFILES.n_points, session.g, session.rng)
        asked = session.ask(points, "profiles")
        state = refit(state.with_rows(used=np.concatenate([state.rows.used, asked.rows])), session)
        wider = one_more_unit(state, session)
        n_lessons = state.student.n_lessons + 1
        if wider is not None and n_lessons <= DOUBT.alarms:
            return take_one_more(
                replace(state.with_student(n_lessons=n_lessons), larger_fit=wider), session
            ), Outcome.MISSING_UNIT
    return state, Outcome.STANDS


def _find_step(state: FitState, session: Session, heard: _Heard, unit: int) -> _Heard:
    """Ask in further directions at wider tilts: between which of them is the partner's step?"""
    fitted = state.known.settled
    toward = _shown(fitted, heard, session, unit).across
    n = _n_pairs(session, 1)
    sides = no_sides(*fitted.theta.A.shape)
    for number, wider in enumerate(session.rng.permutation(np.geomspace(1.0, BESIDE.wider, n))):
        prefer = toward if number % 2 else None
        one = sides_of(fitted, np.array([unit]), state.widening.stop, session.rng, prefer, float(wider))
        sides = sides.joined(one)
    return _answered(session, sides, np.arange(len(sides.across)))


def _refit_suspected(state: FitState, session: Session, heard: _Heard, unit: int) -> tuple[FitState, Outcome]:
    """Take the answers in, and go on with the network that explains all of them best: one unit there, or two."""
    noise = least_noise(state, session)
    suspected = _shown(state.known.settled, heard, session, unit)
    used = np.union1d(np.concatenate([state.rows.used, state.rows.stray]), heard.rows)
    state = state.with_rows(used=used, stray=state.rows.stray[:0])
    X, y = session.X[used], session.y[used]
    one = restart_across_plane(fit_jointly(state.known.fitted.theta, X, y, noise, session.g), X, y, noise, session.g)
    best = halved(one, suspected, X, y, noise, session.g, session.rng)
    return refit(replace(state, another=None), session, best), Outcome.MISSING_UNIT


def _n_pairs(session: Session, n_groups: int) -> int:
    """Return in how many directions each unit is asked about at least: no more than a share of all queries allows."""
    few, some, many = BESIDE.n_pairs
    wanted = few if session.n_features <= 5 else some if session.n_features <= 10 else many
    return max(few, min(wanted, int(session.policy.another.share * session.ledger.n_queries / (2 * n_groups))))


def _noise(state: FitState, session: Session) -> Noise:
    """Return the noise; on plateaus rounding is none: it is the same at every point."""
    noise = session.noise(state)
    return replace(noise, sd=max(noise.sd, 0.5 * session.precision.grid))


def _groups(k: int, d: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """Return all units in groups that are asked about at once, at random.

    Directions across all units of a group lack as many dimensions, so that groups of more than a third of them change.
    """
    n = 1 if BESIDE.per_unit * k <= d or k == 1 else max(2, -(-2 * k // d))
    return np.array_split(rng.permutation(k), n)


def _ask_beside(fitted: Fitted, groups: list[NDArray[np.intp]], state: FitState, session: Session) -> _Heard:
    """Ask one pair for each group of units; of a group whose hyperplanes have no common one, for each unit."""
    k, d = fitted.theta.A.shape
    sides = no_sides(k, d)
    for group in groups:
        one = sides_of(fitted, group, state.widening.stop, session.rng)
        if not len(one.across) and len(group) > 1:
            for unit in group:
                sides = sides.joined(sides_of(fitted, np.array([unit]), state.widening.stop, session.rng))
        sides = sides.joined(one)
    return _answered(session, sides, np.arange(len(sides.across)))


def _answered(session: Session, sides: Sides, pairs: NDArray[np.intp]) -> _Heard:
    """Ask some of the pairs."""
    asked = session.ask(sides.points[pairs].reshape(-1, session.n_features), "beside planes")
    return _Heard(sides, asked.rows.reshape(-1, 2), asked.answers.reshape(-1, 2), pairs)


def _ask(state: FitState, session: Session) -> _Heard:
    """Ask about every unit in the least number of directions; go on where that does not decide.

    Directions in which a partner seems to show are asked again.
    """
    fitted = state.known.settled
    k, d = fitted.theta.A.shape
    n = _n_pairs(session, len(_groups(k, d, session.rng)))
    heard = _ask_beside(fitted, [group for _ in range(n) for group in _groups(k, d, session.rng)], state, session)
    for number in range(DOUBT.alarms):
        found = [_ratios(fitted, heard, unit, state, session) for unit in range(k)]
        if not len(heard.rows) or np.nanmax([_mean_ratio(ratios) for ratios in found]) > NOISY.single_units:
            break
        doubtful = np.unique(np.concatenate([
            heard.sides.of(unit)[ratios.max(axis=(1, 2)) > BESIDE.doubtful] for unit, ratios in enumerate(found)
        ]))  # fmt: skip
        undecided = np.flatnonzero([ratios[:, 0, 0].sum() > -DOUBT.nats for ratios in found])
        if (
            len(doubtful) and session.noisy and not (len(undecided) and number % 2)
        ):  # rounding is the same when repeated
            again = _answered(session, heard.sides, doubtful)
            heard = heard._replace(
                rows=np.concatenate([heard.rows, again.rows]), answers=np.concatenate([heard.answers, again.answers]),
                pair=np.concatenate([heard.pair, doubtful]),
            )  # fmt: skip
        elif len(undecided):
            groups = [undecided[group] for group in _groups(len(undecided), d, session.rng)]
            heard = heard.joined(_ask_beside(fitted, groups, state, session))
        else:
            break
    return heard


def _ratios(fitted: Fitted, heard: _Heard, unit: int, state: FitState, session: Session) -> Floats:
    """Return the log-likelihood ratios of a partner of a unit, direction by direction: (n, s, m)."""
    own = heard.sides.of(unit)
    sides = heard.sides.at(own)
    residuals = residuals_of(fitted, sides, heard.means[own], session.g)
    covariances = pair_covariance(fitted, sides, _noise(state, session).sd ** 2 / heard.counts[own], session.g)
    weights = float(least_second_weight(fitted.theta.u)[unit]) * np.array(BESIDE.ladder)
    return log_ratios(residuals, covariances, weights)


def _mean_ratio(ratios: Floats) -> float:
    """Return the log of the mean likelihood ratio over all weights of a partner and chances that it shows.

    Not a number without directions.
    """
    # Directions are independent, so that log ratios add up; weights and probabilities are averaged with a flat prior.
    return float(logsumexp(ratios.sum(axis=0)) - np.log(ratios[0].size)) if len(ratios) else np.nan


def _weighed(state: FitState, session: Session, heard: _Heard) -> SecondUnitTest:
    """Return what the answers say of all units, and how close a partner may be that they do not show."""
    fitted = state.known.settled
    units = range(state.known.n_units)
    found = [_ratios(fitted, heard, unit, state, session) for unit in units]
    ratios = np.array([_mean_ratio(own) for own in found])
    blind = max(_blind_beside(fitted, unit, heard.sides, session.rng) for unit in units)
    weight = max(map(_weight_excluded, found, least_second_weight(fitted.theta.u)))
    alarm = bool((ratios > NOISY.single_units).any())
    return SecondUnitTest(ratios, weight, blind, int(np.nanargmax(ratios)) if alarm else None)


def _weight_excluded(ratios: Floats, least: float) -> float:
    """Return the smallest weight of a partner that the answers rule out, infinite if they rule out none."""
    ruled_out = np.flatnonzero(ratios[:, 0].sum(axis=0) <= -DOUBT.nats)
    return least * BESIDE.ladder[int(ruled_out[0])] if len(ruled_out) else np.inf


def _blind_beside(fitted: Fitted, unit: int, sides: Sides, rng: np.random.Generator) -> float:
    """Return the blind angle beside one unit, in radians."""
    own = sides.of(unit)
    return blind_angle(fitted.theta.A[unit], sides.across[own], sides.tilts[own, unit], rng)


def _shown(fitted: Fitted, heard: _Heard, session: Session, unit: int) -> SuspectedPair:
    """Return what the answers say of a unit's partner: each direction that shows it votes.

    With a partner of weight u, the residual ahead of the hyperplane is -2 u, or the one behind it 2 u. The first
    means that the partner's direction e across the unit has ``<v, e> < 0``, the second that it has ``<v, e> > 0``.
    """
    own = heard.sides.of(unit)
    across = heard.sides.across[own]
    residuals = residuals_of(fitted, heard.sides.at(own), heard.means[own], session.g)
    side = np.argmax(np.abs(residuals), axis=1)
    steps = np.where(side == 0, -1.0, 1.0) * residuals[np.arange(len(side)), side]  # (n,) twice the partner's weight
    large = np.abs(steps) > 0.5 * np.abs(steps).max()
    sign = 1.0 if steps[large].sum() >= 0 else -1.0
    # Each direction votes for e with its own residuals: the sum is a least squares estimate up to its length.
    e = sign * residuals.sum(axis=1) @ across
    a = fitted.theta.A[unit]
    e = e - (e @ a) / (a @ a) * a
    return SuspectedPair(
        unit, np.asarray(e / max(float(np.linalg.norm(e)), 1e-300)),
        0.5 * sign * float(np.median(np.abs(steps[large]))), float(np.median(heard.sides.tilts[own, unit])),
        float(np.linalg.norm(heard.sides.points, axis=2).max()),
    )  # fmt: skip


def _sharp_enough(state: FitState, session: Session) -> FitState:
    """Ask at points of high leverage where directions are so uncertain that partners at a wide angle would not show."""
    per_noise, least, most = session.policy.another.blind
    for _ in range(DOUBT.rounds):
        fitted, cones = state.known.settled, state.known.cones()
        wanted = float(np.clip(per_noise * state.variance.sd / np.abs(fitted.theta.u).min(), least, most))
        shares = wanted / np.array([_expected_blind_angle(state, session, unit) for unit in range(len(cones))])
        if (shares >= 1).all():
            break
        sharper = np.maximum(shares, BESIDE.sharper) * cones
        state = ask_leverage_points(state, session, float(sharper[shares < 1].min()))[0]
    return state


def _expected_blind_angle(state: FitState, session: Session, unit: int) -> float:
    """Return the blind angle beside a unit that the next pairs of inputs would leave, in radians; asks nobody."""
    fitted = state.known.settled
    k, d = fitted.theta.A.shape
    sides = no_sides(k, d)
    for _ in range(_n_pairs(session, len(_groups(k, d, session.rng)))):
        sides = sides.joined(sides_of(fitted, np.array([unit]), state.widening.stop, session.rng))
    return _blind_beside(fitted, unit, sides, session.rng)
