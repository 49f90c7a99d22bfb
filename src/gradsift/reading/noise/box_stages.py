"""Imperfect answers inside a box: the stages of open inputs, with the most informative inputs instead of far ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...activations import Activation, get_activation
from ...arguments import Floats, as_generator, at_least
from ...certificate import LABELS, NOISY
from ...errors import BudgetSpent
from ...fit import Fitted, covariance_root, predict, value_jacobian
from ...fit.covariance import LEVELS
from ...fit.design import best_rows
from ...forecasting import Allotment
from ...likelihood import Noise
from ...oracle import Oracle
from ..ledger import Ledger
from ..odd_form import link_of
from ..precision import Precision
from ..region import Box, box_of
from ..result import Progress, Reading
from ..scouts import measure_precision
from ..stage import END, Stage, walk
from .identify import blind_angle_of, by_averaging, misfit, outlook
from .initial_fit import first_belief, learn, learn_more
from .label_mean import known_mean
from .leverage import surprise
from .noise_certificate import NoisyEvidence, judge, result
from .noise_tests import Variance
from .other_shapes import shape_of
from .policies import FOR_A_BOX, FOR_LABELS_IN_A_BOX
from .refine_directions import calibrated
from .refit import least_noise, look_wider, refit, thin_out, widened, worth_of_wider
from .session import Asker
from .settings import NOISY_BOX, TELLING
from .split_unit import weakest_ridge
from .stages import Stages
from .state import Belief, Outcome, Reach


def telling_points(
    fitted: Fitted, n: int, share: float, noise: Noise, g: Activation, rng: np.random.Generator
) -> Floats:
    """Return n rows of [-1, 1]^d that shrink the directions' errors most, by greedy exchange.

    Candidates are uniform in the box, and projected towards a random unit's plane, where its argument is small. Each
    is worth the drop of the summed variance of all directions. O(n^2 P^2) flops for P unknowns.
    """
    pool = _candidates(fitted, TELLING.pool * n, share, rng)
    theta = fitted.theta
    layout, d = theta.layout, theta.A.shape[1]
    J = value_jacobian(theta, pool, g, fitted.mirrors) * np.sqrt(noise.precision(predict(theta, pool, g)))[:, None]
    # In the frames of the units a direction is all coordinates but the first, over the length.
    across = layout.rows(np.arange(layout.size))[:, 1:d].ravel()
    sizes = np.repeat(1 / np.linalg.norm(theta.A, axis=1), d - 1)
    return np.asarray(pool[best_rows(J, covariance_root(fitted.information), n, across, sizes)])


def _candidates(fitted: Fitted, n: int, share: float, rng: np.random.Generator) -> Floats:
    theta = fitted.theta
    k, d = theta.A.shape
    pool = rng.uniform(-1.0, 1.0, (n, d))
    pool[: n // 4] *= share
    unit = rng.integers(k, size=n)
    z = np.einsum("nd,nd->n", pool, theta.A[unit]) + theta.b[unit]
    wanted = rng.uniform(-1.5, 1.5, n)
    moved = pool - ((z - wanted) / (theta.A[unit] ** 2).sum(axis=1))[:, None] * theta.A[unit]
    inside = np.abs(moved).max(axis=1) <= 1
    pool[inside] = moved[inside]
    return np.asarray(pool)


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
    oracle: Oracle,
    activation: str = "tanh",
    rng: Any = None,
    *,
    accuracy: float | None = None,
    precision: Precision | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Reading:
    """Find the units behind imperfect answers inside a box; never asks outside ``oracle.bounds``.

    Parameters
    ----------
    oracle : Oracle
        With one output and finite bounds.
    activation : str
        One that saturates.
    rng : None, int or Generator
    accuracy : float, optional
        Direction error wanted.
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
    link, rng, before = link_of(get_activation(activation)), as_generator(rng), oracle.n_answered
    box = box_of(oracle, Ledger(oracle, None, progress, allotment=Allotment("noise", bounded=True)))
    precision = measure_precision(oracle, rng) if precision is None else precision
    policy = FOR_LABELS_IN_A_BOX if precision.is_label else FOR_A_BOX
    asker = Asker(box, link, precision, accuracy, rng, policy)
    try:
        belief = walk(BOX_STAGES, first_belief(asker), asker)
    except BudgetSpent as spent:
        latest = asker.diary.latest
        if latest is None or latest.joint is None:
            raise
        belief = replace(latest, shortage=_outlook(latest, asker, str(spent)))
    return _result(belief, asker, box, oracle.n_answered - before)


def _outlook(belief: Belief, asker: Asker, reason: str) -> str:
    """Say why the search ended, and what the accuracy would take."""
    return outlook(reason, by_averaging(len(asker.y), belief.cones, asker.accuracy), asker.accuracy)


def _result(belief: Belief, asker: Asker, box: Box, n_queries: int) -> Reading:
    """Return what is known, in the oracle's coordinates."""
    joint = belief.known
    fitted = joint.fitted
    evidence = NoisyEvidence(
        asker.precision, belief.variance, belief.study.gap, None, asker.asked_for, belief.shortage,
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
        "directions_within_99": float(belief.cones.max()),
    }  # fmt: skip
    bounds = belief.widening.report * joint.cones(LEVELS[1])
    outside = box.outside(joint.settled.theta)
    return result(
        joint.settled, bounds, asker.link, judgement, n_queries, evidence, facts, dict(asker.ledger.spent), outside
    )
