"""What far circles cannot see: parallel units whose steps cancel, read on a line through an input that differs.

Beside the known network such units are a function ``H(<v, x>)`` of one direction that vanishes on both sides. On a
line H is a sum of sigmoids, fitted to samples; one step across the line in every other direction gives v.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ...arguments import Floats
from ...geometry import orthonormal_rows
from ...tuned import SCATTER, SHARE, TRIES
from ..ledger import Ledger
from ..odd_form import Link, Net
from ..plane_frame import PlaneFrame, frame_through
from ..scan_settings import SCAN, UNITS
from .parallel_units import levenberg_marquardt
from .settings import BUMPS, PAIRS, SEARCH


def read_bump(ledger: Ledger, known: Net, point: Floats, rng: np.random.Generator) -> Net | None:
    """Return the cancelling parallel units that are active at `point`, or None; about 50 + 3 d queries.

    Parameters
    ----------
    known : Net
        All other units.
    point : (d,) array
        An input whose answer differs from theirs.
    """
    for _ in range(SEARCH.most_in_vain):
        line = _BumpLine(ledger, known, point, frame_through(*orthonormal_rows(2, ledger.n_features, rng)))
        samples = _sample_bump(line)
        if samples is None:
            continue
        for n_units in BUMPS.n_units:
            profile = _fit(known.link, samples, n_units, rng)
            if profile is not None:
                return _read_across(line, profile, known, rng)
    return None


@dataclass(frozen=True)
class _Samples:
    """Places on a line, in their order, and what the known units leave over there."""

    at: Floats
    left: Floats

    def joined(self, other: _Samples) -> _Samples:
        at, left = np.concatenate([self.at, other.at]), np.concatenate([self.left, other.left])
        order = np.unique(at, return_index=True)[1]
        return _Samples(at[order], left[order])


@dataclass(frozen=True)
class _BumpLine:
    """A line through a point along the first vector of a frame."""

    ledger: Ledger
    known: Net
    point: Floats
    frame: PlaneFrame

    def ask(self, at: Floats) -> _Samples:
        rows = self.point + at[:, None] * self.frame.plane[0]
        return _Samples(at, self.left_over(rows))

    def left_over(self, rows: Floats) -> Floats:
        """Ask, and return the answers without the known units; what these may be wrong by counts as nothing."""
        left = self.ledger.ask(rows, "bumps") - self.known.predict(rows)
        nothing = UNITS.rounding * self.known.noise(rows, self.ledger)
        return np.where(np.abs(left) > nothing, left, 0.0)


def _sample_bump(line: _BumpLine) -> _Samples | None:
    """Return samples from where nothing is left over to where nothing is left over again, dense where there is most;
    None if there is no such end."""
    size = float(np.linalg.norm(line.point)) or 1.0
    samples = line.ask(np.zeros(1))
    if not samples.left.any():
        return None
    step, ends = BUMPS.first_step * size, np.zeros(2, dtype=bool)
    quiet = np.zeros(2, dtype=int)
    while not ends.all():
        if step > line.ledger.far:
            return None
        sides = np.array([-step, step])[~ends]
        new = line.ask(sides)
        quiet[~ends] = np.where(new.left == 0, quiet[~ends] + 1, 0)
        ends = quiet >= 2
        samples = samples.joined(new)
        step *= 2
    for _ in range(TRIES):
        low, high = _support(samples, SCAN.little)
        samples = samples.joined(line.ask(np.linspace(low, high, SCATTER + 2)[1:-1]))
        low, high = _support(samples, SCAN.little)
        inside = (samples.at > low) & (samples.at < high)
        if inside.sum() >= 0.6 * SCATTER:
            return samples
    return None


def _support(samples: _Samples, share: float) -> tuple[float, float]:
    """Return the places beside those where more than a share of the largest rest is left over."""
    loud = np.flatnonzero(np.abs(samples.left) > share * np.abs(samples.left).max())
    first, last = max(loud[0] - 1, 0), min(loud[-1] + 1, len(samples.at) - 1)
    return float(samples.at[first]), float(samples.at[last])


@dataclass(frozen=True)
class _Profile:
    """``sum_i w_i g(rates_i t + constants_i)`` on the line, which vanishes at both ends."""

    link: Link
    weights: Floats
    rates: Floats
    constants: Floats

    def value(self, at: Floats) -> Floats:
        return np.asarray(self.link.odd.value(np.outer(at, self.rates) + self.constants) @ self.weights)


def _fit(link: Link, samples: _Samples, n_units: int, rng: np.random.Generator) -> _Profile | None:
    """Fit parallel units of weights that add up to zero, from random starts; None if they do not settle."""
    low, high = _support(samples, SCAN.little)
    middle, width, scale = 0.5 * (low + high), high - low, float(np.abs(samples.left).max())
    use = (samples.at > low - width) & (samples.at < high + width)
    at, values = (samples.at[use] - middle) / width, samples.left[use] / scale

    def unpacked(p: Floats) -> tuple[Floats, Floats, Floats]:
        # Weights add up to zero, since the sum vanishes on both sides; rates are positive by their logarithms.
        weights = np.append(p[2 * n_units :], -p[2 * n_units :].sum())
        return weights, np.exp(np.clip(p[:n_units], -5, 12)), p[n_units : 2 * n_units]

    def residuals(p: Floats) -> Floats:
        weights, rates, places = unpacked(p)
        return np.asarray(link.odd.value(rates * (at[:, None] - places)) @ weights - values)

    if len(at) < 3 * n_units:
        return None
    rough = _steps(at, values, n_units)
    for number in range(PAIRS.starts):
        stray = 0.0 if number == 0 else 0.3 * rng.standard_normal(len(rough))
        fit = levenberg_marquardt(residuals, rough + stray)
        if np.abs(fit.fun).max() < BUMPS.fits:
            weights, rates, places = unpacked(fit.x)
            if np.abs(weights).min() < SCAN.little * np.abs(weights).max():
                continue
            return _Profile(link, scale * weights, rates / width, -rates * (places + middle / width))
    return None


def _steps(at: Floats, values: Floats, n_units: int) -> Floats:
    """Return a rough profile (log rates, places, weights but one): the steepest parts of the samples, one per unit."""
    # A unit w g(r (t - p)) rises by 2 w, steepest at its place p, where the slope is w r.
    slopes = np.diff(values) / np.maximum(np.diff(at), BUMPS.fits)  # of samples that fall together, none
    middles = 0.5 * (at[1:] + at[:-1])
    places, weights = [], []
    left = np.abs(slopes)
    for _ in range(n_units):
        best = int(np.argmax(left))
        places.append(middles[best])
        weights.append(0.5 * np.sign(slopes[best]))
        left = np.where(np.abs(middles - middles[best]) < 0.5 / n_units / 2, 0.0, left)
        left = np.where(np.sign(slopes) == np.sign(slopes[best]), 0.5 * left, left)  # the next one most likely falls
    rate = np.log(max(float(np.abs(slopes).max()) / 0.5, 1.0))
    return np.concatenate([np.full(n_units, rate), places, weights[:-1]])


def _read_across(line: _BumpLine, profile: _Profile, known: Net, rng: np.random.Generator) -> Net | None:
    """Return the units: a short step in every direction across the line moves all arguments in proportion."""
    d = known.a.shape[1]
    frame = line.frame
    across = np.concatenate([frame.plane[1:], frame.across(np.arange(d - 2))])  # (d - 1, d)
    base, reach = _largest_slope(profile)
    shifts = np.empty(d - 1)
    todo, length = np.arange(d - 1), 0.3 * reach
    for _ in range(UNITS.most_tries):
        rows = line.point + base * frame.plane[0] + length * across[todo]
        values = line.left_over(rows)
        solved = [_place_of(profile, base, reach, float(value)) for value in values]
        failed = np.array([shift is None for shift in solved], dtype=bool)
        shifts[todo[~failed]] = [shift / length for shift in solved if shift is not None]
        todo, length = todo[failed], length / 4
        if not len(todo):
            break
    else:
        return None
    # H(<v, x>) has the same value after a step e_j as after a shift s_j along the line: <v, e_j> = s_j <v, line>.
    way = frame.plane[0] + shifts @ across  # arguments are rates * <way, x - point> + constants
    _ask_leverage(line, profile, across - shifts[:, None] * frame.plane[0], rng)
    a = profile.rates[:, None] * way
    return Net(known.link, a, profile.constants - a @ line.point, profile.weights, 0.0, (None,) * len(a))


def _ask_leverage(line: _BumpLine, profile: _Profile, along: Floats, rng: np.random.Generator) -> None:
    """Ask far along each unit's plane, (d - 1, d) directions in it, where the joint fit tells the units apart."""
    for rate, constant in zip(profile.rates, profile.constants):
        places = (rng.uniform(-1.0, 1.0, len(along)) - constant) / rate
        rows = line.point + places[:, None] * line.frame.plane[0] + line.known.link.flat / rate * along
        line.ledger.ask(rows, "bumps")


