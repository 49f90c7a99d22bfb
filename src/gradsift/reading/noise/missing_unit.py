"""Is there another unit? Asked far out, where it would show whatever its direction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from ...activations import Activation
from ...arguments import Floats
from ...certificate import LABELS, NOISY
from ...certificate.limits import UnitLimits
from ...fit import Fitted, Parameters, predict
from ...fit.covariance import LEVELS
from ...geometry import orthonormal_rows
from ...likelihood import CERTAINTY, Noise
from ..ledger import Ledger
from .leverage import argument_errors
from .refit import one_more_unit, thin_out
from .settings import DOUBT, FAR_CIRCLES, FAR_LABELS, SCALE
from .state import CircleTest, FitState, Outcome, Session


def weight_in_question(u: Floats) -> float:
    """Return the weight another unit is supposed to have: the smallest, or a share of what may be a merger."""
    sizes = np.abs(u)
    return float(min(sizes.min(), FAR_CIRCLES.share * sizes.sum()))


def _needed(limits: UnitLimits) -> float:
    """Return by how many standard errors a unit stands out that shows with the probability of the error bounds."""
    return float(limits.another_unit + ndtri(LEVELS[1]))


def look_for_another(
    fitted: Fitted, ledger: Ledger, noise: Noise, radius: float, level: float, most: int, g: Activation,
    rng: np.random.Generator,
) -> CircleTest:  # fmt: skip
    """Ask on three far circles, about (5.5 sd / level)^2 queries each, and at most `most` in all.

    Opposite points are asked together and subtracted, which removes the intercept. Angles at which the sign of a
    known unit is in doubt are avoided.
    """
    d = ledger.n_features
    # Far out a value is c plus a sum of +-u: of typical size c +- |u|. A pair of opposite answers has half the variance
    # of one, so that n pairs show a step `level` with level sqrt(2 n / v) standard errors.
    far = fitted.theta.c + np.array([1.0, -1.0]) * np.sqrt(float(fitted.theta.u @ fitted.theta.u))
    variance = _noise_variance(noise, far).mean()
    n_pairs = int(
        np.clip(np.ceil(0.5 * variance * (_needed(NOISY) / level) ** 2), 4, max(4, most // (2 * DOUBT.rounds)))
    )
    statistic, weakest = 0.0, np.inf
    for _ in range(DOUBT.rounds if d > 1 else 1):
        plane = orthonormal_rows(min(2, d), d, rng)
        angles = _clear_angles(fitted, plane, n_pairs, SCALE.far * radius, rng)
        points = SCALE.far * radius * (np.cos(angles)[:, None] * plane[0] + np.sin(angles)[:, None] * plane[-1])
        both = np.concatenate([points, -points])
        expected = predict(fitted.theta, both, g)
        residuals = (ledger.ask(both, "another unit") - expected).reshape(2, -1)
        odd = 0.5 * (residuals[0] - residuals[1])
        spread = np.hypot(
            sign_error(fitted, points), np.sqrt(0.5 * _noise_variance(noise, expected).reshape(2, -1).mean(axis=0))
        )
        statistic = max(statistic, largest_arc(odd, spread))
        weakest = min(weakest, float((1 / spread**2).sum()))
    return CircleTest(statistic, _needed(NOISY) / np.sqrt(weakest), statistic > NOISY.another_unit)


def _noise_variance(noise: Noise, r: Floats) -> Floats:
    """Return those of answers with mean r."""
    return np.asarray(1 / noise.precision(r))


def _clear_angles(fitted: Fitted, plane: Floats, n: int, radius: float, rng: np.random.Generator) -> Floats:
    """Return n sorted angles of a half circle, one per sector, where the known units are surest."""
    tries = 16
    angles = (np.arange(n)[:, None] + rng.random((n, tries))) * np.pi / n
    flat = angles.ravel()
    points = radius * (np.cos(flat)[:, None] * plane[0] + np.sin(flat)[:, None] * plane[-1])
    doubt = sign_error(fitted, points).reshape(n, tries)
    return np.asarray(angles[np.arange(n), np.argmin(doubt, axis=1)])


def sign_error(fitted: Fitted, points: Floats) -> Floats:
    """Return the standard deviation that signs of known units in doubt give to a value."""
    variance = np.zeros(len(points))
    for unit, u in enumerate(fitted.theta.u):
        z = np.abs(points @ fitted.theta.A[unit] + fitted.theta.b[unit])
        # A wrong sign moves a value by 2 u; exp(-t^2 / 2) bounds its probability at t standard errors.
        ratio = z / np.maximum(argument_errors(fitted, unit, points), 1e-300)
        variance += 4 * u**2 * np.exp(-0.5 * np.minimum(ratio, 30.0) ** 2)
    return np.asarray(np.sqrt(variance))


def largest_arc(odd: Floats, spread: Floats) -> float:
    """Return the largest standardised sum of +1 up to some angle and -1 beyond it."""
    # A further unit adds +u up to some angle and -u beyond it. Sums of that shape over all angles are two partial sums
    # of the weighted residuals; the variance of each is the sum of the weights.
    weighted = odd / spread**2
    head = np.concatenate([[0.0], np.cumsum(weighted)])
    sums = 2 * head - head[-1]
    return float(np.abs(sums).max() / np.sqrt((1 / spread**2).sum()))


def look_for_unit(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Ask where a further unit would show, whatever its direction."""
    return _look(state, session, session.policy.another.share, session.policy.another.shows)


