"""How wide each unit is, through coarse answers: a profile across its hyperplane where all other units are straight."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...arguments import Floats
from ..ledger import Ledger
from .kink_network import KinkNet
from .near_origin import Polished, near_noise, refitted
from .settings import WIDTHS
from .shape import Shape


class _Width(NamedTuple):
    """Argument of a unit per length along its normal, inverted; `error` is relative."""

    value: float
    error: float


def measure_widths(
    sharp: Polished, shape: Shape, reach: float, ledger: Ledger, rng: np.random.Generator, scale: float | None = None
) -> Polished:
    """Return the network with rounded kinks instead of sharp ones; 8 queries per unit, 14 for the first if no scale is
    given.

    Parameters
    ----------
    sharp : Polished
        With offsets from answers where all units are straight.
    shape : Shape
        Of the true activation; even.
    reach : float
        Distance from a hyperplane beyond which its unit is straight.
    scale : float, optional
        Change of the function at which to look for rounding, where kinks may be sharp.
    """
    widths: list[_Width] = []
    rows, answers = [sharp.X], [sharp.y]
    for unit in range(sharp.found.net.k):
        profile = _WidthProfile(sharp, shape, reach, unit, rng)
        known = np.array([w.value for w in widths if w.error < WIDTHS.sure])
        if scale is not None:
            places = profile.around(scale / profile.length)
        else:
            places = profile.around(float(np.median(known))) if len(known) else profile.wide()
        X = profile.points(places)
        y = ledger.ask(X, "widths")
        widths.append(profile.fit(places, X, y))
        rows.append(X)
        answers.append(y)
    found = sharp.found
    lengths = np.linalg.norm(found.net.jumps, axis=1)
    w = np.sign(found.net.w) * lengths * [width.value for width in widths]
    smooth = replace(
        found,
        net=replace(found.net, shape=shape, w=w),
        weight_errors=np.abs(w) * [width.error for width in widths],
    )
    errors = np.concatenate([sharp.errors[:-1], smooth.weight_errors, sharp.errors[-1:]])
    X, y = np.concatenate(rows), np.concatenate(answers)
    return Polished(smooth, X, y, near_noise(smooth, X), errors)


def doubted_widths(polished: Polished) -> Polished | None:
    """Return the network with other widths of units whose width is hardly known, where they explain the answers
    better; None if none does. No queries; O(n k^2) flops for each of a few widths of such a unit."""
    best = net = polished.found.net
    lengths = np.linalg.norm(net.jumps, axis=1)
    doubtful = polished.errors[net.k : 2 * net.k] > WIDTHS.doubted * np.abs(net.w)
    typical = float(np.median((np.abs(net.w) / lengths)[doubtful if doubtful.all() else ~doubtful]))
    for unit in np.flatnonzero(doubtful):
        for factor in WIDTHS.others:
            w = best.w.copy()
            w[unit] = np.sign(w[unit]) * lengths[unit] * factor * typical
            best = min(best, refitted(polished, replace(best, w=w)), key=polished.half_chi)
    if polished.half_chi(best) > polished.half_chi(net) - WIDTHS.better:
        return None
    found = replace(polished.found, net=best, weight_errors=np.maximum(polished.found.weight_errors, np.abs(best.w)))
    return replace(polished, found=found)


class _WidthProfile:
    """The line across one unit's hyperplane, through the point where all other units are furthest away."""

    def __init__(self, sharp: Polished, shape: Shape, reach: float, unit: int, rng: np.random.Generator) -> None:
        self.sharp, self.shape, self.reach, self.unit = sharp, shape, reach, unit
        net = sharp.found.net
        self.length = float(np.linalg.norm(net.jumps[unit]))
        self.normal = net.jumps[unit] / self.length
        self.foot = self._foot(net, rng)

    def _foot(self, net: KinkNet, rng: np.random.Generator) -> Floats:
        along = rng.standard_normal((WIDTHS.candidates, len(self.normal)))
        along -= np.outer(along @ self.normal, self.normal)
        along *= WIDTHS.along * self.reach / np.linalg.norm(along, axis=1, keepdims=True)
        feet = -net.q[self.unit] / self.length * self.normal + along
        distances = np.abs(feet @ net.jumps.T + net.q) / np.linalg.norm(net.jumps, axis=1)  # (n, k)
        distances[:, self.unit] = np.inf
        return np.asarray(feet[int(np.argmax(distances.min(axis=1)))])

    def points(self, places: Floats) -> Floats:
        """Return the points (n, d) at these distances from the hyperplane."""
        return np.asarray(self.foot + places[:, None] * self.normal)

    def around(self, width: float) -> Floats:
        """Return places for a width that is known roughly; (8,)."""
        return width * np.concatenate([-np.array(WIDTHS.places), WIDTHS.places])

    def wide(self) -> Floats:
        """Return places for a width that is not known at all; (14,)."""
        sizes = self.reach * np.array(WIDTHS.first)
        return np.concatenate([-sizes, sizes])

    def fit(self, places: Floats, X: Floats, y: Floats) -> _Width:
        """Return the width that fits best over a grid, the level of the line and the offset being free."""
        net, errors = self.sharp.found.net, self.sharp.errors
        noise = near_noise(self.sharp.found, X)
        misses = y - net.predict(X)
        side = float(np.sign(net.w[self.unit]))
        level = float(np.linalg.norm(errors))
        prior = np.array([level, 3 * errors[self.unit]])
        grid = self.reach * np.geomspace(*WIDTHS.range, WIDTHS.grid)
        chis = np.array([self._chi(width, side, places, misses, noise, prior) for width in grid])
        best = int(np.argmin(chis))
        within = grid[chis <= chis[best] + 1]
        step = float(grid[1] / grid[0])
        return _Width(float(grid[best]), max(float(np.sqrt(within[-1] / within[0])) * step - 1, WIDTHS.least_error))

    def _chi(self, width: float, side: float, places: Floats, misses: Floats, noise: Floats, prior: Floats) -> float:
        """Return the sum of squares at one width, after two Gauss-Newton steps in the level and the offset."""
        u = side * self.length * width
        shift = np.zeros(2)
        for _ in range(3):
            z = (self.length * places + shift[1]) / u
            bump = u * (np.maximum(z, 0.0) + self.shape.rest(z))
            sharp = side * np.maximum(side * self.length * places, 0.0)
            slopes = (z > 0) + self.shape.rest_slope(z)
            left = (misses - (bump - sharp) - shift[0]) / noise
            rows = np.concatenate([np.stack([np.ones(len(z)), slopes], axis=1) * prior / noise[:, None], np.eye(2)])
            target = np.concatenate([left, -shift / prior])
            step = np.linalg.lstsq(rows, target, rcond=None)[0] * prior
            chi = float(target @ target)
            shift = shift + step
        return chi
