"""Imperfect answers inside a box: the stages of open inputs, with the most telling inputs in the place of levers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...checking import Floats
from ...checks import LABELS, NOISY
from ...errors import BudgetSpent
from ..answers import Floor
from ..links import Link
from ..noisy.asker import Asker
from ..noisy.belief import Belief, Outcome, Reach
from ..noisy.cancelling import weakest_ridge
from ..noisy.cones import LEVELS
from ..noisy.identify import blind_angle_of, misfit
from ..noisy.label_mean import known_mean
from ..noisy.learning import first_belief, learn, learn_more
from ..noisy.levers import surprise
from ..noisy.noise import Variance
from ..noisy.outlook import by_averaging, outlook
from ..noisy.policies import FOR_A_BOX, FOR_LABELS_IN_A_BOX
from ..noisy.refit import least_noise, look_wider, refit, thin_out, widened, worth_of_wider
from ..noisy.rivals import shape_of
from ..noisy.sharpening import calibrated
from ..noisy.stages import END, Stage, Stages, walk
from ..noisy.verdict import NoisyEvidence, judge, result
from ..result import Identification
from .box import Box
from .box_policy import NOISY_BOX
from .telling import telling_points

__all__ = ["BOX_STAGES", "identify_noisy_box"]


def look_first(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """Learn the spread of the answers; where they are noisy ask the first ones twice."""
    first = asker.ask(asker.draw(NOISY_BOX.first, belief), "student")
    near = first.rows
    if asker.noisy:  # residuals are judged by it: a misfit is to be told from noise
        again = asker.ask(asker.X[first.rows], "noise")
        gaps = again.answers - first.answers
        variance = belief.repeats.pooled(0.5 * float((gaps**2).sum()), NOISY_BOX.first)
        near = np.concatenate([near, again.rows])
        belief = replace(belief, variance=variance, repeats=variance)
    signal = max(float(np.std(first.answers)), belief.variance.sd)  # fainter ones show as such to the student
    return replace(belief.with_rows(near=near), reach=Reach(signal=signal)), Outcome.STANDS


def ask_what_tells_most(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """Ask the most telling inputs until cones are narrow and fresh answers are as foretold."""
    for n_done in range(asker.policy.sharpening.most_rounds):
        belief = thin_out(belief, asker)
        if float(belief.cones.max()) <= asker.accuracy:
            belief = calibrated(belief, asker)
            if float(belief.cones.max()) <= asker.accuracy:
                belief, outcome = _confirm(belief, asker)
                if outcome is not Outcome.MISSING_UNIT:
                    return belief, outcome
        growth = 2 ** min(n_done // NOISY_BOX.alike, NOISY_BOX.most_doublings)
        fitted = belief.known.fitted
        n = max(len(fitted.information) // 3, asker.n_features) * growth
        points = telling_points(fitted, n, 1.0, asker.noise(belief), asker.g, asker.rng)
        belief = refit(_ask(belief, asker, points, "design"), asker)
        if belief.refuted(NOISY_BOX.refuted):  # what tells most about wrong units tells little: learn anew
            return belief, Outcome.REFUTED
    if float(belief.cones.max()) > asker.accuracy:
        reason = f"{asker.policy.sharpening.most_rounds} rounds of the most telling inputs were not enough"
        belief = replace(belief, shortage=_outlook(belief, asker, reason))
    return belief, Outcome.OUT_OF_PATIENCE


def _confirm(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """Ask whether fresh random answers are as foretold; either way they join the others.

    Most answers were asked where the known units show best, which is where a merged pair hides best.
    """
    n = NOISY_BOX.fresh * (asker.n_features + 2)
    points = asker.draw(n, belief)
    fitted, noise = belief.known.fitted, least_noise(belief, asker)
    freedom = min(belief.repeats.freedom, belief.variance.freedom)
    belief = _ask(belief, asker, points, "fresh")
    squares = surprise(fitted, points, asker.y[-n:], noise, asker.g)
    belief = refit(belief, asker)
    foretold = not Variance(1.0, freedom).too_small(float(squares.sum()), n, asker.policy.refuted)
    wider = look_wider(belief, asker)
    if wider is not None:
        return widened(replace(belief, wider=wider), asker), Outcome.MISSING_UNIT
    if belief.refuted(asker.policy.refuted):
        return belief, Outcome.REFUTED
    return belief, Outcome.STANDS if foretold else Outcome.MISSING_UNIT


def _ask(belief: Belief, asker: Asker, points: Floats, step: str) -> Belief:
    """Ask; inside a box no row is far out, so that the student may learn from all of them."""
    rows, asked = belief.rows, asker.ask(points, step).rows
    return belief.with_rows(near=np.concatenate([rows.near, asked]), used=np.concatenate([rows.used, asked]))


BOX_STAGES: Stages = {
    "first look": Stage(look_first, {Outcome.STANDS: "learn"}),
    "learn": Stage(learn, {Outcome.STANDS: "telling inputs"}),
    "telling inputs": Stage(
        ask_what_tells_most,
        {Outcome.STANDS: END, Outcome.OUT_OF_PATIENCE: END, Outcome.REFUTED: "learn more"},
    ),
    "learn more": Stage(learn_more, {Outcome.REFUTED: "learn", Outcome.OUT_OF_PATIENCE: END}),
}


def identify_noisy_box(
    box: Box, link: Link, floor: Floor, accuracy: float | None, rng: np.random.Generator
) -> Identification:
    """Find the units behind imperfect answers inside a box; all parameters are those of the box's coordinates.

    Raises
    ------
    NotIdentifiable
        The answers look constant, or no number of units explains them.
    BudgetSpent
        Before there were any units.
    """
    policy = FOR_LABELS_IN_A_BOX if floor.kind == "labels" else FOR_A_BOX
    asker = Asker(box, link, floor, accuracy, rng, policy)
    try:
        belief = walk(BOX_STAGES, first_belief(asker), asker)
    except BudgetSpent as spent:
        latest = asker.diary.latest
        if latest is None or latest.joint is None:
            raise
        belief = replace(latest, shortage=_outlook(latest, asker, str(spent)))
    return _result(belief, asker, box, box.ledger.n_queries)


def _outlook(belief: Belief, asker: Asker, reason: str) -> str:
    """Say why the search ended, and what the accuracy would take."""
    return outlook(reason, by_averaging(len(asker.y), belief.cones, asker.accuracy), asker.accuracy)


def _result(belief: Belief, asker: Asker, box: Box, n_queries: int) -> Identification:
    """Return what is known, in the oracle's coordinates."""
    joint = belief.known
    fitted = joint.fitted
    evidence = NoisyEvidence(
        asker.floor, belief.variance, belief.study.gap, None, asker.asked_for, belief.shortage,
        misfit(belief, asker), bounded=True, one_more=worth_of_wider(belief, asker), n_stray=len(belief.rows.stray),
        shape=shape_of(belief, asker) if asker.noisy else None,
        mean=known_mean(belief, asker) if asker.labels else None,
        cancelling=weakest_ridge(joint, asker.g, LABELS if asker.labels else NOISY),
        surely=belief.surely, blind=blind_angle_of(belief, asker),
    )  # fmt: skip
    studentised = fitted.studentised(joint.replies.X, joint.noise, asker.g)
    judgement = judge(joint.settled, belief.cones, evidence, joint.replies.y - fitted.residuals, studentised)
    facts = {
        "widening": belief.widening.report, "bounds_hold": LEVELS[1], "directions_within": belief.surely,
        "directions_within_99": float(belief.cones.max()), "spent": dict(asker.ledger.spent),
    }  # fmt: skip
    bounds = belief.widening.report * joint.cones(LEVELS[1])
    outside = box.outside(joint.settled.theta)
    return result(joint.settled, bounds, asker.link, judgement, n_queries, evidence, facts, outside)