def _largest_slope(profile: _Profile) -> tuple[float, float]:
    """Return the place where the profile is steepest, and how far from it it stays monotone."""
    centers = -profile.constants / profile.rates
    reach = 3 / profile.rates.min()
    at = np.linspace(centers.min() - reach, centers.max() + reach, BUMPS.grid)
    slopes = np.gradient(profile.value(at), at)
    best = int(np.argmax(np.abs(slopes)))
    # Within this distance the slope keeps its sign and a share of its size: the profile can be inverted there.
    same: NDArray[np.bool_] = slopes * np.sign(slopes[best]) > (1 - SHARE) * abs(slopes[best])
    other = np.flatnonzero(~same)
    n = int(np.abs(other - best).min(initial=BUMPS.grid // 2))
    return float(at[best]), float(max(n - 1, 1) * (at[1] - at[0]))


def _place_of(profile: _Profile, base: float, reach: float, value: float) -> float | None:
    """Return how far along the line the profile has this value, near `base`; None if it is not near."""
    low, high = base - reach, base + reach

    def misfit(t: float) -> float:
        return float(profile.value(np.array([t]))[0]) - value

    if misfit(low) * misfit(high) > 0:
        return None
    return float(brentq(misfit, low, high, xtol=1e-15 * max(1.0, abs(base)), rtol=1e-14)) - base
