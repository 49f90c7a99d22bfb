"""All parameters of sharp units at once, from answers all over a region: given who is active they are linear."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...fit.last_digits import fit_to_rounding
from ...geometry import normalize_rows
from .far_fit import linear_rows
from .kink_network import KinkNet
from .region_ledger import Heard
from .settings import FAR_FIT, WITHIN


@dataclass(frozen=True)
class RegionFit:
    """A network and its errors.

    Attributes
    ----------
    root : (p, p) array
        ``root @ root.T`` is the covariance of linear term and jumps, each with its constant, p = (k + 1)(d + 1).
    scatter : float
        Of the answers over the rounding expected of them.
    chi : float
        Largest miss over its standard error.
    """

    net: KinkNet
    root: Floats
    scatter: float
    chi: float

    @property
    def errors(self) -> Floats:
        """Standard errors of linear term (first row) and jumps, the constants last; (k + 1, d + 1)."""
        return np.asarray(np.linalg.norm(self.root, axis=1)).reshape(self.net.k + 1, -1)

    def missed(self, heard: Heard) -> Floats:
        """Return the misses of answers over what their rounding and the parameters' errors explain; (n,)."""
        rows = _rows(self.net, heard.rows, self.net.arguments(heard.rows) > 0)
        lost = np.linalg.norm(rows @ self.root, axis=1)
        noise = max(self.scatter, FAR_FIT.least) * _noise(self.net, heard)
        return np.asarray(np.abs(heard.answers - self.net.predict(heard.rows)) / np.hypot(noise, lost))


def telling_places(candidates: Floats, net: KinkNet, n: int, rng: np.random.Generator) -> Floats:
    """Return n of the candidates, (m, d), on the rarer side of a hyperplane, or between two, as often as can be."""
    active = net.arguments(candidates) > 0
    odds = _rarity(active)
    if net.k > 1:
        units = normalize_rows(net.jumps)
        nearest = np.argmax(np.abs(units @ units.T) - np.eye(net.k), axis=1)
        odds = np.maximum(odds, _rarity(active != active[:, nearest]))
    return np.asarray(candidates[rng.choice(len(candidates), n, replace=False, p=odds / odds.sum())])


def _rarity(yes: NDArray[np.bool_]) -> Floats:
    """Return one over the share of rows that are like each in its rarest column; yes is (m, k)."""
    share = np.clip(yes.mean(axis=0), 1 / len(yes), 1 - 1 / len(yes))
    return np.asarray((1 / np.where(yes, share, 1 - share)).max(axis=1, initial=1.0))


def mirrored(places: Floats, net: KinkNet, rng: np.random.Generator) -> Floats:
    """Return the same places, (m, d), each moved to the other side of one unit's hyperplane."""
    if not net.k:
        return places
    units = rng.integers(net.k, size=len(places))
    jumps = net.jumps[units]
    heights = (places * jumps).sum(axis=1) + net.q[units]
    share = 1 + rng.uniform(*WITHIN.mirrored, len(places))
    return np.asarray(places - (share * heights / (jumps**2).sum(axis=1))[:, None] * jumps)


def fit_region(net: KinkNet, heard: Heard) -> RegionFit:
    """Fit all parameters to answers, the units active at each as the fit itself says; O(n p^2)."""

    def at(theta: Floats) -> KinkNet:
        values = theta.reshape(net.k + 1, -1)
        return replace(net, jumps=values[1:, :-1], q=values[1:, -1], g=values[0, :-1], c=float(values[0, -1]))

    def problem(theta: Floats) -> tuple[Floats, Callable[[], Floats]]:
        here, active = at(theta), at(theta).arguments(heard.rows) > 0
        noise = _noise(here, heard)
        # Given who is active the network is linear: one step solves it, and the next sees who is active then.
        return (
            here.predict(heard.rows) - heard.answers
        ) / noise, lambda: _rows(here, heard.rows, active) / noise[:, None]

    start = np.concatenate([np.append(net.g, net.c), np.column_stack([net.jumps, net.q]).ravel()])
    fit = fit_to_rounding(problem, start)
    if not np.isfinite(fit.root).all():
        return RegionFit(net, fit.root, np.inf, np.inf)
    scatter = float(np.linalg.norm(fit.residuals)) / np.sqrt(len(fit.residuals) - len(start))
    believed = max(scatter, FAR_FIT.least)
    return RegionFit(at(fit.theta), believed * fit.root, scatter, float(np.abs(fit.residuals).max()) / believed)


def _rows(net: KinkNet, places: Floats, active: NDArray[np.bool_]) -> Floats:
    return linear_rows(np.concatenate([places, np.ones((len(places), 1))], axis=1), active)


def _noise(net: KinkNet, heard: Heard) -> Floats:
    return np.asarray(np.hypot(net.rounding(heard.rows), heard.errors))
