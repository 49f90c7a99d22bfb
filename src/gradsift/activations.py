"""Each sigmoid: value, derivatives, inverse, smoothed derivative.

All of them are increasing and odd about their value at zero: ``f(-z) = 2 f(0) - f(z)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from scipy.special import erf, erfinv, expit, logit

from .checking import Floats

__all__ = ["ACTIVATIONS", "Activation", "get_activation"]

Function = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Activation:
    """One sigmoid.

    Attributes
    ----------
    value, derivative, second_derivative : callables
        f, f' and f'', elementwise.
    inverse : callable
        z with ``f(z) = v`` for v strictly between `low` and `high`.
    low, high : float
        Limits at minus and plus infinity.
    tails : {"exponential", "gaussian", "algebraic"}
        How fast f approaches them; algebraic tails never reach a plateau in floating point.
    """

    name: str
    value: Function
    derivative: Function
    second_derivative: Function
    inverse: Function
    low: float
    high: float
    tails: str

    def __reduce__(self) -> tuple[Callable[[str], Activation], tuple[str]]:
        return get_activation, (self.name,)  # by name: lambdas cannot be pickled

    @property
    def center(self) -> float:
        """f(0), about which f is odd."""
        return 0.5 * (self.low + self.high)

    def smoothed_derivative(self, mean: Floats, std: Floats | float) -> Floats:
        """Return ``E f'(mean + std Z)`` for standard Gaussian Z, elementwise.

        Gauss-Legendre on panels that end where the argument is zero (there f' is steepest or, for softsign, has its
        kink) and where it is +-20: the nodes crowd at the ends, so steep slopes, for which Gauss-Hermite would need
        thousands of nodes, keep their accuracy. 256 evaluations of f' per element.
        """
        center, scale = (np.asarray(a, dtype=np.float64) for a in np.broadcast_arrays(mean, std))
        nodes, weights = _legendre()
        safe = np.maximum(scale, 1e-300)
        ends = [np.clip((bend - center) / safe, -_REACH, _REACH) for bend in (-np.inf, -20.0, 0.0, 20.0, np.inf)]
        total = np.zeros(center.shape)
        for low, high in pairwise(ends):
            half = 0.5 * (high - low)
            z = (0.5 * (high + low))[..., None] + half[..., None] * nodes
            inside = self.derivative(center[..., None] + scale[..., None] * z) * np.exp(-0.5 * z * z)
            total = total + half * (inside @ weights)
        return np.asarray(total / np.sqrt(2 * np.pi))


_REACH = 9.0  # Gaussian mass beyond nine standard deviations is 2e-19


@cache
def _legendre() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(64)
    return nodes, weights


def _tanh_derivative(z: Floats) -> Floats:
    e = np.exp(-2 * np.abs(z))  # 1 - tanh^2 would cancel in the tails
    return np.asarray(4 * e / (1 + e) ** 2)


def _logistic_derivative(z: Floats) -> Floats:
    return _tanh_derivative(z / 2) / 4


_SQRT_PI = float(np.sqrt(np.pi))

ACTIVATIONS: dict[str, Activation] = {
    a.name: a
    for a in (
        Activation(
            "tanh", np.tanh, _tanh_derivative, lambda z: -2 * np.tanh(z) * _tanh_derivative(z),
            np.arctanh, -1.0, 1.0, "exponential",
        ),
        Activation(
            "logistic", expit, _logistic_derivative, lambda z: -np.tanh(z / 2) * _logistic_derivative(z),
            logit, 0.0, 1.0, "exponential",
        ),
        Activation(
            "erf", erf, lambda z: 2 / _SQRT_PI * np.exp(-z * z), lambda z: -4 / _SQRT_PI * z * np.exp(-z * z),
            erfinv, -1.0, 1.0, "gaussian",
        ),
        Activation(
            "arctan", np.arctan, lambda z: 1 / (1 + z * z), lambda z: -2 * z / (1 + z * z) ** 2,
            np.tan, -np.pi / 2, np.pi / 2, "algebraic",
        ),
        Activation(
            "softsign", lambda z: z / (1 + np.abs(z)), lambda z: 1 / (1 + np.abs(z)) ** 2,
            lambda z: -2 * np.sign(z) / (1 + np.abs(z)) ** 3, lambda v: v / (1 - np.abs(v)), -1.0, 1.0, "algebraic",
        ),
    )
}  # fmt: skip


def get_activation(name: str | Activation) -> Activation:
    """Look an activation up by name."""
    if isinstance(name, Activation):
        return name
    if name not in ACTIVATIONS:
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {name!r}.")
    return ACTIVATIONS[name]
