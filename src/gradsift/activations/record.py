"""What an activation is: value, derivatives, both ends, odd form, and its twins in other libraries."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..arguments import Floats
from ..runtime import load_extra


class TorchTwin(NamedTuple):
    """f and f', elementwise on tensors, by the same formulas as in NumPy.

    `module` is torch's own module class for f, None where it has none.
    """

    value: Callable[[Any], Any]
    derivative: Callable[[Any], Any]
    module: Callable[[], Any] | None = None


class OnnxTwin(NamedTuple):
    """f as nodes of an ONNX graph.

    Attributes
    ----------
    nodes : callable
        ``nodes(helper, inside, outside)`` returns the nodes that compute the tensor named `outside` from the one named
        `inside`; `helper` is ``onnx.helper``.
    double : bool
        Whether onnxruntime has these operators in double precision; else the nodes see float32.
    """

    nodes: Callable[[Any, str, str], Sequence[Any]]
    double: bool = True


def onnx_operator(name: str, *, double: bool, **attributes: Any) -> OnnxTwin:
    """Return the twin that is a single operator."""
    return OnnxTwin(lambda helper, inside, outside: [helper.make_node(name, [inside], [outside], **attributes)], double)


Function = Callable[[Floats], Floats]

POINTS: Floats = np.linspace(0.0, 1.0, 23)[1:] ** 2 * 6.1  # where a record is compared with itself, and their negatives


class End(NamedTuple):
    """How f ends on one side: it approaches ``value + slope z``; a sigmoid has no slope there."""

    value: float
    slope: float = 0.0


class Odd(NamedTuple):
    """What a record may say about its odd form ``f(z) = center + gain g(stretch z)``; see :class:`OddForm`.

    `of` is the record of g, None if g is f itself.
    """

    flat: float
    usable: float
    of: Activation | None = None
    gain: float = 1.0
    stretch: float = 1.0


class OddForm(NamedTuple):
    """An odd function g with ``f(z) = center + gain g(stretch z)``; logistic is tanh with gain and stretch 1/2.

    Attributes
    ----------
    g : Activation
        With the limits -1 and +1 if it has plateaus.
    flat : float
        Beyond this argument g equals its limit in double precision; inf for algebraic tails.
    usable : float
        Up to this argument the inverse still has a few correct digits; inf for algebraic tails.
    """

    g: Activation
    center: float
    gain: float
    stretch: float
    flat: float
    usable: float


@dataclass(frozen=True)
class Activation:
    """One activation: everything the package knows about it.

    Attributes
    ----------
    name : str
    value, derivative, second_derivative : callables
        f, f' and f'', elementwise.
    left, right : End
        The ends at minus and plus infinity.
    tails : {"exponential", "gaussian", "algebraic", "exact"}
        How fast f approaches its ends; algebraic tails never reach a plateau in floating point, exact ones lie on the
        end from some argument on.
    inverse : callable, optional
        z with ``f(z) = v`` for v strictly between the limits; what saturates must have one.
    kinks : tuple of float
        Arguments at which f' jumps.
    odd : Odd, optional
        The odd form where it is not to be derived by :attr:`odd_form`.
    derivative_of_value : callable, optional
        ``(v, out=None)``, f' as a function of f, where that is cheaper; exact to rounding of the largest slope.
    single : callable, optional
        ``(z, out)``, f and f' of an array z in single precision, which overwrite z and out, where that is cheaper.
    torch : callable, optional
        From the module ``torch`` to a :class:`TorchTwin`.
    onnx : OnnxTwin, optional
    sklearn : str, optional
        What scikit-learn's networks call it.
    """

    name: str
    value: Function
    derivative: Function
    second_derivative: Function
    left: End
    right: End
    tails: str
    inverse: Function | None = None
    kinks: tuple[float, ...] = ()
    odd: Odd | None = None
    derivative_of_value: Callable[..., Floats] | None = None
    single: Callable[[Any, Any], None] | None = None
    torch: Callable[[Any], TorchTwin] | None = None
    onnx: OnnxTwin | None = None
    sklearn: str | None = None

    def __reduce__(self) -> tuple[Callable[[str], Activation], tuple[str]]:
        from .catalogue import ACTIVATIONS, get_activation

        leaky = self.name.startswith("leaky_relu(") and get_activation(self.name) is self
        if ACTIVATIONS.get(self.name) is not self and not leaky:
            raise pickle.PicklingError(
                f"The activation {self.name!r} is not registered, and functions cannot be pickled: call "
                "gradsift.activations.register with its record, here and where it is to be read."
            )
        return get_activation, (self.name,)  # by name: lambdas cannot be pickled

    @property
    def saturates(self) -> bool:
        """Whether f has a limit on either side."""
        return self.left.slope == 0.0 == self.right.slope

    @property
    def homogeneous(self) -> bool:
        """Whether ``f(s z) = s f(z)`` for s > 0: two rays from the origin, as ReLU."""
        rays = (self.value(POINTS) - self.right.slope * POINTS, self.value(-POINTS) + self.left.slope * POINTS)
        return self.tails == "exact" and bool(np.abs(rays).max() < 1e-14)

    @property
    def has_plateaus(self) -> bool:
        """Whether it is a sigmoid, odd about its centre, that reaches its limits in double precision."""
        return self.odd_form is not None and bool(np.isfinite(self.odd_form.flat))

    @property
    def is_smooth(self) -> bool:
        """Whether the slope has no kink at zero, as that of ELU has: any part of a unit then shows all of it."""
        h = 1e-3
        slopes = self.derivative(np.array([-h, 0.0, h]))
        return bool(abs(slopes[0] - 2 * slopes[1] + slopes[2]) < 0.05 * h)

    @property
    def low(self) -> float:
        """The limit at minus infinity."""
        return self.left.value if self.left.slope == 0.0 else float(np.copysign(np.inf, -self.left.slope))

    @property
    def high(self) -> float:
        """The limit at plus infinity."""
        return self.right.value if self.right.slope == 0.0 else float(np.copysign(np.inf, self.right.slope))

    @property
    def middle(self) -> float:
        """Halfway between the limits: f(0), about which f is odd if it has an odd form."""
        return 0.5 * (self.low + self.high)

    @cached_property
    def odd_form(self) -> OddForm | None:
        """f written with an odd g, as the record says or derived from f; None if f grows or is not odd.

        The rule: centre and gain are the middle and half the distance of the limits, stretch is one. Algebraic tails
        are never flat and always usable. Else g is flat from the argument on at which it rounds to one, and usable
        up to that at which 2e-12 of it are left, so that four digits of what is left survive rounding.
        """
        if not self.saturates or self.inverse is None:
            return None
        middle = self.middle
        if self.odd is not None:
            g = self if self.odd.of is None else self.odd.of
            return OddForm(g, middle, self.odd.gain, self.odd.stretch, self.odd.flat, self.odd.usable)
        # f is odd about its middle m exactly if f(z) + f(-z) = 2 m for all z.
        scale = 0.5 * (self.high - self.low)
        if np.abs(self.value(POINTS) + self.value(-POINTS) - 2 * middle).max() > 1e-12 * scale:
            return None
        g = self if (middle, scale) == (0.0, 1.0) else self._standardised(middle, scale)
        flat = usable = np.inf
        if self.tails != "algebraic":
            flat, usable = (_argument_of(g.value, level) for level in (1.0, 1.0 - 2e-12))
        return OddForm(g, middle, scale, 1.0, flat, usable)

    def invert(self, values: Floats) -> Floats:
        """Return z with ``f(z) = value``, elementwise."""
        if self.inverse is None:
            raise ValueError(f"The activation {self.name!r} has no inverse.")
        return np.asarray(self.inverse(values))

    def _standardised(self, center: float, gain: float) -> Activation:
        """Return (f - center) / gain, with the limits -1 and +1."""
        f = self
        return Activation(
            self.name,
            lambda z: (f.value(z) - center) / gain,
            lambda z: f.derivative(z) / gain,
            lambda z: f.second_derivative(z) / gain,
            End(-1.0),
            End(1.0),
            self.tails,
            lambda v: f.invert(center + gain * v),
        )

    def torch_twin(self) -> TorchTwin:
        """Return f and f' for tensors."""
        torch = load_extra("torch", "torch")
        if self.torch is None:
            raise ValueError(f"The activation {self.name!r} has no torch twin: give its record `torch` to use tensors.")
        return self.torch(torch)

    def onnx_twin(self) -> OnnxTwin:
        """Return f as nodes of an ONNX graph."""
        if self.onnx is None:
            raise ValueError(f"The activation {self.name!r} has no ONNX twin: give its record `onnx` to export it.")
        return self.onnx

    def smoothed_derivative(self, mean: Floats, std: Floats | float) -> Floats:
        """Return ``E f'(mean + std Z)`` for standard Gaussian Z, elementwise.

        Gauss-Legendre on panels that end where the argument is zero (there f' is steepest or, for softsign, has its
        kink) and where it is +-20: the nodes crowd at the ends, so steep slopes, for which Gauss-Hermite would need
        thousands of nodes, keep their accuracy. 256 evaluations of f' per element.
        """
        center, scale = (np.asarray(a, dtype=np.float64) for a in np.broadcast_arrays(mean, std))
        nodes, weights = _GAUSS_LEGENDRE
        safe = np.maximum(scale, 1e-300)
        # Panels in standard deviations: an argument `bend` lies at (bend - mean) / std.
        ends = [np.clip((bend - center) / safe, -_REACH, _REACH) for bend in (-np.inf, -20.0, 0.0, 20.0, np.inf)]
        total = np.zeros(center.shape)
        for low, high in pairwise(ends):
            half = 0.5 * (high - low)
            z = (0.5 * (high + low))[..., None] + half[..., None] * nodes
            inside = self.derivative(center[..., None] + scale[..., None] * z) * np.exp(-0.5 * z * z)
            total = total + half * (inside @ weights)
        return np.asarray(total / np.sqrt(2 * np.pi))


_REACH = 9.0  # Gaussian mass beyond nine standard deviations is 2e-19


_GAUSS_LEGENDRE = np.polynomial.legendre.leggauss(64)


def _argument_of(value: Function, level: float) -> float:
    """Return the smallest argument at which an increasing odd function reaches a level, by bisection; inf if none."""
    low, high = 0.0, 1.0
    while value(np.array([high]))[0] < level:
        low, high = high, 2 * high
        if high > 1e6:
            return np.inf
    # Sixty halvings leave an interval of rounding size.
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if value(np.array([middle]))[0] < level else (low, middle)
    return high
