"""Units behind imperfect answers: choose the table of stages, walk it, say what may be claimed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...arguments import Floats, as_generator, at_least
from ...certificate import LABELS, NOISY
from ...certificate import shared_rules as shared
from ...errors import BudgetSpent, NotIdentifiable
from ...fit import Fitted
from ...fit.covariance import LEVELS
from ...forecasting import QueryLimit
from ...model import SigmoidCombination
from ...network import Network
from ...oracle import Oracle
from ..ledger import FAR, Ledger, Place
from ..odd_form import link_of
from ..precision import EXACT_ANSWERS, Precision
from ..question import ALGEBRAIC, PLATEAUS, Question, attempted
from ..region import Region
from ..result import Progress, Reading
from ..scouts import measure_precision, with_noise
from ..searches import walk
from .box_stages import BOX_STAGES, by_repeats, outlook
from .label_mean import known_mean, measure_mean
from .leverage import leverage_repeats
from .noise_certificate import NoisyEvidence, judge, result
from .other_shapes import shape_of
from .refit import worth_of_one_more
from .settings import FOR_A_BOX, FOR_LABELS, FOR_NOISE, FOR_ROUNDING, SCALE, Policy
from .split_unit import least_angle_shown, worst_ridge
from .stages import ADDITIVE_STAGES, LABEL_STAGES, Stages
from .start import first_state
from .state import FitState, Session


def read_noise(question: Question, ledger: Ledger, rng: np.random.Generator) -> Reading:
    """Read units of the first sigmoid that is possible, and a linear term beside them."""
    name = (*question.of_kinds(PLATEAUS), *question.of_kinds(ALGEBRAIC))[0]
    precision = with_noise(question.precision, ledger.oracle, rng)
    found = identify_beside_line(
        ledger.oracle, name, rng, accuracy=question.goal.accuracy, precision=precision, region=question.region,
        progress=ledger.progress,
    )  # fmt: skip
    found = replace(found, precision=precision)
    if not precision.remainder:
        return found
    checks = (shared.nothing_left(precision.sd), *found.checks)
    return replace(found, judgement=replace(found.judgement, checks=checks))


def identify_beside_line(oracle: Oracle, activation: str, rng: np.random.Generator, **options: Any) -> Reading:
    """Find units as :func:`identify_noisy` does, and the linear term that stands beside them, if there is one.

    A linear term is noticed by answers that grow far out, at no cost where there is none; it then takes 2 d queries.
    """
    found = attempted(lambda: identify_noisy(oracle, activation, rng, **options))
    if not isinstance(found, NotIdentifiable):
        return found
    if found.rules_out is None:  # anything but growth
        raise found
    linear = far_slope(oracle)
    if linear is None:
        raise NotIdentifiable(
            "Far out the answers grow at different rates in opposite directions: ReLU or similar units; name their "
            "activation.",
            rules_out=found.rules_out,
        )
    found = identify_noisy(oracle.without_line(linear), activation, rng, **options)
    m = found.model
    model = SigmoidCombination(m.units, m.weights, m.slopes, m.offsets, m.intercept, m.activation, linear)
    return replace(found, network=Network.of(model))


def far_slope(oracle: Oracle) -> Floats | None:
    """Return the slope of a function that grows linearly, (d,); None if it grows otherwise. 2 d queries."""
    # So far out that noise and sigmoids are rounding errors of the slope: at the distances where units are looked
    # for, nothing is left of the term.
    rows = FAR * np.eye(oracle.n_features)
    ahead, behind = np.split(oracle(np.concatenate([rows, -rows])), 2)
    if np.abs(ahead + behind).max() > SCALE.faint * np.abs(ahead - behind).max():
        return None
    return np.asarray((ahead - behind) / (2 * FAR))


def identify_noisy(
    oracle: Oracle,
    activation: str = "tanh",
    rng: Any = None,
    *,
    accuracy: float | None = None,
    precision: Precision | None = None,
    region: Region | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Reading:
    """Find all units of a sum of sigmoids whose values come rounded, with noise or as labels.

    Parameters
    ----------
    oracle : Oracle
        With one output. Its bounds are never left; its ``max_queries`` is respected: what is known by then is
        returned, uncertified.
    activation : {"tanh", "logistic", "erf"}
    rng : None, int or Generator
    accuracy : float, optional
        Direction error wanted (the distance of unit vectors); the search ends once all cones are narrower. By default
        0.1 for noise, and for rounded answers as far as the grid allows.
    precision : Precision, optional
        As found by :func:`measure_precision`; found now if it is not given.
    region : Region, optional
        Where the oracle may be asked; found now if it is not given.

    Raises
    ------
    NotIdentifiable
        The answers look constant, or no number of units explains them.
    BudgetSpent
        Before there were any units.
    """
    if accuracy is not None:
        at_least("accuracy", accuracy, 0, strict=True)
    link, rng, before = link_of(activation), as_generator(rng), oracle.n_answered
    precision = measure_precision(oracle, rng) if precision is None else precision
    region = Region.of(oracle) if region is None else region
    session = Session(
        _place(oracle, region, precision, progress), link, precision, accuracy, rng, _policy(region, precision)
    )
    try:
        state = attempted(lambda: _walk(session))
    except BudgetSpent as spent:
        state = _cut_short(session, spent)
    if isinstance(state, NotIdentifiable):
        latest = session.kept.latest
        if state.partial is None and latest is not None and latest.joint is not None:
            state.partial = _result(replace(latest, stopped_by=str(state)), session, oracle.n_answered - before)
        raise state
    return _result(state, session, oracle.n_answered - before)


def _place(oracle: Oracle, region: Region, precision: Precision, progress: Any) -> Place:
    """Return who asks."""
    rounding = EXACT_ANSWERS if region.is_bounded else Precision("rounded", absolute=precision.step)
    kind = "labels" if precision.is_label and not region.is_bounded else "noise"
    return Place(Ledger(oracle, None, progress, rounding, QueryLimit(kind, bounded=region.is_bounded)), region)


def _policy(region: Region, precision: Precision) -> Policy:
    if region.is_bounded:
        return FOR_A_BOX
    return FOR_LABELS if precision.is_label else FOR_NOISE if precision.has_noise else FOR_ROUNDING


def _walk(session: Session) -> FitState:
    """Go through all stages; for labels until their mean is known, too."""
    stages: Stages = BOX_STAGES if session.bounded else LABEL_STAGES if session.labels else ADDITIVE_STAGES
    state = walk(stages, first_state(session), session)
    return measure_mean(state, session) if session.labels and not session.bounded else state


def _cut_short(session: Session, spent: BudgetSpent) -> FitState:
    """Return what was known when a budget ended, with what it would have taken."""
    state = session.kept.latest
    if state is None or state.joint is None:
        raise spent
    if session.bounded:
        needed = by_repeats(len(session.y), state.cones, session.accuracy)
    else:
        needed = by_leverage(state.known.fitted, state.cones, session.accuracy, state.variance.sd)
    return replace(state, stopped_by=outlook(str(spent), needed, session.accuracy))


def by_leverage(fitted: Fitted, cones: Floats, accuracy: float, sd: float) -> int:
    """Return the queries that reach the accuracy at points of high leverage: each round about halves a cone."""
    d = fitted.theta.A.shape[1]
    rounds = np.maximum(np.ceil(np.log2(np.maximum(cones / accuracy, 1e-300))), 0)
    return int(sum(n * leverage_repeats(fitted, unit, sd) * (d - 1) for unit, n in enumerate(rounds)))


def _result(state: FitState, session: Session, n_queries: int) -> Reading:
    joint = state.known
    fitted = joint.fitted
    evidence = NoisyEvidence(
        session.precision,
        state.variance,
        state.student.gap,
        state.another,
        session.asked_for,
        state.stopped_by,
        misfit(state, session),
        bounded=session.bounded,
        one_more=worth_of_one_more(state, session),
        n_stray=len(state.rows.stray),
        uneven=np.ndim(joint.noise.relative) > 0,
        shape=shape_of(state, session) if session.noisy else None,
        mean=known_mean(state, session) if session.labels else None,
        cancelling=worst_ridge(joint, session.g, LABELS if session.labels else NOISY),
        surely=state.bound_999,
        partners=state.partners,
        blind=blind_angle_of(state, session),
    )
    # Verdicts rest on residuals of equal variance: fitting shrinks those of high leverage.
    studentised = fitted.standardised_residuals(joint.replies.X, joint.noise, session.g)
    judgement = judge(joint.settled, state.cones, evidence, joint.replies.y - fitted.residuals, studentised)
    facts = {
        "widening": state.widening.report,
        "bounds_hold": LEVELS[1],
        "directions_within": state.bound_999,
        "directions_within_99": float(state.cones.max()),
    }
    bounds = state.widening.report * joint.cones(LEVELS[1])
    return result(
        joint.settled, bounds, session.link, judgement, n_queries, evidence, facts, dict(session.ledger.spent),
        session.place.outside(joint.settled.theta),
    )  # fmt: skip


def blind_angle_of(state: FitState, session: Session) -> float:
    """Return the angle in radians up to which a second unit beside a found one would not have shown.

    As asked beside the hyperplanes; elsewhere as the information of all answers tells.
    """
    if session.n_features < 2:
        return float(np.pi / 2)  # all units are parallel
    if state.partners is not None:
        return state.partners.blind
    joint = state.known
    return least_angle_shown(joint.fitted, joint.replies.X, joint.noise, session.g, session.rng)


def misfit(state: FitState, session: Session) -> float:
    """Return the mean square of the residuals over the noise, and over that of the repeats where these refute it."""
    if session.labels:
        return 1.0
    value = float(np.mean(state.known.fitted.residuals**2) / state.variance.value)
    if session.noisy and state.has_excess(session.policy.refuted):
        value = max(value, state.variance.value / state.repeats.value)
    return value
