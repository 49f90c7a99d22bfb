"""Lever rounds until the calibrated cones of all directions are narrow enough."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...activations import Activation
from ...checking import Floats
from .bias import Replies, debiased
from .campaign import Campaign
from .cones import Widening, calibrate, cones
from .label_levers import label_levers
from .levers import LONGEST, lever_points, lever_sets, surprise
from .local_fit import Fitted, Noise

__all__ = ["LABELS_MOST", "UNEVEN_WIDENING", "calibrate_cones", "pull_levers", "sharpen"]


class Patience(NamedTuple):
    """Lever answers over those of the student after which labels do not go on: for rough units, and, before another
    look at their number, for sharp ones."""

    rough: float
    sharp: float


_MOST_ROUNDS = 200
_REFUTED = 4.0  # mean square of the first lever answers over what the student foretold
_IMPOSSIBLE = 6.0  # standard deviations of the noise
_MOST_CALIBRATIONS = 6
_LINEAR = 1e-2  # radians: with noise known, cones this narrow need no calibration
UNEVEN_WIDENING = 1.25  # a variance function is a model, too
_LABELS_WIDENING = Widening(1.8, 1.4)  # measured: what labels say far from the fit is less than next to it
_NOISY_WIDENING = Widening(1.0, 1.05)  # bias is taken off instead; stopping still favours narrow cones a little
LABELS_MOST = Patience(rough=0.5, sharp=1.0)
_LABELS_SPARE = 0.05  # information asked for beyond what the accuracy needs
_LEAST_WIDENING = Widening(1.3, 1.3)  # measured: stopping when cones look narrow favours those that are too narrow


def sharpen(campaign: Campaign, accuracy: float) -> None:
    """Pull levers until the calibrated cones are narrow enough."""
    most = LABELS_MOST.sharp * len(campaign.near) if campaign.noise.labels else np.inf
    for _ in range(_MOST_CALIBRATIONS):
        campaign.take_in()
        sound = pull_levers(campaign, accuracy / campaign.widening.stop, most)
        calibrate_cones(campaign)
        if not sound or float(campaign.cones.max()) <= accuracy:
            return


def calibrate_cones(campaign: Campaign) -> None:
    fitted = campaign.settled()
    if campaign.read and float(cones(fitted).max()) < _LINEAR:
        campaign.widening = _LEAST_WIDENING
        return
    n_draws = 16 if len(fitted.information) < 200 else 8
    X, noise, g = campaign.ledger.X[campaign.used], campaign.uneven_noise, campaign.g
    if campaign.floor.kind == "noisy":
        found = calibrate(fitted, X, noise, g, campaign.rng, n_draws, partial(_settle, X, noise, g))
    else:
        found = calibrate(fitted, X, noise, g, campaign.rng, n_draws)
    more = UNEVEN_WIDENING if np.ndim(campaign.relative) else 1.0
    campaign.widening = Widening(
        *(more * max(least, factor) for least, factor in zip(_least_widening(campaign), found))
    )


def _settle(X: Floats, noise: Noise, g: Activation, fitted: Fitted, y: Floats) -> Fitted:
    """Take the bias off a fit to answers that had no say in where they were asked."""
    return debiased(fitted, Replies(X, y, np.zeros(len(X), dtype=bool)), noise, g)


def _least_widening(campaign: Campaign) -> Widening:
    return {"labels": _LABELS_WIDENING, "noisy": _NOISY_WIDENING}.get(campaign.floor.kind, _LEAST_WIDENING)


def pull_levers(campaign: Campaign, accuracy: float, most: float = np.inf) -> bool:
    """Lever rounds until the linear cones are narrower than `accuracy`; False if the student was refuted.

    Labels refute no student, but the levers of a wrong one do not narrow its cones: False after `most` answers.
    """
    length, n_before = LONGEST, len(campaign.used)
    n_looked = n_before
    for _ in range(_MOST_ROUNDS):
        fitted = campaign.known()
        wide = np.flatnonzero(campaign.linear_cones() > accuracy)
        if len(wide) == 0 or campaign.ledger.n_features < 2:
            return True
        if len(campaign.used) - n_before > most:
            return False
        first, fresh = len(campaign.ledger.X), set(campaign.used).isdisjoint(campaign.placed)
        points = _levers(campaign, fitted, wide, length, accuracy)
        campaign.placed.extend(range(first, first + len(points)))
        if not len(points):  # no lever is free of other units
            d = campaign.ledger.n_features
            points = campaign.radius * campaign.rng.standard_normal((2 * d, d))
        squares = surprise(fitted, points, campaign.ledger.ask(points, "levers"), campaign.noise, campaign.g)
        campaign.rounds += 1
        amazed = float(np.mean(np.minimum(squares, _IMPOSSIBLE**2)))
        if amazed > _REFUTED and fresh:
            return False
        campaign.used.extend(range(first, first + len(points)))
        length = max(0.5 * length, 0.1) if amazed > 2.5 else min(1.3 * length, LONGEST)
        campaign.fit()
        if campaign.refuted():
            return False
        if not campaign.noise.labels and len(campaign.used) > 2 * n_looked:
            campaign.thin_out()  # no lever narrows the cone of a unit that is not there
            n_looked = len(campaign.used)
    return len(wide) == 0


def _levers(campaign: Campaign, fitted: Fitted, units: NDArray[np.intp], length: float, accuracy: float) -> Floats:
    """Return lever points of some units, (n, d)."""
    if campaign.noise.labels:
        missing = np.minimum((cones(fitted) / accuracy) ** 2 - 1, 1.0) + _LABELS_SPARE
        return np.concatenate([
            label_levers(fitted, int(unit), length, float(missing[unit]), campaign.g, campaign.rng) for unit in units
        ])  # fmt: skip
    most = max(1, len(campaign.used) // (len(units) * (campaign.ledger.n_features - 1)))  # at most doubles the answers
    return np.concatenate([
        lever_points(fitted, int(unit), length, campaign.rng)
        for unit in units
        for _ in range(min(most, lever_sets(fitted, int(unit), campaign.variance.sd)))
    ])  # fmt: skip
