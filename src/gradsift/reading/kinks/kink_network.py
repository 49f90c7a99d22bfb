"""The network found so far, as kinks and their rests, and the public model of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...model import SigmoidCombination
from .answer_precision import EXACT_ANSWERS, Grain
from .settings import GRAIN, PATH
from .shape import Shape, shape_of


@dataclass(frozen=True)
class KinkNet:
    """``c + <g, x> + sum_l w_l (relu(t_l) + rest(turn_l t_l))`` with ``t_l = (<jumps_l, x> + q_l) / w_l``.

    Attributes
    ----------
    jumps : (k, d) array
        By how much the gradient changes where unit l becomes active.
    q : (k,) array
    w : (k,) array
        Weights; only the sign counts where the shape is sharp.
    turns : (k,) array
        +1 or -1.
    g : (d,) array
        Gradient where no unit is active.
    c : float
    grain : Grain
        Of the oracle's answers.
    """

    shape: Shape
    jumps: Floats
    q: Floats
    w: Floats
    turns: Floats
    g: Floats
    c: float
    grain: Grain = EXACT_ANSWERS

    @property
    def k(self) -> int:
        """Number of units."""
        return len(self.q)

    @property
    def n_unknowns(self) -> int:
        """Number of parameters, the linear term included."""
        return self.jumps.size + 2 * self.k + 1 + len(self.g)

    def arguments(self, X: Floats) -> Floats:
        """Return t, shape (n, k)."""
        return np.asarray((X @ self.jumps.T + self.q) / self.w)

    def predict(self, X: Floats) -> Floats:
        """Return the values at the rows of X, shape (n,)."""
        t = self.arguments(X)
        return np.asarray(self.c + X @ self.g + self._unit_values(t) @ self.w)

    def _unit_values(self, t: Floats) -> Floats:
        bumps = np.maximum(t, 0.0)
        return bumps if self.shape.sharp else bumps + self.shape.rest(self.turns * t)

    def unit_slopes(self, t: Floats) -> Floats:
        """Return the derivatives of the bumps, shape (n, k)."""
        active = (t > 0).astype(np.float64)
        return active if self.shape.sharp else active + self.turns * self.shape.rest_slope(self.turns * t)

    def near_derivatives(self, X: Floats) -> Floats:
        """Return the derivatives in q, w (unless sharp) and c at the rows of X, shape (n, k + 1) or (n, 2 k + 1)."""
        t = self.arguments(X)
        slopes = self.unit_slopes(t)
        ones = np.ones((len(X), 1))
        if self.shape.sharp:
            return np.concatenate([slopes, ones], axis=1)
        return np.concatenate([slopes, self._unit_values(t) - t * slopes, ones], axis=1)

    def rounding(self, X: Floats) -> Floats:
        """Return the size of the rounding error of an oracle's answers at the rows of X, shape (n,).

        Arguments are rounded by the size of their terms, and so is their sum.
        """
        lengths = np.linalg.norm(self.jumps, axis=1)
        radii = np.linalg.norm(X, axis=1)
        terms = np.multiply.outer(radii, lengths) + np.abs(self.q)
        size = np.sqrt((terms**2).sum(axis=1)) + np.linalg.norm(self.g) * radii + abs(self.c)
        if not self.shape.sharp:
            size = size + np.abs(self.w).max(initial=0.0)
        return np.asarray(np.hypot(2 * self.grain.relative * size, self.grain.sd))

    def moved(self, by: Floats) -> KinkNet:
        """Return the network of inputs x + by, (d,), as one of x."""
        return replace(self, q=self.q + self.jumps @ by, c=self.c + float(self.g @ by))

    def only(self, keep: NDArray[np.bool_]) -> KinkNet:
        """Return the network with the units selected by a mask."""
        return replace(self, jumps=self.jumps[keep], q=self.q[keep], w=self.w[keep], turns=self.turns[keep])


def joined(one: KinkNet, other: KinkNet) -> KinkNet:
    """Return the sum of two networks of the same shape."""
    jumps, q, w, turns = (
        np.concatenate(pair)
        for pair in ((one.jumps, other.jumps), (one.q, other.q), (one.w, other.w), (one.turns, other.turns))
    )
    return replace(one, jumps=jumps, q=q, w=w, turns=turns, g=one.g + other.g, c=one.c + other.c)


def model_of(net: KinkNet, *, leaky_too: bool = False) -> tuple[SigmoidCombination, NDArray[np.intp]]:
    """Return the model without a linear term if there is one, else the canonical one; and the order of its units.

    Units whose rest is even may point either way (:meth:`gradsift.SigmoidCombination.plain`).

    Parameters
    ----------
    leaky_too : bool
        Where ReLU units need a linear term, see whether leaky ones need none.
    """
    model, order = _model(net)
    if leaky_too and net.shape.name == "relu" and model.has_linear_term:
        leaky, _ = _model(replace(net, shape=shape_of("leaky_relu")))
        model = model if leaky.has_linear_term else leaky
    return model, order


def _model(net: KinkNet) -> tuple[SigmoidCombination, NDArray[np.intp]]:
    shape = net.shape
    w = np.sign(net.w) * np.linalg.norm(net.jumps, axis=1) if shape.sharp else net.w
    forward = net.turns > 0
    weights = w / shape.gain
    rows = net.jumps / w[:, None] * net.turns[:, None]
    offsets = net.q / w * net.turns + shape.corner
    # A unit seen from the other side: relu(t) = relu(-t) + t.
    linear = net.g + net.jumps[~forward].sum(axis=0) - shape.slope * (weights[:, None] * rows).sum(axis=0)
    intercept = net.c + net.q[~forward].sum() - float(weights @ (shape.slope * offsets + shape.level))
    nothing = GRAIN.cancel if net.grain.single else PATH.nothing
    if np.linalg.norm(linear) < nothing * np.linalg.norm(net.jumps, axis=1).max(initial=0.0):
        linear = np.zeros_like(linear)
    model = SigmoidCombination(rows, weights, 1.0, offsets, float(intercept), shape.activation, linear)
    order = np.argsort(-np.abs(weights), kind="stable")
    plain = model.plain(GRAIN.cancel) if net.grain.single else model.plain()
    return plain or model.canonical(), order
