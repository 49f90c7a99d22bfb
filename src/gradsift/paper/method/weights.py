"""Weights (and a common slope) for given unit directions: least squares, or least squares on the simplex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from ...activations import Activation, get_activation
from ...arguments import Floats, at_least
from ...sources import Rows, Source, Summary

_SLOPES = (0.05, 50.0)  # range in which a slope is looked for


@dataclass(frozen=True)
class WeightFit:
    """Weights for given units.

    Attributes
    ----------
    weights : (k,) array
    slope : float
    standard_errors : (k,) array
        Of the weights, for given units and slope.
    residual_sd : float
    """

    weights: Floats
    slope: float
    standard_errors: Floats
    residual_sd: float

    @property
    def at_edge(self) -> bool:
        """The slope stopped at an end of the range in which one is looked for."""
        return not 1.01 * _SLOPES[0] < self.slope < _SLOPES[1] / 1.01


class WeightState(NamedTuple):
    mass: float
    gram: Floats  # (s, k, k) for s slopes
    moment: Floats  # (s, k)
    y_square: float


class WeightSummary(Summary[WeightState, WeightState]):
    """Normal equations of y on the units' activations, for several slopes in one pass. O(s n k (d + k)) flops."""

    def __init__(self, units: Floats, slopes: Floats, activation: Activation) -> None:
        self.units, self.slopes, self.activation = units, slopes, activation

    def chunk(self, rows: Rows) -> WeightState:
        scores = rows.X @ self.units.T  # (rows, k)
        weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
        grams, moments = [], []
        for slope in self.slopes:
            active = self.activation.value(slope * scores)
            weighted = active * weight[:, None]
            grams.append(weighted.T @ active)
            moments.append(weighted.T @ rows.y)
        return WeightState(float(weight.sum()), np.stack(grams), np.stack(moments), float(weight @ rows.y**2))

    def chunk_on_device(self, rows: Any) -> WeightState:
        x, y = rows.X.double(), rows.y.double()
        scores = x @ x.new_tensor(self.units).T
        weight = y.new_ones(len(y)) if rows.weight is None else rows.weight.double()
        f = self.activation.torch_twin().value
        active = [f(float(slope) * scores) for slope in self.slopes]
        gram = np.stack([((a * weight[:, None]).T @ a).cpu().numpy() for a in active])
        moment = np.stack([((a * weight[:, None]).T @ y).cpu().numpy() for a in active])
        return WeightState(float(weight.sum()), gram, moment, float(weight @ (y * y)))

    def merge(self, left: WeightState, right: WeightState) -> WeightState:
        return WeightState(
            left.mass + right.mass, left.gram + right.gram, left.moment + right.moment, left.y_square + right.y_square
        )

    def finalize(self, state: WeightState) -> WeightState:
        return state


def fit_weights(
    units: Floats,
    source: Source,
    *,
    slope: float | None = None,
    mixture: bool = False,
    activation: str | Activation = "tanh",
) -> WeightFit:
    """Fit ``y ~ sum_l u_l f(slope <w_l, x>)`` for given units w, shape (k, d).

    Parameters
    ----------
    slope : float, optional
        The common slope; None estimates it by least squares between 0.05 and 50, zooming in on a logarithmic grid and
        ending with a parabola (five passes over the rows instead of one).
    mixture : bool
        Weights at least 0 with sum 1.
    """
    f = get_activation(activation)
    if slope is not None:
        at_least("slope", slope, 0, strict=True)
        return _fits(units, source, np.array([float(slope)]), mixture, f)[0]
    low, high = np.log(_SLOPES)
    for _ in range(4):
        grid = np.linspace(low, high, 12)
        fits = _fits(units, source, np.exp(grid), mixture, f)
        best = int(np.argmin([fit.residual_sd for fit in fits]))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 11)]
    if best in (0, 11):
        return fits[best]  # at an end of the range: the caller can tell by `at_edge`
    # A parabola through the three best points of the grid: its vertex is the minimum to second order.
    around = slice(best - 1, best + 2)
    bend = np.polyfit(grid[around], [fit.residual_sd**2 for fit in fits[around]], 2)
    vertex = -bend[1] / (2 * bend[0]) if bend[0] > 0 else grid[best]
    refined = _fits(units, source, np.exp(np.clip([vertex], low, high)), mixture, f)[0]
    return min(fits[best], refined, key=lambda fit: fit.residual_sd)


def _fits(units: Floats, source: Source, slopes: Floats, mixture: bool, f: Activation) -> list[WeightFit]:
    state = source.reduce(WeightSummary(units, slopes, f))
    if not np.isfinite(state.y_square):
        raise ValueError("y must be small enough that its squares are finite; divide it by its largest value.")
    return [_solve(gram, moment, state, float(s), mixture) for s, gram, moment in zip(slopes, state.gram, state.moment)]


def _solve(gram: Floats, moment: Floats, state: WeightState, slope: float, mixture: bool) -> WeightFit:
    # Normal equations are precise enough for k weights of given units; the pseudo-inverse lets equal units share one.
    inverse = np.linalg.pinv(gram, rcond=1e-12, hermitian=True)
    weights = _on_simplex(gram, moment, state.y_square) if mixture else inverse @ moment
    residual = state.y_square - 2 * weights @ moment + weights @ gram @ weights
    variance = max(float(residual), 0.0) / max(1.0, state.mass - len(weights))
    return WeightFit(weights, slope, np.sqrt(variance * np.diag(inverse).clip(min=0.0)), float(np.sqrt(variance)))


def _on_simplex(gram: Floats, moment: Floats, y_square: float) -> Floats:
    """Minimise ``|A u - y|^2`` over the simplex, given A'A and A'y.

    There sum(u) = 1, so A u - y = (A - y 1') u =: B u, and minimising |B v|^2 + (1'v - 1)^2 over v >= 0 gives v
    proportional to the answer: for v = t u the best t leaves an increasing function of |B u|^2.
    """
    k = len(moment)
    inner = gram - moment[:, None] - moment[None, :] + y_square  # B'B
    scale = float(np.trace(inner)) / k or 1.0
    values, vectors = np.linalg.eigh(inner / scale)
    root = np.sqrt(values.clip(min=0.0))[:, None] * vectors.T  # root' root = B'B
    v, _ = nnls(np.vstack((root, np.ones(k))), np.r_[np.zeros(k), 1.0])
    return np.asarray(v / v.sum())
