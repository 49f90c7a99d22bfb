"""The sigmoids, written as odd functions: the form in which the exact method works."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..activations import ACTIVATIONS, Activation
from ..checking import Floats
from ..model import SigmoidCombination

__all__ = ["LINKS", "Link"]


@dataclass(frozen=True)
class Link:
    """An odd sigmoid g, and its relation to the activation asked for; those with plateaus have the limits -1 and +1.

    ``f(z) = center + gain g(stretch z)``; logistic is tanh with gain 1/2 and stretch 1/2.

    Attributes
    ----------
    odd : Activation
        g itself.
    flat : float
        Beyond this argument g equals its limit as far as answers show; inf for algebraic tails.
    usable : float
        Up to this argument the inverse still has a few correct digits.
    eps : float
        Relative rounding of the arguments inside the oracle.
    """

    activation: Activation
    odd: Activation
    flat: float
    usable: float
    gain: float = 1.0
    stretch: float = 1.0
    eps: float = 2.0**-52

    def coarser(self, step: float, eps: float) -> Link:
        """Return the same sigmoid seen through answers with the given step, as a share of the typical answer."""
        flat, usable = self.odd.inverse(1 - np.array([0.25, 10.0]) * step)
        return replace(self, flat=float(flat), usable=float(usable), eps=eps)

    def invert(self, ratios: Floats) -> Floats:
        """Return z with g(z) = ratio; ratios at or beyond the limits give an infinite z."""
        inside = np.clip(ratios, -1.0, 1.0)
        with np.errstate(divide="ignore"):
            return np.asarray(self.odd.inverse(inside))

    def to_model(self, a: Floats, b: Floats, u: Floats, c: float, linear: ArrayLike = 0.0) -> SigmoidCombination:
        """Return ``c + <linear, x> + sum u g(a x + b)`` as a canonical model of the activation asked for."""
        center = self.activation.center
        weights = u / self.gain
        intercept = c - center * float(weights.sum())
        slopes = np.linalg.norm(a, axis=1) / self.stretch
        units = a / np.linalg.norm(a, axis=1, keepdims=True)
        model = SigmoidCombination(units, weights, slopes, b / self.stretch, intercept, self.activation, linear)
        return model.canonical()


_TANH, _ERF = ACTIVATIONS["tanh"], ACTIVATIONS["erf"]

LINKS: dict[str, Link] = {
    "tanh": Link(_TANH, _TANH, flat=19.1, usable=14.0),
    "logistic": Link(ACTIVATIONS["logistic"], _TANH, flat=19.1, usable=14.0, gain=0.5, stretch=0.5),
    "erf": Link(_ERF, _ERF, flat=5.95, usable=4.9),
    "arctan": Link(ACTIVATIONS["arctan"], ACTIVATIONS["arctan"], flat=np.inf, usable=np.inf),
    "softsign": Link(ACTIVATIONS["softsign"], ACTIVATIONS["softsign"], flat=np.inf, usable=np.inf),
}
