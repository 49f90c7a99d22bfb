"""An activation as a kink and what is left of it: the form in which the method for kinks works."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.optimize import brentq

from ...activations import ACTIVATIONS, Activation, get_activation
from ...activations.record import POINTS
from ...arguments import Floats

_TYPICAL = {"gelu": 1.2, "gelu_tanh": 1.2, "elu": 0.7}  # 2 for the others; guess
_BEYOND = 60.0  # arguments beyond which nothing but the two lines is left in double precision


@dataclass(frozen=True)
class Shape:
    """``f(z) = left line + gain (relu(t) + rest(t))`` with ``t = z - corner``, and a rest that decays at both ends.

    Attributes
    ----------
    activation : Activation
    slope, level : float
        The line at minus infinity.
    gain : float
        By how much the slope grows from one end to the other.
    corner : float
        Where the lines at both ends meet.
    even : bool
        ``rest(-t) = rest(t)``: a unit and its mirror image differ by a linear term only.
    typical : float
        An argument at which the rest is large at both sides and tells the width of a unit well.
    blur : float
        Of sharp kinks: length of the path, to both sides, that is left out because they may be rounded there.
    """

    activation: Activation
    slope: float
    level: float
    gain: float
    corner: float
    even: bool
    typical: float
    blur: float = 0.0

    @property
    def name(self) -> str:
        """Name of the activation."""
        return self.activation.name

    @property
    def sharp(self) -> bool:
        """Whether there is no rest at all, and so no width: ReLU and leaky ReLU."""
        return self.typical == 0.0

    def rest(self, t: Floats) -> Floats:
        """Return what the kink alone leaves over, elementwise."""
        z = np.clip(t, -_BEYOND, _BEYOND)
        left = (self.activation.value(z + self.corner) - self.slope * (z + self.corner) - self.level) / self.gain
        return np.where(np.abs(t) < _BEYOND, left - np.maximum(z, 0.0), 0.0)

    def rest_slope(self, t: Floats) -> Floats:
        """Return the derivative of the rest, elementwise."""
        z = np.clip(t, -_BEYOND, _BEYOND)
        left = (self.activation.derivative(z + self.corner) - self.slope) / self.gain
        return np.where(np.abs(t) < _BEYOND, left - (z > 0), 0.0)

    def flat(self, tolerance: float) -> float:
        """Return the size of arguments beyond which the rest stays below a tolerance at both ends."""
        if self.sharp:
            return 0.0
        grid, sizes = _sizes(self.name)
        return float(grid[int(np.argmax(sizes <= max(tolerance, 1e-17)))])

    def argument(self, ratio: float, side: float) -> float:
        """Return t > 0 with ``|rest(side t)| / t = ratio``; inf if the ratio is too small to tell, 0 if too large."""

        def excess(log_t: float) -> float:
            t = float(np.exp(log_t))
            return abs(float(self.rest(np.array(side * t)))) / t - ratio

        low, high = np.log(1e-4), np.log(_BEYOND / 2)
        if excess(low) <= 0:
            return 0.0
        if excess(high) >= 0 or ratio <= 0:
            return np.inf
        return float(np.exp(brentq(excess, low, high, xtol=1e-14, rtol=1e-14)))


@cache
def _sizes(name: str) -> tuple[Floats, Floats]:
    """Return arguments, and the largest size of the rest beyond each of them."""
    shape = shape_of(name)
    grid = np.linspace(0.0, _BEYOND, 1201)
    sizes = np.maximum(np.abs(shape.rest(grid)), np.abs(shape.rest(-grid)))
    sizes[-1] = 0.0
    return grid, np.maximum.accumulate(sizes[::-1])[::-1]


@cache
def shape_of(name: str) -> Shape:
    """Return the shape of an activation that grows."""
    activation = get_activation(name)
    (level, slope), (end_level, end) = activation.left, activation.right
    gain = end - slope
    corner = (level - end_level) / gain
    typical = 0.0 if activation.homogeneous else _TYPICAL.get(name, 2.0)
    shape = Shape(activation, slope, level, gain, corner, True, typical)
    even = bool(np.abs(shape.rest(POINTS) - shape.rest(-POINTS)).max() < 1e-12)
    return replace(shape, even=even)


def growing_names() -> tuple[str, ...]:
    """Return the names of all activations that grow, in the order of the catalogue."""
    return tuple(name for name, f in ACTIVATIONS.items() if not f.saturates)
