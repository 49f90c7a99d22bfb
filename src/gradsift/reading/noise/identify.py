"""From a noisy or rounded black box to its network: choose the table of stages, walk it, say what may be claimed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...arguments import Floats, as_generator, at_least
from ...certificate import LABELS, NOISY
from ...errors import BudgetSpent, NotIdentifiable
from ...fit import Fitted
from ...fit.covariance import LEVELS
from ...forecasting import Allotment
from ...oracle import Oracle
from ..ledger import Ledger
from ..odd_form import link_of
from ..precision import Precision
from ..question import attempted
from ..result import Progress, Reading
from ..scouts import measure_precision
from ..stage import walk
from .initial_fit import first_belief
from .label_mean import known_mean, measure_mean
from .leverage import lever_sets
from .noise_certificate import NoisyEvidence, judge, result
from .other_shapes import shape_of
from .policies import FOR_LABELS, FOR_NOISE, FOR_ROUNDING
from .refit import worth_of_wider
from .session import Anywhere, Asker
from .split_unit import least_angle_shown, weakest_ridge
from .stages import ADDITIVE_STAGES, LABEL_STAGES
from .state import Belief

_MANY_QUERIES = 10**6  # from here on only the size is told


def by_levers(fitted: Fitted, cones: Floats, accuracy: float, sd: float) -> int:
    """Return the queries after which levers, each round of which about halves a cone, reach the accuracy."""
    d = fitted.theta.A.shape[1]
    rounds = np.maximum(np.ceil(np.log2(np.maximum(cones / accuracy, 1e-300))), 0)
    return int(sum(n * lever_sets(fitted, unit, sd) * (d - 1) for unit, n in enumerate(rounds)))


def by_averaging(n_answers: int, cones: Floats, accuracy: float) -> int:
    """Return the queries after which more of the same, whose errors fall like one over the root, reach it."""
    return int(np.ceil(n_answers * max((float(cones.max()) / accuracy) ** 2 - 1, 0)))


def outlook(reason: str, n_more: int, accuracy: float) -> str:
    """Return why a campaign ended, and what it would have taken."""
    if not n_more:
        return reason
    number = f"{n_more}" if n_more < _MANY_QUERIES else f"{n_more:.1e}"
    return f"{reason.rstrip('.')}; about {number} more queries would reach an accuracy of {accuracy:.2g}"


_POLICIES = {"labels": FOR_LABELS, "noisy": FOR_NOISE}


def identify_imperfect(
    oracle: Oracle,
    activation: str = "tanh",
    rng: Any = None,
    *,
    accuracy: float | None = None,
    precision: Precision | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Reading:
    """Find all units of a sum of sigmoids whose values come rounded or with noise.

    Parameters
    ----------
    oracle : Oracle
        With one output; its ``max_queries`` is respected: what is known by then is returned, uncertified.
    activation : {"tanh", "logistic", "erf"}
    rng : None, int or Generator
    accuracy : float, optional
        Direction error wanted (the distance of unit vectors); the search ends once all cones are narrower. By default
        0.1 for noise, and for rounded answers as far as the grid allows.
    precision : Precision, optional
        As found by :func:`measure_precision`; found now if it is not given.

    Raises
    ------
    NotIdentifiable
        The answers look constant, or no number of units explains them.
    BudgetSpent
        Before there were any units.
    """
    if accuracy is not None:
        at_least("accuracy", accuracy, 0, strict=True)
    link = link_of(activation)
    rng = as_generator(rng)
    before = oracle.n_answered
    precision = measure_precision(oracle, rng) if precision is None else precision
    allotment = Allotment("labels" if precision.is_label else "noise")
    ledger = Ledger(oracle, None, progress, precision.step, allotment=allotment)
    asker = Asker(Anywhere(ledger), link, precision, accuracy, rng, _POLICIES.get(precision.kind, FOR_ROUNDING))
    try:
        belief = attempted(lambda: _walked(asker))
    except BudgetSpent as spent:
        belief = _cut_short(asker, spent)
    if isinstance(belief, NotIdentifiable):
        latest = asker.diary.latest
        if belief.partial is None and latest is not None and latest.joint is not None:
            belief.partial = _result(replace(latest, shortage=str(belief)), asker, oracle.n_answered - before)
        raise belief
    return _result(belief, asker, oracle.n_answered - before)


def _walked(asker: Asker) -> Belief:
    """Go through all stages; for labels until their mean is known, too."""
    belief = walk(LABEL_STAGES if asker.labels else ADDITIVE_STAGES, first_belief(asker), asker)
    return measure_mean(belief, asker) if asker.labels else belief


def _cut_short(asker: Asker, spent: BudgetSpent) -> Belief:
    """Return what was known when a budget ended, with what it would have taken."""
    belief = asker.diary.latest
    if belief is None or belief.joint is None:
        raise spent
    needed = by_levers(belief.known.fitted, belief.cones, asker.accuracy, belief.variance.sd)
    return replace(belief, shortage=outlook(str(spent), needed, asker.accuracy))


def _result(belief: Belief, asker: Asker, n_queries: int) -> Reading:
    joint = belief.known
    fitted = joint.fitted
    evidence = NoisyEvidence(
        asker.precision,
        belief.variance,
        belief.study.gap,
        belief.another,
        asker.asked_for,
        belief.shortage,
        misfit(belief, asker),
        one_more=worth_of_wider(belief, asker),
        n_stray=len(belief.rows.stray),
        uneven=np.ndim(joint.noise.relative) > 0,
        shape=shape_of(belief, asker) if asker.noisy else None,
        mean=known_mean(belief, asker) if asker.labels else None,
        cancelling=weakest_ridge(joint, asker.g, LABELS if asker.labels else NOISY),
        surely=belief.surely,
        partners=belief.partners,
        blind=blind_angle_of(belief, asker),
    )
    studentised = fitted.studentised(joint.replies.X, joint.noise, asker.g)
    judgement = judge(joint.settled, belief.cones, evidence, joint.replies.y - fitted.residuals, studentised)
    facts = {
        "widening": belief.widening.report,
        "bounds_hold": LEVELS[1],
        "directions_within": belief.surely,
        "directions_within_99": float(belief.cones.max()),
    }
    bounds = belief.widening.report * joint.cones(LEVELS[1])
    return result(joint.settled, bounds, asker.link, judgement, n_queries, evidence, facts, dict(asker.ledger.spent))


def blind_angle_of(belief: Belief, asker: Asker) -> float:
    """Return the angle in radians up to which a second unit beside a found one would not have shown.

    As asked beside the hyperplanes; elsewhere as the information of all answers tells.
    """
    if asker.n_features < 2:
        return float(np.pi / 2)  # all units are parallel
    if belief.partners is not None:
        return belief.partners.blind
    joint = belief.known
    return least_angle_shown(joint.fitted, joint.replies.X, joint.noise, asker.g, asker.rng)


def misfit(belief: Belief, asker: Asker) -> float:
    """Return the mean square of the residuals over the noise, and over that of the repeats where these refute it."""
    if asker.labels:
        return 1.0
    value = float(np.mean(belief.known.fitted.residuals**2) / belief.variance.value)
    if asker.noisy and belief.refuted(asker.policy.refuted):
        value = max(value, belief.variance.value / belief.repeats.value)
    return value
