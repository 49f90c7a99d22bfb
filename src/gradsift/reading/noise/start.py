"""Stages that begin: read steps, find the scale of the inputs, and fit students to random inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arguments import Floats
from ...errors import NotIdentifiable
from ...fit import Fitted, Layout, Parameters, fit_jointly
from ...fit.students import TrainedStudent, fit_students
from ...likelihood import Noise
from ...model import SigmoidCombination
from ..circle import CircleScan, scan_circle
from ..in_plane import settle_in_plane
from ..ledger import Ledger
from ..odd_form import Link, Net, empty_net
from ..plane_frame import PlaneFrame, frame_through
from ..precision import Precision
from ..probe import probe_units
from ..question import SATURATING_KINDS, Narrowing, attempted, names_of
from ..rays import Rays, ask_rays
from ..scan_settings import COARSE_CIRCLE
from .leverage import informative_points
from .missing_unit import look_for_unit
from .noise_tests import Variance, excess_kurtosis
from .refit import joined, measure_noise, refit, take_one_more, thin_out
from .settings import DOUBT, REFIT, SCALE, STEPS, TRAIN
from .state import FitState, InputScale, Outcome, RowNumbers, Session, TrainState


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
    # Far out odd parts have mean square signal^2 + sd^2 / 2.
    signal = float(np.sqrt(max(2 * square - 1 if noise.labels else square - 0.5 * sd**2, 0.02 * square)))
    intercept = float(even.mean())
    if odd @ odd < (8 + 0.5 * n) * sd**2 or not odd.any():
        raise NotIdentifiable(
            f"Opposite answers far out agree within the noise of {sd:.2g} in {n} directions ({ledger.n_queries} "
            "queries): the function looks constant, or does not settle far out."
        )
    return Scale(_search_radius(ledger, directions, odd, n * signal**2, guess, sd), intercept, signal, even)


def _at_least(sd: float, even: Floats) -> float:
    """Return the noise of one answer, or that of the means of opposite answers where it is larger."""
    return max(sd, float(np.sqrt(2 * np.var(even, ddof=1))))


def _search_radius(ledger: Ledger, directions: Floats, odd: Floats, strength: float, radius: float, sd: float) -> float:
    doubt = 1.5 * sd * float(np.linalg.norm(odd)) / strength  # about two standard errors of a share
    low, high = 0.0, np.inf  # radii that are too small and too large
    while 1 / SCALE.far < radius < SCALE.far:
        near = ledger.ask(radius * np.concatenate([directions, -directions]), "scale").reshape(2, -1)
        # Regression of near odd parts on far ones: their share grows from 0 to 1 with the radius.
        share = float(0.5 * (near[0] - near[1]) @ odd / strength)
        if share < SCALE.faint and low == 0:
            _refuse_growing(ledger, directions[0], odd[0])
        small = _spread_of(share) * SCALE.factor < SCALE.spread
        if not small and _spread_of(share - doubt) <= SCALE.factor * SCALE.spread:
            return radius * float(np.clip(np.sqrt(SCALE.spread / _spread_of(share)), 0.6, 1.6))
        low, high = (radius, high) if small else (low, radius)
        if low > 0 and np.isfinite(high):  # faint answers make shares uncertain: the range will do
            return float(np.sqrt(low * high))
        radius = radius * SCALE.factor if small else radius / SCALE.factor
    raise NotIdentifiable(
        f"No radius was found at which the function bends ({ledger.n_queries} queries): it is not a sum of sigmoids, "
        "or its inputs need another scale."
    )


def _refuse_growing(ledger: Ledger, direction: Floats, odd: float) -> None:
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
    return float(
        np.interp(share, (0.2, 0.36, 0.56, 0.74, 0.82, 0.89, 0.94, 0.97), (0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0))
    )


_SINGLE = 0.5 * float(np.finfo(np.float32).eps)


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
    for attempt in range(DOUBT.rounds):
        rays = attempted(lambda: ask_rays(ledger, link, rng))
        if isinstance(rays, NotIdentifiable):
            return None
        if ledger.step > STEPS.coarsest * ledger.largest:
            return None
        coarse = link.with_precision(ledger.step / ledger.largest, _SINGLE if precision.is_float32 else link.eps)
        radius = max(2 * radius, COARSE_CIRCLE.circle * rays.scale)
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
    return scan_circle(
        ledger, frame, radius, nothing, angles[:n_flat], answers[:n_flat], COARSE_CIRCLE.intervals * 2**attempt
    )


def first_state(session: Session) -> FitState:
    """Return what the first look at the answers says."""
    variance = Variance(max(session.precision.sd, 1e-300) ** 2, REFIT.first_freedom if session.noisy else np.inf)
    return FitState(TrainState(session.policy.student.n_spare, least=0, gap=0.0, n_lessons=0), variance, variance)


def read_steps(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Start from units read off a circle, where rounding is fine enough for that."""
    start = (
        find_by_steps(session.ledger, session.link, session.precision, session.rng) if session.precision.step else None
    )
    aim = session.policy.student.arguments
    if start is None or aim is None:
        return state, Outcome.REFUTED
    state = replace(state, scale=InputScale(aim / float(np.median(np.linalg.norm(start.A, axis=1)))))
    n = int(session.policy.student.least_per_unknown * Layout(*start.A.shape).size)
    asked = session.ask(informative_points(start, state.radius, n, session.g, session.rng), "parameters")
    noise = session.noise(state)
    fitted = fit_jointly(start, session.X[asked.rows], asked.answers, noise, session.g)
    state = joined(fitted, state.with_rows(used=asked.rows), session, noise)
    if session.precision.is_float32:
        state = _add_rounding(state, session)
    if state.has_excess(session.policy.refuted):
        return state, Outcome.REFUTED
    state, outcome = look_for_unit(thin_out(state, session), session)
    return replace(state, from_steps=outcome is Outcome.STANDS), outcome


