"""Stages that begin: read steps, find the scale of the inputs, and fit students to random inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arguments import Floats
from ...errors import NotIdentifiable
from ...fit import Fitted, Layout, Parameters, fit_jointly
from ...fit.students import Lesson, study
from ...likelihood import Noise
from ...model import SigmoidCombination
from ..circle import CircleScan, scan_circle
from ..in_plane import settle_in_plane
from ..ledger import Ledger
from ..odd_form import Link
from ..odd_network import Net, empty_net
from ..plane_frame import PlaneFrame, frame_through
from ..precision import Precision
from ..probe import probe_units
from ..question import SATURATING_KINDS, Narrowing, attempted, names_of
from ..rays import Rays, ask_rays
from .leverage import informative_points
from .missing_unit import look
from .noise_tests import Variance, excess_kurtosis
from .refit import joined, measure_noise, refit, thin_out, widened
from .settings import LESSON, REFIT, SCALE, STEPS
from .state import Asker, Belief, Outcome, Reach, RowNumbers, Study


@dataclass(frozen=True)
class Scale:
    """Where to ask.

    Attributes
    ----------
    radius : float
        Standard deviation of the entries of random inputs at which typical arguments spread by about 3.
    intercept : float
    signal : float
        Root mean square of the far answers about the intercept.
    even : (n,) array
        Means of opposite answers far out: equal up to noise of half the variance.
    """

    radius: float
    intercept: float
    signal: float
    even: Floats


def find_scale(ledger: Ledger, noise: Noise, rng: np.random.Generator, guess: float = 2.0) -> Scale:
    """Find the radius of random inputs that suits a student; 24 queries if the first guess is right.

    Far out a unit is -u or +u, so that the mean of opposite answers is the intercept, and an answer nearer to the
    origin is a share of the far one that grows with the radius.
    """
    n, sd = 6, noise.sd
    directions = rng.standard_normal((n, ledger.n_features))
    far = ledger.ask(SCALE.far * np.concatenate([directions, -directions]), "scale").reshape(2, -1)
    odd, even = 0.5 * (far[0] - far[1]), 0.5 * (far[0] + far[1])
    sd = _at_least(sd, even)
    while odd @ odd < (8 + 0.5 * n) * sd**2 and n < 400:  # faint: labels, or noise as large as the signal
        more = rng.standard_normal((n, ledger.n_features))
        far = ledger.ask(SCALE.far * np.concatenate([more, -more]), "scale").reshape(2, -1)
        odd, even = np.append(odd, 0.5 * (far[0] - far[1])), np.append(even, 0.5 * (far[0] + far[1]))
        directions, n = np.concatenate([directions, more]), 2 * n
        sd = _at_least(noise.sd, even)
    square = float(np.mean(odd**2))
    # Labels have variance 1 - r^2: less noise where the signal is strong.
    signal = float(np.sqrt(max(2 * square - 1 if noise.labels else square - 0.5 * sd**2, 0.02 * square)))
    intercept = float(even.mean())
    if odd @ odd < (8 + 0.5 * n) * sd**2 or not odd.any():
        raise NotIdentifiable(
            f"Opposite answers far out agree within the noise of {sd:.2g} in {n} directions ({ledger.n_queries} "
            "queries): the function looks constant, or does not settle far out."
        )
    return Scale(_bracket(ledger, directions, odd, n * signal**2, guess, sd), intercept, signal, even)


def _at_least(sd: float, even: Floats) -> float:
    """Return the noise of one answer, or that of the means of opposite answers where it is larger."""
    return max(sd, float(np.sqrt(2 * np.var(even, ddof=1))))


def _bracket(ledger: Ledger, directions: Floats, odd: Floats, strength: float, radius: float, sd: float) -> float:
    doubt = 1.5 * sd * float(np.linalg.norm(odd)) / strength  # about two standard errors of a share
    low, high = 0.0, np.inf  # radii that are too small and too large
    for _ in range(SCALE.most_steps):
        near = ledger.ask(radius * np.concatenate([directions, -directions]), "scale").reshape(2, -1)
        share = float(0.5 * (near[0] - near[1]) @ odd / strength)
        if share < SCALE.grows and low == 0:
            _raise_if_growing(ledger, directions[0], odd[0])
        if SCALE.low <= share <= SCALE.high + doubt:
            return radius * float(np.clip(np.sqrt(SCALE.spread / _spread_of(share)), 0.6, 1.6))
        low, high = (radius, high) if share < SCALE.low else (low, radius)
        if low > 0 and np.isfinite(high):  # faint answers make shares uncertain: the range will do
            return float(np.sqrt(low * high))
        radius = 6 * radius if share < SCALE.low else radius / 6
    raise NotIdentifiable(
        f"No radius was found at which the function bends ({ledger.n_queries} queries): it is not a sum of sigmoids, "
        "or its inputs need another scale."
    )


def _raise_if_growing(ledger: Ledger, direction: Floats, odd: float) -> None:
    """Ask two answers four times as far out; where nothing grows, they are as large as before."""
    further = ledger.ask(4 * SCALE.far * np.stack([direction, -direction]), "scale")
    if abs(0.5 * (further[0] - further[1]) - 4 * odd) < abs(odd):
        raise NotIdentifiable(
            f"Far out the answers grow like the distance ({ledger.n_queries} queries): a linear term, or ReLU or "
            "similar units; name their activation.",
            rules_out=Narrowing(names_of(*SATURATING_KINDS)),
        )


def _spread_of(share: float) -> float:
    """Return the spread of arguments at which random answers are this share of the far ones (for tanh)."""
    return float(np.interp(share, (0.2, 0.36, 0.56, 0.74, 0.82, 0.89, 0.94), (0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)))


_SINGLE = 2.0**-24


def find_by_steps(ledger: Ledger, link: Link, precision: Precision, rng: np.random.Generator) -> Parameters | None:
    """Read all units from one circle, about ``20 + k (d + 8)`` queries; None if no circle shows them one by one.

    Parameters
    ----------
    ledger : Ledger
        With the step of the answers.
    precision : Precision
        What rounds the answers: single precision also rounds the arguments.
    """
    if np.isinf(link.flat) or ledger.n_features < 2:
        return None
    radius = 0.0
    for attempt in range(STEPS.most_attempts):
        rays = attempted(lambda: ask_rays(ledger, link, rng))
        if isinstance(rays, NotIdentifiable):
            return None
        if ledger.step > STEPS.coarsest * ledger.largest:
            return None
        coarse = link.with_precision(ledger.step / ledger.largest, _SINGLE if precision.is_float32 else link.eps)
        radius = max(2 * radius, STEPS.circle * rays.scale)
        net = _read(ledger, rays, radius, empty_net(coarse, ledger.n_features, rays.intercept), attempt)
        if net is not None:
            return Parameters(net.a, net.u, net.b, rays.intercept)
    return None


def _read(ledger: Ledger, rays: Rays, radius: float, nothing: Net, attempt: int) -> Net | None:
    """Return the units of one circle, or None where some of its steps are not single units."""
    frame = frame_through(rays.first, rays.second)
    scan = _scan(ledger, frame, rays, radius, nothing, attempt)
    if len(scan.unresolved):
        return None
    found = settle_in_plane(ledger, scan, nothing)
    if found.impure or not found.units:
        return None
    net = probe_units(ledger, frame, found.units, nothing)
    return net if net.k == len(found.units) else None


def _scan(ledger: Ledger, frame: PlaneFrame, rays: Rays, radius: float, nothing: Net, attempt: int) -> CircleScan:
    angles = np.array([0.0, np.pi, np.pi / 2])
    back = ledger.ask(-radius * rays.first[None], "scan")
    answers = np.array([rays.plateaus[0], back[0], rays.plateaus[1]])
    n_flat = 3 if radius > 1.5 * rays.second_scale else 2
    return scan_circle(ledger, frame, radius, nothing, angles[:n_flat], answers[:n_flat], STEPS.intervals * 2**attempt)


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