def look_for_strong_unit(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Ask for a unit as strong as the known ones: where those agree, signs are sure before any direction is refined."""
    return _look(state, session, session.policy.another.share, 1.0)


def look_for_unit_again(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Ask where a further unit would show, unless this number of units was tested already."""
    same = state.another is not None and state.another.n_units == state.known.n_units
    return (state, Outcome.STANDS) if same else look_for_unit(state, session)


def look_for_unit_at_end(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Ask again now that known units are surer, unless the last test would have shown a unit weak enough."""
    test, u = state.another, state.known.fitted.theta.u
    if test is not None and test.level <= NOISY.weight_shown * weight_in_question(u):
        return state, Outcome.STANDS
    return _look(state, session, session.policy.another.share, session.policy.another.shows)


def compare_model_sizes(state: FitState, session: Session) -> tuple[FitState, Outcome]:
    """Drop units that all replies together do not need; look whether one more explains them better."""
    state = thin_out(state, session)
    state = replace(state, larger_fit=one_more_unit(state, session))
    return state, Outcome.STANDS if state.larger_fit is None else Outcome.MISSING_UNIT


def _look(state: FitState, session: Session, share: float, shows: float) -> tuple[FitState, Outcome]:
    """Look for a unit with at most this share of the queries so far."""
    settled, policy = state.known.settled, session.policy.another
    level = shows * weight_in_question(settled.theta.u)
    most = max(DOUBT.few, int(share * session.ledger.n_queries))
    if session.labels:
        test = look_for_another_by_labels(settled, session.ledger, state.radius, level, most, session.g, session.rng)
    else:
        noise = session.noise(state)
        # On plateaus rounding is no noise: it is the same at every point of an arc.
        noise = replace(noise, sd=max(noise.sd, session.precision.grid))
        test = look_for_another(settled, session.ledger, noise, state.radius, level, most, session.g, session.rng)
    k = len(settled.theta.u)
    # Later alarms may be errors of what is known, but labels show units one by one.
    if test.statistic > DOUBT.impossible and (session.labels or state.student.least == 0):
        state = state.with_student(least=k + 1)
    if test.alarm:
        state = replace(state, scale=state.scale._replace(radius=policy.farther * state.radius))
    return replace(state, another=test._replace(n_units=k)), Outcome.MISSING_UNIT if test.alarm else Outcome.STANDS


def look_for_another_by_labels(
    fitted: Fitted, ledger: Ledger, radius: float, level: float, most: int, g: Activation, rng: np.random.Generator
) -> CircleTest:
    """Ask where the known units agree, for units that stand for two and, if weights leave room, for others.

    A mean of labels is at most one, so that weights that add up to almost one leave no room for another unit; else
    it would show on the arcs of three far circles.
    """
    merged = _test_merged(fitted, ledger, SCALE.far * radius, level, most // 2, g, rng)
    theta = fitted.theta
    signs = np.sign(theta.u)
    room = (
        1 - float(np.abs(theta.u).sum()) - abs(theta.c) + LABELS.another_unit * np.sqrt(_shared_variance(fitted, signs))
    )
    if merged.alarm or room < level:
        return CircleTest(merged.statistic, max(merged.level, room), merged.alarm)
    other = _arcs(fitted, ledger, SCALE.far * radius, level, most // 2, g, rng)
    return CircleTest(max(merged.statistic, other.statistic), max(merged.level, other.level), other.alarm)


def _test_merged(
    fitted: Fitted, ledger: Ledger, radius: float, level: float, most: int, g: Activation, rng: np.random.Generator
) -> CircleTest:
    """Count labels against all units at random far points; between the planes of a merged pair there are too many.

    About ``p (55 / level)^2`` labels, where p is the chance of a contradiction; half of them if those are enough.
    """
    theta = fitted.theta
    # Where all units say one, a label contradicts them with probability (1 - sum |u|) / 2. A merged pair is wrong about
    # a share of such points, which adds contradictions in proportion to its weight: a binomial test.
    chance = max(0.5 * (1 - float(np.abs(theta.u).sum())), CERTAINTY.contradiction)
    shared = _shared_variance(fitted, np.sign(theta.u))
    wanted = min(
        chance * (_needed(LABELS) / (FAR_LABELS.excess * level)) ** 2, 20 * chance / max(shared, 1e-300)
    )  # more would not help
    n = int(np.clip(np.ceil(wanted), DOUBT.few, max(DOUBT.few, most)))
    labels = np.where(np.arange(n) % 2, 1.0, -1.0)
    points, agree = _points_of_one_sign(fitted, labels, radius, rng)
    points, labels = points[agree], labels[agree]
    chances = np.maximum(0.5 * (1 - labels * predict(theta, points, g)), CERTAINTY.contradiction)
    surplus, variance, test = 0.0, 0.0, CircleTest(0.0, 0.0, alarm=False)
    for half in np.array_split(np.arange(len(points)), 2):
        if len(half) < DOUBT.few // 2 or test.alarm:  # more units than inputs need not agree anywhere
            break
        surplus += float(np.sum(ledger.ask(points[half], "another unit") != labels[half]) - chances[half].sum())
        variance += float((chances[half] * (1 - chances[half])).sum())
        n_asked = int(half[-1]) + 1
        # Binomial variance of the count, and what the errors of all weights add to its expectation.
        spread = np.sqrt(variance + 0.25 * n_asked**2 * shared)
        statistic = max(surplus / spread, 0.0)
        # Halves of orthogonal units differ at half of all inputs, and half of the labels there contradict.
        level = _needed(LABELS) * spread / (0.5 * 0.5 * n_asked)
        test = CircleTest(statistic, level, statistic > LABELS.another_unit)
    return test


def _points_of_one_sign(
    fitted: Fitted, labels: Floats, radius: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return random far points moved to where all units say a label, (n, d), and whether their signs are sure."""
    theta = fitted.theta
    points = radius * rng.standard_normal((len(labels), theta.A.shape[1]))
    wanted = labels[:, None] * np.sign(theta.u)
    doubts = _doubts(fitted, points)
    arguments = points @ theta.A.T
    sizes = np.maximum(np.abs(arguments), DOUBT.impossible * doubts)
    points = points + (wanted * sizes - arguments) @ np.linalg.pinv(theta.A).T
    sure = wanted * (points @ theta.A.T) > DOUBT.sign * _doubts(fitted, points)
    return points, np.asarray(sure.all(axis=1))


def _doubts(fitted: Fitted, points: Floats) -> Floats:
    return np.column_stack([argument_errors(fitted, unit, points) for unit in range(len(fitted.theta.u))])


def _arcs(
    fitted: Fitted, ledger: Ledger, radius: float, level: float, most: int, g: Activation, rng: np.random.Generator
) -> CircleTest:
    """Ask on arcs of three far circles, about ``v (5.5 / level)^2`` labels of variance v each, and at most `most`.

    The circles pass through the direction in which all known units say one, so that v is small if their weights add
    up to almost one. Opposite points are asked together and subtracted, which removes the intercept; the errors of
    known weights, which all points of an arc share, are allowed for. An alarm ends the test.
    """
    statistic, weakest = 0.0, np.inf
    for _ in range(DOUBT.rounds if ledger.n_features > 1 else 1):
        points, spread = _best_points(fitted, radius, g, rng)
        n_pairs = int(
            np.clip(
                np.ceil(np.mean(spread**2) * (_needed(LABELS) / level) ** 2),
                4,
                max(4, most // (2 * DOUBT.rounds)),
            )
        )
        chosen = np.linspace(0, len(points), n_pairs, endpoint=False).astype(int)  # in the order of angles
        points, spread = points[chosen], spread[chosen]
        both = np.concatenate([points, -points])
        residuals = (ledger.ask(both, "another unit") - predict(fitted.theta, both, g)).reshape(2, -1)
        odd = 0.5 * (residuals[0] - residuals[1])
        signs = np.sign(fitted.theta.A @ points[n_pairs // 2])
        # Errors of the weights are common to all points of an arc: they do not average out.
        shared = 1 + _shared_variance(fitted, signs) * float((1 / spread**2).sum())
        statistic = max(statistic, largest_arc(odd, spread) / np.sqrt(shared))
        weakest = min(weakest, float((1 / spread**2).sum()) / shared)
        if statistic > LABELS.another_unit:
            break
    return CircleTest(statistic, _needed(LABELS) / np.sqrt(weakest), statistic > LABELS.another_unit)


def _best_points(fitted: Fitted, radius: float, g: Activation, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return points of a random far circle at which labels are nearly as sure as anywhere on it, in the order of
    their angles, (n, d), and the standard deviations of the odd parts of pairs of labels, (n,)."""
    plane = _plane_of_one_sign(fitted.theta, rng)
    angles = np.pi * ((np.arange(DOUBT.sampled) + rng.random(DOUBT.sampled)) / DOUBT.sampled - 0.5)
    points = radius * (np.cos(angles)[:, None] * plane[0] + np.sin(angles)[:, None] * plane[1])
    means = np.stack([predict(fitted.theta, side, g) for side in (points, -points)])
    variance = np.maximum(1 - means**2, CERTAINTY.far).mean(axis=0)
    spread = np.hypot(sign_error(fitted, points), np.sqrt(0.5 * variance))
    good = spread**2 <= FAR_LABELS.almost_best * float(spread.min()) ** 2
    return points[good], spread[good]


def _plane_of_one_sign(theta: Parameters, rng: np.random.Generator) -> Floats:
    """Return orthonormal rows, (2, d), of a random plane through the direction in which all units say one."""
    # Least squares for a direction in which every unit's argument has the sign of its weight.
    toward = np.linalg.pinv(theta.A) @ (np.sign(theta.u) * np.linalg.norm(theta.A, axis=1))
    toward = toward / np.linalg.norm(toward)
    across = rng.standard_normal(len(toward))
    across -= (across @ toward) * toward
    return np.stack([toward, across / max(float(np.linalg.norm(across)), 1e-300)])


def _shared_variance(fitted: Fitted, signs: Floats) -> float:
    """Return the variance that the errors of all weights give to the odd part of a value far out."""
    weights = fitted.theta.layout.weights
    return max(float(signs @ fitted.covariance[weights, weights] @ signs), 0.0)