def _add_rounding(state: FitState, session: Session) -> FitState:
    """Take the noise from residuals as far as sums in single precision explain them."""
    fitted, X = state.known.fitted, state.known.replies.X
    theta = fitted.theta
    # A sum a.x + b in single precision errs by its terms' sizes times 2^-24, and the answer by that times its slope.
    active = np.abs(theta.u) * session.g.derivative(X @ theta.A.T + theta.b)
    terms = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(theta.A, axis=1) + np.abs(theta.b)
    explained = _SINGLE * (4 * session.ledger.largest + (active * terms).sum(axis=1))
    freedom = len(X) - len(fitted.information)
    observed = float((fitted.residuals**2).sum()) / freedom
    value = min(max(state.variance.value, observed), float(np.mean(explained**2)))
    variance = Variance(max(value, state.variance.value), np.inf)
    return refit(replace(state, variance=variance, repeats=variance), session)


def find_input_scale(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Find out how far from the origin units bend."""
    first = len(session.y)
    scale = find_scale(session.ledger, session.noise(state), session.rng)
    even = scale.even
    variance = state.variance.pooled(2 * float(((even - even.mean()) ** 2).sum()), len(even) - 1)
    near = np.arange(first + 2 * len(even), len(session.y))  # the others are far out
    reach = InputScale(scale.radius, scale.signal, SCALE.spread / scale.radius)
    return replace(state.with_rows(near=near), variance=variance, repeats=variance, scale=reach), Outcome.STANDS


def draw(state: FitState, session: Session, n: int) -> FitState:
    """Ask n random inputs for the student."""
    asked = session.ask(session.draw(n, state), "student")
    return state.with_rows(near=np.concatenate([state.rows.near, asked.rows]))


def train(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Draw random inputs until a student explains them."""
    d, policy = session.n_features, session.policy.student
    faintness = state.variance.sd / max(state.scale.signal, 1e-300)
    # The number of answers that a direction takes grows with the inputs and with the squared ratio of noise and signal.
    wanted = max(7 * (d + 2), int(policy.per_feature * d * faintness**2))
    most = policy.most_per_unknown * (state.student.n_spare + 4) * (d + 2) * max(1.0, (2 * faintness) ** 2)
    in_vain = 0
    while wanted < most:
        if len(state.rows.near) < wanted:
            state = draw(state, session, wanted - len(state.rows.near))
        state, lesson = _trained(state, session)
        in_vain = in_vain + 1 if lesson.gap < 0 else 0
        if in_vain == DOUBT.rounds:
            raise NotIdentifiable(
                f"A constant explains {len(state.rows.near)} answers to random inputs as well as any units would: the "
                "function looks constant under this noise."
            )
        if lesson.saturated and state.student.n_spare >= policy.most_spare:
            break
        state, accepted = _judged(state, session, lesson)
        if accepted:
            return _kept_fit(state, session, lesson), Outcome.STANDS
        if session.labels and len(lesson.fitted.theta.u) == state.student.least:
            # Why ever it was refused: if a unit is missing, the next test says so again.
            state = state.with_student(least=state.student.least - 1)
        if policy.arguments is not None and 2 * lesson.fitted.loss < DOUBT.misfit * len(state.rows.near):
            # Move half way, in logarithms, towards inputs at which typical arguments spread as wanted.
            factor = float(np.clip(np.sqrt(policy.arguments / _spread(state, session, lesson)), 0.6, 1.8))
            state = replace(state, scale=state.scale._replace(radius=state.radius * factor))
        wanted = int(np.ceil(policy.growth * len(state.rows.near)))
    raise NotIdentifiable(
        f"No number of units up to {state.student.n_spare} explains {len(state.rows.near)} answers to random inputs: "
        f"the function is no sum of such sigmoids, or {_other_cause(session)}.",
        _model(lesson, session),
    )


def _other_cause(session: Session) -> str:
    if session.precision.step and not session.noisy:
        return f"answers rounded to {session.precision.step:.2g} hide them"
    return "the noise is not what its repeats show"


def train_again(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Prepare another lesson: more inputs and a larger student, or one more unit where that is known to be missing."""
    policy = session.policy.student
    n_lessons = state.student.n_lessons + 1
    over = n_lessons >= DOUBT.alarms
    if policy.widens and state.larger_fit is not None:  # a new student would drop the answers of high leverage
        state = take_one_more(state.with_student(n_lessons=n_lessons), session)
        return state, Outcome.SPENT if over else Outcome.STANDS
    state = state.with_student(n_lessons=n_lessons, n_spare=state.student.n_spare + 2)
    state = replace(state, variance=state.repeats)
    state = draw(state, session, max(2 * session.n_features, len(state.rows.near) // 4))
    return state, Outcome.SPENT if over else Outcome.REFUTED


def _trained(state: FitState, session: Session) -> tuple[FitState, TrainedStudent]:
    policy, near = session.policy.student, state.rows.near
    X, y = session.X[near], session.y[near]
    most = min(policy.most_spare, int(len(y) / (policy.rows_per_spare * (X.shape[1] + 2))))
    noise, spread = session.noise(state), session.spread(state)
    while True:
        n_spare = max(3, min(state.student.n_spare, most))
        lesson = fit_students(X, y, noise, session.g, n_spare, spread, session.rng, state.student.least)
        if not lesson.saturated or state.student.n_spare >= most:
            return state, lesson
        state = state.with_student(n_spare=state.student.n_spare + policy.grows)


def _judged(state: FitState, session: Session, lesson: TrainedStudent) -> tuple[FitState, bool]:
    """Tell whether to accept a lesson; where it misfits the noise is looked at first."""
    fitted, policy = lesson.fitted, session.policy.student
    n, n_unknowns = len(fitted.residuals), len(fitted.information)
    if lesson.saturated or lesson.gap < policy.clear_gap or n < policy.least_per_unknown * n_unknowns:
        return state, False
    if _spread(state, session, lesson) < policy.narrow:
        return state, False
    freedom = n - n_unknowns
    squares = float((fitted.residuals**2).sum())
    if not session.labels:
        if state.variance.too_small(squares, freedom, DOUBT.worth_asking):
            state = measure_noise(state, session)
        if state.variance.too_small(squares, freedom):
            if not _has_tails(fitted):
                return state, False
            variance = Variance(squares / freedom, float(freedom))
            state = replace(state, variance=variance, repeats=variance)
    return state, bool(fitted.angles.max() < policy.rough)


def _has_tails(fitted: Fitted) -> bool:
    """Tell whether rare large errors explain a misfit that many answers confirm."""
    many = len(fitted.residuals) >= TRAIN.many_per_unknown * len(fitted.information)
    return many and excess_kurtosis(fitted.residuals) >= TRAIN.tailed


def _spread(state: FitState, session: Session, lesson: TrainedStudent) -> float:
    """Return the spread of a typical unit's arguments over random inputs."""
    return session.spread(state) * float(np.median(np.linalg.norm(lesson.fitted.theta.A, axis=1)))


def _kept_fit(state: FitState, session: Session, lesson: TrainedStudent) -> FitState:
    state = state.with_rows(used=state.rows.near, stray=RowNumbers().stray).with_student(gap=lesson.gap)
    return thin_out(
        refit(replace(state.without_test(), larger_fit=None, from_steps=False), session, lesson.fitted), session
    )


def _model(lesson: TrainedStudent, session: Session) -> SigmoidCombination:
    theta = lesson.fitted.theta
    return session.link.to_model(theta.A, theta.b, theta.u, theta.c)
