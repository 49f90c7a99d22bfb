"""Activations as black boxes show them: inverted, seen through coarse answers, and turned back into a model."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..activations import ACTIVATIONS, Activation, OddForm, get_activation
from ..arguments import Floats
from ..model import SigmoidCombination


@dataclass(frozen=True)
class Link:
    """The odd sigmoid g that units are read with, and its relation to the activation asked for.

    ``f(z) = center + gain g(stretch z)``; those with plateaus have the limits -1 and +1.

    Attributes
    ----------
    activation : Activation
        f itself.
    form : OddForm
    flat : float
        Beyond this argument g equals its limit as far as answers show; inf for algebraic tails.
    usable : float
        Up to this argument the inverse still has a few correct digits.
    eps : float
        Relative rounding of the arguments inside the oracle.
    """

    activation: Activation
    form: OddForm
    flat: float
    usable: float
    eps: float = float(np.finfo(np.float64).eps)

    @property
    def odd(self) -> Activation:
        """g."""
        return self.form.g

    @property
    def gain(self) -> float:
        """Weight of g over that of f."""
        return self.form.gain

    @property
    def stretch(self) -> float:
        """Argument of g over that of f."""
        return self.form.stretch

    def with_precision(self, step: float, eps: float) -> Link:
        """Return the same sigmoid seen through answers with the given step, as a share of the typical answer."""
        flat, usable = self.odd.invert(1 - np.array([0.25, 10.0]) * step)
        return replace(self, flat=float(flat), usable=float(usable), eps=eps)

    def invert(self, ratios: Floats) -> Floats:
        """Return z with g(z) = ratio; ratios at or beyond the limits give an infinite z."""
        inside = np.clip(ratios, -1.0, 1.0)
        with np.errstate(divide="ignore"):
            return self.odd.invert(inside)

    def to_model(self, a: Floats, b: Floats, u: Floats, c: float, linear: ArrayLike = 0.0) -> SigmoidCombination:
        """Return ``c + <linear, x> + sum u g(a x + b)`` as a canonical model of the activation asked for."""
        weights = u / self.gain
        intercept = c - self.form.center * float(weights.sum())
        slopes = np.linalg.norm(a, axis=1) / self.stretch
        units = a / np.linalg.norm(a, axis=1, keepdims=True)
        model = SigmoidCombination(units, weights, slopes, b / self.stretch, intercept, self.activation, linear)
        return model.canonical()


def link_of(activation: str | Activation) -> Link:
    """Return the link of an activation, or say why a black box of such units cannot be read this way."""
    f = get_activation(activation)
    form = f.odd_form
    if form is None:
        raise ValueError(
            f"Units inside a black box must be sigmoids that are odd about their centre, and {f.name} is not: fit "
            "samples instead."
        )
    return Link(f, form, form.flat, form.usable)


def identity_form(activation: str | Activation) -> Link:
    """Return units read with the activation itself, odd or not: without plateaus, and near the origin only."""
    f = get_activation(activation)
    return Link(f, OddForm(f, 0.0, 1.0, 1.0, np.inf, np.inf), np.inf, np.inf)


def with_plateaus() -> list[Link]:
    """Return one link for each shape that reaches its limits; logistic has the shape of tanh."""
    links = [link_of(f) for f in ACTIVATIONS.values() if f.odd_form is not None]
    return [link for link in links if np.isfinite(link.flat) and link.odd.name == link.activation.name]


def with_tails() -> list[Link]:
    """Return the links of all sigmoids that never reach their limits."""
    return [link_of(f) for f in ACTIVATIONS.values() if f.odd_form is not None and np.isinf(f.odd_form.flat)]
