"""Imperfect answers inside a box: the stages of open inputs, with the most informative inputs instead of far ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...fit import Fitted, covariance_factor, predict, value_jacobian
from ...fit.design import best_rows
from ...likelihood import Noise
from ..stage import END, Stage
from .leverage import surprise
from .noise_tests import Variance
from .refine_directions import calibrated
from .refit import least_noise, look_wider, refit, thin_out, widened
from .settings import NOISY_BOX, TELLING
from .stages import Stages
from .start import learn, learn_more
from .state import Asker, Belief, Outcome, Reach

_MANY_QUERIES = 10**6  # from here on only the size is told


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
    return np.asarray(pool[best_rows(J, covariance_factor(fitted.information), n, across, sizes)])


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
        belief = replace(
            belief, shortage=outlook(reason, by_averaging(len(asker.y), belief.cones, asker.accuracy), asker.accuracy)
        )
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


def by_averaging(n_answers: int, cones: Floats, accuracy: float) -> int:
    """Return the queries after which more of the same, whose errors fall like one over the root, reach it."""
    return int(np.ceil(n_answers * max((float(cones.max()) / accuracy) ** 2 - 1, 0)))


def outlook(reason: str, n_more: int, accuracy: float) -> str:
    """Return why a campaign ended, and what it would have taken."""
    if not n_more:
        return reason
    number = f"{n_more}" if n_more < _MANY_QUERIES else f"{n_more:.1e}"
    return f"{reason.rstrip('.')}; about {number} more queries would reach an accuracy of {accuracy:.2g}"


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
