"""Where to ask whether a network that was found is the box: inputs as they are used, and where its units bend."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincinv

from ..arguments import Floats
from ..geometry import orthonormal_rows
from ..model import SigmoidCombination
from ..network import Network
from ..oracle import Oracle

_OWN_SCALE = (0.3, 1.0)  # shares of the inputs: up to here at the units' own scale, up to there on one unit's slope
_SPREADS = (0.5, 4.0)  # of the arguments at the units' own scale
_STANDARD = (0.1, 30.0)  # spread of the arguments over standard inputs, for which these are worth asking
_SILENT = (
    float(np.finfo(np.float64).eps) ** 0.5
)  # of the largest entry: a column this small beside the others is rounding


def scale_of_inputs(model: SigmoidCombination, unsure: float = 0.0) -> Floats:
    """Return for each input the size of a change that turns a typical unit's argument by one, shape (d,).

    An input that no unit listens to has the size of a typical one; so has one whose entries are smaller than errors of
    the directions, `unsure` in radians.
    """
    a = model.units * model.slopes[:, None]
    listened = np.sqrt(np.mean(a**2, axis=0)) if len(a) else np.zeros(model.n_features)
    heard = listened > max(_SILENT, min(unsure, 0.5)) * listened.max(initial=0.0)
    scales = np.full(model.n_features, 1 / np.median(listened[heard]) if heard.any() else 1.0)
    scales[heard] = 1 / listened[heard]
    return scales


def fresh_inputs(
    model: SigmoidCombination | Network, oracle: Oracle, n: int, rng: np.random.Generator, unsure: float = 0.0
) -> Floats:
    """Return n inputs, (n, d), of the kind that a certificate speaks of; directions are known to `unsure`.

    Where typical rows are given they are such rows, every second one on the way from one row to another. Inside bounds
    they are uniform; elsewhere Gaussian, of unit size unless that suits the units badly. Three of ten are at the units'
    own scale, around the point where most of them bend; the others begin as usual inputs, and every second one of them
    is moved until the argument of one unit is about zero, unit after unit.
    """
    if isinstance(model, Network):
        model = _first_layer(model)
    if oracle.inputs is not None:
        return _typical(oracle.inputs, n, rng)
    scales = scale_of_inputs(model, unsure)
    usual = _usual(model, oracle, scales, n, rng)
    n_own = int(_OWN_SCALE[0] * n)
    points = usual.copy()
    if oracle.bounds is None:
        points[:n_own] = _at_own_scale(model, scales, n_own, rng)
    moved = _on_slopes(model, scales, usual[n_own::2], rng)
    if oracle.bounds is not None:
        inside = ((moved >= oracle.bounds.low) & (moved <= oracle.bounds.high)).all(axis=1)
        moved[~inside] = usual[n_own::2][~inside]
    points[n_own::2] = moved
    return points


def _first_layer(network: Network) -> SigmoidCombination:
    """Return the units of the first layer as a model: they bend where the network does."""
    weights, offsets = network.layers[0]
    awake = weights.any(axis=1)
    return SigmoidCombination(
        weights[awake], np.ones(int(awake.sum())), 1.0, offsets[awake], 0.0, network.activations[0]
    )


def _typical(rows: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Return n rows, every second one somewhere on the way to another; each row is taken before any is taken twice."""
    order = np.concatenate([rng.permutation(len(rows)) for _ in range(-(-2 * n // len(rows)))])
    first, second = rows[order[:n]], rows[order[n : 2 * n]]
    way = np.where(np.arange(n) % 2, rng.random(n), 0.0)[:, None]
    return np.asarray(first + way * (second - first))


def _usual(model: SigmoidCombination, oracle: Oracle, scales: Floats, n: int, rng: np.random.Generator) -> Floats:
    d = model.n_features
    if oracle.bounds is not None and np.isfinite([oracle.bounds.low, oracle.bounds.high]).all():
        low, high = oracle.bounds
        return np.asarray(low + (high - low) * rng.random((n, d)))
    spread = float(np.median(model.slopes)) if model.n_units else 1.0
    if _STANDARD[0] < spread < _STANDARD[1]:
        return spread_out(n, d, rng)
    return _at_own_scale(model, scales, n, rng)


def _at_own_scale(model: SigmoidCombination, scales: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Return Gaussian inputs at which arguments have spreads of 0.5 to 4, about the point where most units bend."""
    a = model.units * model.slopes[:, None] * scales
    d = model.n_features
    if 4 * len(a) <= d:  # the offsets are met as far as short ways allow
        center = -a.T @ np.linalg.solve(a @ a.T + np.eye(len(a)), model.offsets)
    else:
        center = -np.linalg.solve(a.T @ a + np.eye(d), a.T @ model.offsets)
    low, high = np.log(_SPREADS)
    sizes = np.exp(rng.uniform(low, high, (n, 1))) / np.sqrt(d)
    return np.asarray(scales * (center + sizes * spread_out(n, d, rng)))


def _on_slopes(model: SigmoidCombination, scales: Floats, points: Floats, rng: np.random.Generator) -> Floats:
    """Return the points, each moved along one unit until its argument is about zero; unit after unit."""
    if not model.n_units or not len(points):
        return points.copy()
    unit = (np.arange(len(points)) + int(rng.integers(model.n_units))) % model.n_units
    a = (model.units * model.slopes[:, None])[unit] * scales
    wanted = rng.standard_normal(len(points))
    excess = (points / scales * a).sum(axis=1) + model.offsets[unit] - wanted
    return np.asarray(points - scales * a * (excess / (a**2).sum(axis=1))[:, None])


def spread_out(n: int, d: int, rng: np.random.Generator) -> Floats:
    """Return n standard Gaussian rows, (n, d), that leave no half-space and no shell out: directions are orthogonal or
    opposite in groups of 2 d, and lengths are stratified."""
    # Opposite ones among a few of the 2 d are rare, and a whole basis is large.
    directions = orthonormal_rows(n, d, rng) if 4 * n <= d else np.empty((0, d))
    while len(directions) < n:
        axes = np.linalg.qr(rng.standard_normal((d, d)))[0] * rng.choice([-1.0, 1.0], d)
        both = np.concatenate([axes.T, -axes.T])
        directions = np.concatenate([directions, both[rng.permutation(2 * d)]])
    lengths = np.sqrt(2 * gammaincinv(0.5 * d, (rng.permutation(n) + rng.random(n)) / n))  # those of a Gaussian
    return np.asarray(directions[:n] * lengths[:, None])
