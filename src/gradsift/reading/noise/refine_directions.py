"""Stages that sharpen: rounds of answers of high leverage until all confidence cones are narrow enough."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...activations import Activation
from ...arguments import Floats
from ...fit import Fitted, fit_jointly
from ...fit.covariance import cones
from ...fit.joint import Calibration, calibration
from ...likelihood import Noise
from .bias import Replies, debiased
from .leverage import informative_points, label_levers, lever_points, lever_sets, surprise
from .noise_tests import relative_spread
from .refit import joined, look_wider, measure_noise, refit, take_in, thin_out
from .settings import LEVERS, SHARPENING
from .state import Asker, Belief, Outcome


def pull_rough_levers(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """Make a student's directions sure enough for a look for another unit."""
    policy = asker.policy.sharpening
    return pull_levers(belief, asker, policy.sure, policy.patience_when_rough * max(1, len(belief.rows.near)))


def sharpen(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """Reach the accuracy, and drop units that all replies together do not need."""
    return thin_out(sharpened(belief, asker, asker.accuracy), asker), Outcome.STANDS


def sharpen_by_labels(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """The same for labels, which never refute a fit, so that many levers could be wasted on a wrong one."""
    for _ in range(SHARPENING.most_looks):
        belief, _ = sharpen(belief, asker)
        if look_wider(belief, asker) is not None:  # wrong itself, among many levers of wrong units: learn anew
            return belief.with_study(least=belief.known.n_units + 1), Outcome.MISSING_UNIT
        if float(belief.cones.max()) <= asker.accuracy:
            break
    return belief, Outcome.STANDS


def sharpened(belief: Belief, asker: Asker, accuracy: float) -> Belief:
    """Pull levers until the calibrated cones are narrow enough."""
    policy = asker.policy.sharpening
    most = policy.patience * max(1, len(belief.rows.near))  # none are near where units were read off a circle
    for _ in range(policy.most_calibrations):
        belief = take_in(belief, asker)
        belief, outcome = pull_levers(belief, asker, accuracy / belief.widening.stop, most)
        belief = calibrated(belief, asker)
        if outcome is not Outcome.STANDS or float(belief.cones.max()) <= accuracy:
            break
    return belief


def calibrated(belief: Belief, asker: Asker) -> Belief:
    """Find by how much cones must widen to hold what they promise."""
    joint = belief.known
    if belief.read and float(cones(joint.settled).max()) < SHARPENING.linear:
        return replace(belief, widening=Calibration(1.3, 1.3, 1.3))
    n_draws = 16 if len(joint.fitted.information) < 200 else 8
    X, noise, g = joint.replies.X, joint.noise, asker.g
    if asker.noisy:
        found = calibration(joint.settled, X, noise, g, asker.rng, n_draws, partial(_settle, X, noise, g))
    else:
        found = calibration(joint.settled, X, noise, g, asker.rng, n_draws)
    more = SHARPENING.uneven_widening if np.ndim(noise.relative) else 1.0
    least = asker.policy.sharpening.least_widening
    return asker.keep(replace(belief, widening=Calibration(*(more * max(pair) for pair in zip(least, found)))))


def _settle(X: Floats, noise: Noise, g: Activation, fitted: Fitted, y: Floats) -> Fitted:
    """Take the bias off a fit to answers that had no say in where they were asked."""
    return debiased(fitted, Replies(X, y, np.zeros(len(X), dtype=bool)), noise, g)


def pull_levers(belief: Belief, asker: Asker, accuracy: float, most: float = np.inf) -> tuple[Belief, Outcome]:
    """Lever rounds until the linear cones are narrower than `accuracy`.

    Labels refute no student, but the levers of a wrong one do not narrow its cones: out of patience after `most`
    answers.
    """
    length, n_before = LEVERS.longest, len(belief.rows.used)
    n_looked = n_before
    for _ in range(asker.policy.sharpening.most_rounds):
        wide = np.flatnonzero(belief.known.cones() > accuracy)
        if len(wide) == 0 or asker.n_features < 2:
            return belief, Outcome.STANDS
        if len(belief.rows.used) - n_before > most:
            return belief, Outcome.OUT_OF_PATIENCE
        first = not np.isin(belief.rows.used, belief.rows.placed).any()
        belief, amazed, rows = _ask_levers(belief, asker, wide, length, accuracy)
        if amazed > SHARPENING.refuted and first:
            return belief, Outcome.REFUTED
        belief = belief.with_rows(used=np.concatenate([belief.rows.used, rows]))
        length = max(0.5 * length, 0.1) if amazed > SHARPENING.surprised else min(1.3 * length, LEVERS.longest)
        belief = refit(belief, asker)
        if belief.refuted(asker.policy.refuted):
            return belief, Outcome.REFUTED
        if not asker.labels and len(belief.rows.used) > 2 * n_looked:
            belief = thin_out(belief, asker)  # no lever narrows the cone of a unit that is not there
            n_looked = len(belief.rows.used)
    return belief, Outcome.STANDS if len(wide) == 0 else Outcome.OUT_OF_PATIENCE


def _ask_levers(
    belief: Belief, asker: Asker, wide: NDArray[np.intp], length: float, accuracy: float
) -> tuple[Belief, float, NDArray[np.intp]]:
    """Ask a round of levers; return also how amazing the answers were, and their row numbers."""
    fitted = belief.known.fitted
    points = _levers(belief, asker, wide, length, accuracy)
    placed = len(points) > 0
    if not placed:  # no lever is free of other units
        points = asker.draw(2 * asker.n_features, belief)
    asked = asker.ask(points, "levers")
    if placed:
        belief = belief.with_rows(placed=np.concatenate([belief.rows.placed, asked.rows]))
    squares = surprise(fitted, points, asked.answers, asker.noise(belief), asker.g)
    return belief, float(np.mean(np.minimum(squares, SHARPENING.impossible**2))), asked.rows


def _levers(belief: Belief, asker: Asker, units: NDArray[np.intp], length: float, accuracy: float) -> Floats:
    """Return lever points of some units, (n, d)."""
    fitted, rng = belief.known.fitted, asker.rng
    if asker.labels:
        missing = np.minimum((cones(fitted) / accuracy) ** 2 - 1, 1.0) + asker.policy.sharpening.spare
        return np.concatenate([
            label_levers(fitted, int(unit), length, float(missing[unit]), asker.g, rng) for unit in units
        ])  # fmt: skip
    most = max(1, len(belief.rows.used) // (len(units) * (asker.n_features - 1)))  # at most doubles the answers
    return np.concatenate([
        lever_points(fitted, int(unit), length, rng)
        for unit in units
        for _ in range(min(most, lever_sets(fitted, int(unit), belief.variance.sd)))
    ])  # fmt: skip


_DOUBT = 0.02  # level at which residuals make the noise worth measuring


def question_noise(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """Measure the noise where residuals are large for it."""
    if asker.noisy and belief.refuted(_DOUBT):
        belief = refit(measure_noise(belief, asker), asker)
    return belief, Outcome.STANDS


def take_all_in(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """Fit the answers of all other steps, too, and sharpen again where there were any."""
    n_before = len(belief.rows.used)
    belief = take_in(belief, asker)
    if len(belief.rows.used) > n_before:
        belief = sharpened(belief, asker, asker.accuracy)
    return belief, Outcome.STANDS


def measure_parameters(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """Ask where slopes, weights and offsets show best, once per unknown, if answers are merely rounded."""
    if asker.asked_for is None and (asker.precision.is_rounded or asker.precision.is_float32) and not belief.read:
        fitted = belief.known.fitted
        points = informative_points(fitted.theta, belief.radius, len(fitted.information), asker.g, asker.rng)
        asked = asker.ask(points, "parameters")
        belief = refit(belief.with_rows(used=np.concatenate([belief.rows.used, asked.rows])), asker)
    return belief, Outcome.STANDS


def allow_for_uneven_noise(belief: Belief, asker: Asker) -> tuple[Belief, Outcome]:
    """Weigh each answer by a variance function where one size of noise does not do; the last step, for rows as used."""
    if not asker.noisy or _spread(belief) is None:
        return belief, Outcome.STANDS
    belief = sharpened(belief, asker, asker.accuracy / SHARPENING.uneven_widening)
    relative = _spread(belief)
    noise = replace(asker.noise(belief), relative=1.0 if relative is None else relative)
    replies = belief.known.replies
    fitted = fit_jointly(belief.known.fitted.theta, replies.X, replies.y, noise, asker.g)
    return calibrated(joined(fitted, belief, asker, noise), asker), Outcome.STANDS


def _spread(belief: Belief) -> Floats | None:
    joint = belief.known
    return relative_spread(joint.fitted.residuals, joint.replies.y - joint.fitted.residuals)
