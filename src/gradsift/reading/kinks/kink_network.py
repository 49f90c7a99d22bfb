"""The network found so far: activations as kinks and rests, how accurate the answers are, and the public model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ...activations import ACTIVATIONS, Activation, get_activation
from ...activations.record import POINTS
from ...arguments import Floats
from ...model import SigmoidCombination
from ...tuned import SCATTER
from ..ledger import Ledger
from ..precision import EXACT_ANSWERS, Precision
from ..scouts import REPEATED
from .settings import GRAIN

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
    def half_width(self) -> float:
        """Distance from a hyperplane within which a sharp kink may be rounded: the reach, as `blur` is several."""
        return self.blur / GRAIN.blur

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


def precision_far_out(precision: Precision) -> Precision:
    """Return how answers err far out: single precision by a share of them, all others by the same everywhere."""
    if precision.is_exact:
        return EXACT_ANSWERS
    if precision.is_float32:
        return Precision("float32")
    return Precision("noisy" if precision.has_noise else "rounded", precision.sd)


def with_repeats(grain: Precision, ledger: Ledger, rng: np.random.Generator) -> Precision:
    """Return the grain with noise measured by more answers to one question; nothing is asked without noise."""
    if not grain.has_noise:
        return grain
    point = rng.standard_normal((1, ledger.n_features))
    answers = ledger.ask(np.repeat(point, SCATTER, axis=0), "noise")
    first, more = REPEATED, SCATTER - 1
    return replace(grain, sd=float(np.sqrt((first * grain.sd**2 + more * answers.var(ddof=1)) / (first + more))))


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
    grain : Precision
        Of the oracle's answers.
    """

    shape: Shape
    jumps: Floats
    q: Floats
    w: Floats
    turns: Floats
    g: Floats
    c: float
    grain: Precision = EXACT_ANSWERS

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
        # Each argument is rounded by the size of its largest term, and the sum by its own; both are random over units.
        terms = np.multiply.outer(radii, lengths) + np.abs(self.q)
        size = np.sqrt((terms**2).sum(axis=1)) + np.linalg.norm(self.g) * radii + abs(self.c)
        if not self.shape.sharp:
            size = size + np.abs(self.w).max(initial=0.0)
        return np.asarray(np.hypot(2 * self.grain.eps * size, self.grain.sd))

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
    # relu(c t) = c relu(t): a sharp unit has no width, and its row is given length one.
    w = np.sign(net.w) * np.linalg.norm(net.jumps, axis=1) if shape.sharp else net.w
    forward = net.turns > 0
    weights = w / shape.gain
    rows = net.jumps / w[:, None] * net.turns[:, None]
    offsets = net.q / w * net.turns + shape.corner
    # A unit seen from the other side: relu(t) = relu(-t) + t.
    # relu(t) = relu(-t) + t: a unit that is turned around leaves its jump in the linear term, its offset in the
    # constant.
    linear = net.g + net.jumps[~forward].sum(axis=0) - shape.slope * (weights[:, None] * rows).sum(axis=0)
    intercept = net.c + net.q[~forward].sum() - float(weights @ (shape.slope * offsets + shape.level))
    # A sum that keeps only half of its digits or less is what rounding leaves of terms that cancel.
    if np.linalg.norm(linear) < np.sqrt(net.grain.eps) * np.linalg.norm(net.jumps, axis=1).max(initial=0.0):
        linear = np.zeros_like(linear)
    model = SigmoidCombination(rows, weights, 1.0, offsets, float(intercept), shape.activation, linear)
    order = np.argsort(-np.abs(weights), kind="stable")
    plain = model.plain(float(np.sqrt(net.grain.eps)))
    return plain or model.canonical(), order
