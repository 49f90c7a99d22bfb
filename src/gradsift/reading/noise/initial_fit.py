"""Stages that begin: read steps, find the scale, and let a student learn from random inputs until it explains them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...errors import NotIdentifiable
from ...fit import Fitted, Layout, fit_jointly
from ...fit.students import Lesson, study
from ...model import SigmoidCombination
from .input_scale import find_scale
from .leverage import informative_points
from .missing_unit_stages import look
from .noise_tests import Variance, excess_kurtosis
from .refit import joined, measure_noise, refit, thin_out, widened
from .rough_steps import find_by_steps
from .session import Asker
from .settings import LESSON, REFIT, SCALE
from .state import Belief, Outcome, Reach, RowNumbers, Study


def first_belief(asker: Asker) -> Belief:
    """Return what the first look at the answers says."""
    variance = Variance(max(asker.precision.sd, 1e-300) ** 2, REFIT.first_freedom if asker.noisy else np.inf)
    return Belief(Study(asker.policy.learning.n_spare), variance, variance)


def read_steps(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """Start from units read off a circle, where rounding is fine enough for that."""
    start = find_by_steps(asker.ledger, asker.link, asker.precision, asker.rng) if asker.precision.step else None
    aim = asker.policy.learning.arguments
    if start is None or aim is None:
        return belief, Outcome.REFUTED
    belief = replace(belief, reach=Reach(aim / float(np.median(np.linalg.norm(start.A, axis=1)))))
    n = LESSON.per_unknown * Layout(*start.A.shape).size
    asked = asker.ask(informative_points(start, belief.radius, n, asker.g, asker.rng), "parameters")
    noise = asker.noise(belief)
    fitted = fit_jointly(start, asker.X[asked.rows], asked.answers, noise, asker.g)
    belief = joined(fitted, belief.with_rows(used=asked.rows), asker, noise)
    if asker.precision.is_float32:
        belief = _allow_for_arithmetic(belief, asker)
    if belief.refuted(asker.policy.refuted):
        return belief, Outcome.REFUTED
    belief, outcome = look(thin_out(belief, asker), asker)
    return replace(belief, read=outcome is Outcome.STANDS), outcome


def _allow_for_arithmetic(belief: Belief, asker: Asker) -> Belief:
    """Take the noise from residuals as far as sums in single precision explain them."""
    fitted, X = belief.known.fitted, belief.known.replies.X
    theta = fitted.theta
    active = np.abs(theta.u) * asker.g.derivative(X @ theta.A.T + theta.b)
    terms = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(theta.A, axis=1) + np.abs(theta.b)
    explained = 2.0**-24 * (4 * asker.ledger.largest + (active * terms).sum(axis=1))
    freedom = len(X) - len(fitted.information)
    observed = float((fitted.residuals**2).sum()) / freedom
    value = min(max(belief.variance.value, observed), float(np.mean(explained**2)))
    variance = Variance(max(value, belief.variance.value), np.inf)
    return refit(replace(belief, variance=variance, repeats=variance), asker)


def look_at_scale(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """Find out how far from the origin units bend."""
    first = len(asker.y)
    scale = find_scale(asker.ledger, asker.noise(belief), asker.rng)
    even = scale.even
    variance = belief.variance.pooled(2 * float(((even - even.mean()) ** 2).sum()), len(even) - 1)
    near = np.arange(first + 2 * len(even), len(asker.y))  # the others are far out
    reach = Reach(scale.radius, scale.signal, SCALE.spread / scale.radius)
    return replace(belief.with_rows(near=near), variance=variance, repeats=variance, reach=reach), Outcome.STANDS


def draw(belief: Belief, asker: Asker, n: int) -> Belief:
    """Ask n random inputs for the student."""
    asked = asker.ask(asker.draw(n, belief), "student")
    return belief.with_rows(near=np.concatenate([belief.rows.near, asked.rows]))


def learn(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """Draw random inputs until a student explains them."""
    d, policy = asker.n_features, asker.policy.learning
    faintness = belief.variance.sd / max(belief.reach.signal, 1e-300)
    wanted = max(7 * (d + 2), int(policy.per_feature * d * faintness**2))
    most = policy.most_per_unknown * (belief.study.n_spare + 4) * (d + 2) * max(1.0, (2 * faintness) ** 2)
    in_vain = 0
    while wanted < most:
        if len(belief.rows.near) < wanted:
            belief = draw(belief, asker, wanted - len(belief.rows.near))
        belief, lesson = _lesson(belief, asker)
        in_vain = in_vain + 1 if lesson.gap < 0 else 0
        if in_vain == LESSON.most_in_vain:
            raise NotIdentifiable(
                f"A constant explains {len(belief.rows.near)} answers to random inputs as well as any units would: the "
                "function looks constant under this noise."
            )
        if lesson.saturated and belief.study.n_spare >= policy.most_spare:
            break
        belief, accepted = _judged(belief, asker, lesson)
        if accepted:
            return _taken(belief, asker, lesson), Outcome.STANDS
        if asker.labels and len(lesson.fitted.theta.u) == belief.study.least:
            # Why ever it was refused: if a unit is missing, the next test says so again.
            belief = belief.with_study(least=belief.study.least - 1)
        if policy.arguments is not None and 2 * lesson.fitted.loss < LESSON.plausible * len(belief.rows.near):
            factor = float(np.clip(np.sqrt(policy.arguments / _spread(belief, asker, lesson)), 0.6, 1.8))
            belief = replace(belief, reach=belief.reach._replace(radius=belief.radius * factor))
        wanted = int(np.ceil(policy.growth * len(belief.rows.near)))
    raise NotIdentifiable(
        f"No number of units up to {belief.study.n_spare} explains {len(belief.rows.near)} answers to random inputs: "
        f"the function is no sum of such sigmoids, or {_other_cause(asker)}.",
        _model(lesson, asker),
    )


def _other_cause(asker: Asker) -> str:
    if asker.precision.step and not asker.noisy:
        return f"answers rounded to {asker.precision.step:.2g} hide them"
    return "the noise is not what its repeats show"


def learn_more(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """Prepare another lesson: more inputs and a larger student, or one more unit where that is known to be missing."""
    policy = asker.policy.learning
    n_lessons = belief.study.n_lessons + 1
    over = n_lessons >= policy.most_lessons
    if policy.widens and belief.wider is not None:  # learning would drop the levers
        belief = widened(belief.with_study(n_lessons=n_lessons), asker)
        return belief, Outcome.OUT_OF_PATIENCE if over else Outcome.STANDS
    belief = belief.with_study(n_lessons=n_lessons, n_spare=belief.study.n_spare + 2)
    belief = replace(belief, variance=belief.repeats)
    belief = draw(belief, asker, max(2 * asker.n_features, len(belief.rows.near) // 4))
    return belief, Outcome.OUT_OF_PATIENCE if over else Outcome.REFUTED


def _lesson(belief: Belief, asker: Asker) -> tuple[Belief, Lesson]:
    policy, near = asker.policy.learning, belief.rows.near
    X, y = asker.X[near], asker.y[near]
    most = min(policy.most_spare, int(len(y) / (policy.rows_per_spare * (X.shape[1] + 2))))
    noise, spread = asker.noise(belief), asker.spread(belief)
    while True:
        n_spare = max(3, min(belief.study.n_spare, most))
        lesson = study(X, y, noise, asker.g, n_spare, spread, asker.rng, belief.study.least)
        if not lesson.saturated or belief.study.n_spare >= most:
            return belief, lesson
        belief = belief.with_study(n_spare=belief.study.n_spare + policy.grows)


def _judged(belief: Belief, asker: Asker, lesson: Lesson) -> tuple[Belief, bool]:
    """Tell whether to accept a lesson; where it misfits the noise is looked at first."""
    fitted, policy = lesson.fitted, asker.policy.learning
    n, n_unknowns = len(fitted.residuals), len(fitted.information)
    if lesson.saturated or lesson.gap < policy.clear_gap or n < policy.least_per_unknown * n_unknowns:
        return belief, False
    if _spread(belief, asker, lesson) < policy.narrow:
        return belief, False
    freedom = n - n_unknowns
    squares = float((fitted.residuals**2).sum())
    if not asker.labels:
        if squares / freedom > LESSON.doubtful * belief.variance.value:
            belief = measure_noise(belief, asker)
        if belief.variance.too_small(squares, freedom):
            if not _blames_tails(fitted):
                return belief, False
            variance = Variance(squares / freedom, float(freedom))
            belief = replace(belief, variance=variance, repeats=variance)
    return belief, bool(fitted.angles.max() < policy.rough)


def _blames_tails(fitted: Fitted) -> bool:
    """Tell whether rare large errors explain a misfit that many answers confirm."""
    many = len(fitted.residuals) >= LESSON.many_per_unknown * len(fitted.information)
    return many and excess_kurtosis(fitted.residuals) >= LESSON.tailed


def _spread(belief: Belief, asker: Asker, lesson: Lesson) -> float:
    """Return the spread of a typical unit's arguments over random inputs."""
    return asker.spread(belief) * float(np.median(np.linalg.norm(lesson.fitted.theta.A, axis=1)))


def _taken(belief: Belief, asker: Asker, lesson: Lesson) -> Belief:
    belief = belief.with_rows(used=belief.rows.near, stray=RowNumbers().stray).with_study(gap=lesson.gap)
    return thin_out(refit(replace(belief.untested(), wider=None, read=False), asker, lesson.fitted), asker)


def _model(lesson: Lesson, asker: Asker) -> SigmoidCombination:
    theta = lesson.fitted.theta
    return asker.link.to_model(theta.A, theta.b, theta.u, theta.c)
