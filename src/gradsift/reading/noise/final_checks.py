"""Stages that end: is it the noise, all answers, one more look, slopes and offsets, uneven noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arguments import Floats
from ...fit import fit_jointly
from .leverage import informative_points
from .noise_tests import relative_spread
from .refine_directions import calibrated, sharpened
from .refit import joined, measure_noise, refit, take_in
from .session import Asker
from .settings import SHARPENING
from .state import Belief, Outcome

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
