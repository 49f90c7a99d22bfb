"""Random models whose difficulty is requested, not left to chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq

from .arguments import Floats, as_generator, at_least, finite_vector, whole
from .geometry import normalize_rows, orthonormal_rows
from .model import SigmoidCombination
from .network import Network


def random_units(n_features: int, n_units: int, min_singular_value: float | None = None, rng: Any = None) -> Floats:
    """Draw unit rows whose smallest singular value is `min_singular_value` (the paper's kappa).

    Parameters
    ----------
    n_features, n_units : int
    min_singular_value : float in (0, 1], optional
        1 gives orthonormal rows; None draws independent uniform directions.

    Returns
    -------
    (n_units, n_features) array
    """
    rng = as_generator(rng)
    whole("n_features", n_features)
    whole("n_units", n_units)
    if min_singular_value is None:
        return normalize_rows(rng.standard_normal((n_units, n_features)))
    kappa = float(min_singular_value)
    if not 0 < kappa <= 1:
        raise ValueError(f"min_singular_value must lie in (0, 1], got {min_singular_value!r}.")
    if n_units > n_features:
        raise ValueError(f"min_singular_value needs n_units <= n_features, got {n_units} > {n_features}.")
    frame = orthonormal_rows(n_units, n_features, rng)
    if kappa == 1 or n_units == 1:
        return frame
    # Rows (1 - t) q_i + t p of an orthonormal frame q: the smallest singular value falls from 1 to 0 as t grows.
    pull = normalize_rows(rng.standard_normal((1, n_units)))[0] @ frame  # a common direction in the span

    def turned(t: float) -> Floats:
        return normalize_rows((1 - t) * frame + t * pull)

    def excess(t: float) -> float:
        return float(np.linalg.svd(turned(t), compute_uv=False)[-1]) - kappa

    # Leaning all rows towards one direction takes the value continuously from 1 to 0.
    return turned(float(brentq(excess, 0.0, 1.0, xtol=1e-14)))


def random_combination(
    n_features: int,
    n_units: int,
    *,
    slope: float = 1.0,
    min_singular_value: float | None = None,
    signed: bool = True,
    mixture: bool = False,
    offsets: bool = False,
    min_weight: float = 0.5,
    activation: str = "tanh",
    rng: Any = None,
) -> SigmoidCombination:
    """Draw a model.

    Parameters
    ----------
    n_features, n_units : int
    slope : float
        Common slope (the paper's beta).
    min_singular_value : float in (0, 1], optional
        Of the matrix of units (the paper's kappa); None leaves independent uniform directions.
    signed : bool
        Weights have random signs; otherwise they are positive.
    mixture : bool
        Weights are positive and sum to one; overrides `signed`.
    offsets : bool
        Offsets are standard Gaussian instead of zero.
    min_weight : float in (0, 1]
        Smallest absolute weight, relative to the largest possible one (before a mixture is normalised).
    activation : str
    rng : None, int or Generator
    """
    at_least("slope", slope, 0, strict=True)
    if not 0 < min_weight <= 1:
        raise ValueError(f"min_weight must lie in (0, 1], got {min_weight!r}.")
    rng = as_generator(rng)
    units = random_units(n_features, n_units, min_singular_value, rng)
    weights = rng.uniform(min_weight, 1.0, n_units)
    if mixture:
        weights = weights / weights.sum()
    elif signed:
        weights = weights * rng.choice([-1.0, 1.0], n_units)
    shifts = rng.standard_normal(n_units) if offsets else np.zeros(n_units)
    return SigmoidCombination(units, weights, slope, shifts, activation=activation)


def random_network(
    n_features: int,
    widths: Sequence[int],
    *,
    row_norms: Sequence[Any] | float = 1.5,
    offsets: Sequence[float] | float = 0.5,
    n_outputs: int = 1,
    activation: str = "tanh",
    rng: Any = None,
) -> Network:
    """Draw a network with hidden layers of these widths.

    Parameters
    ----------
    n_features : int
    widths : sequence of int
        Units of each hidden layer, from the inputs on.
    row_norms : float, or one entry per hidden layer
        Length of the weights into each unit; an entry (low, high) draws lengths between them, uniform in the logarithm.
    offsets : float, or one per hidden layer
        Standard deviation of the offsets.
    n_outputs : int
        Output weights and offsets are standard Gaussian.
    activation : str
    rng : None, int or Generator
    """
    whole("n_features", n_features)
    whole("n_outputs", n_outputs)
    if not len(widths):
        raise ValueError("widths must name at least one hidden layer.")
    for width in widths:
        whole("widths", width)
    rng = as_generator(rng)
    norms = [row_norms] * len(widths) if isinstance(row_norms, (int, float)) else list(row_norms)
    spread = finite_vector("offsets", offsets, len(widths))
    if len(norms) != len(widths):
        raise ValueError(f"row_norms must have one entry per hidden layer, got {len(norms)} for {len(widths)}.")
    layers, inputs = [], n_features
    for width, norm, sd in zip(widths, norms, spread):
        low, high = (norm, norm) if isinstance(norm, (int, float)) else norm
        at_least("row_norms", low, 0, strict=True)
        at_least("row_norms", high, low)
        lengths = np.exp(rng.uniform(np.log(low), np.log(high), width))
        rows = normalize_rows(rng.standard_normal((width, inputs))) * lengths[:, None]
        layers.append((rows, sd * rng.standard_normal(width)))
        inputs = width
    layers.append((rng.standard_normal((n_outputs, inputs)), rng.standard_normal(n_outputs)))
    return Network(layers, activation)
