"""The activations by name, and what a new one must keep to."""

from __future__ import annotations

import re

import numpy as np

from ..arguments import Floats
from .growing import GROWING, leaky_relu
from .record import POINTS, Activation
from .saturating import SIGMOIDS

ACTIVATIONS: dict[str, Activation] = {a.name: a for a in (*SIGMOIDS, *GROWING)}

_TAILS = ("exponential", "gaussian", "algebraic", "exact")
_STEP = float(np.cbrt(np.finfo(np.float64).eps))  # of differences: their bend and their rounding are then alike


def get_activation(name: str | Activation) -> Activation:
    """Look an activation up by name; ``leaky_relu(0.2)`` is leaky ReLU with that slope on the left."""
    if isinstance(name, Activation):
        return name
    if name not in ACTIVATIONS:
        slope = re.fullmatch(r"leaky_relu\((\d*\.?\d+(?:e-?\d+)?)\)", str(name))
        if slope and 0 < float(slope[1]) < 1:
            return leaky_relu(float(slope[1]))
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {name!r}.")
    return ACTIVATIONS[name]


def register(activation: Activation) -> Activation:
    """Make an activation known by its name everywhere: black boxes, tables, estimators, files, export.

    The record is compared with itself first: derivatives with differences, the inverse with the value, the ends with
    values far out. A name may be registered again for the same function (say, with a twin more), not for another one.
    A registered activation is pickled by its name, so that a process that reads it must have registered it, too.

    Returns
    -------
    Activation
        The record itself.

    Examples
    --------
    >>> import numpy as np
    >>> from gradsift.activations import ACTIVATIONS, Activation, End, register
    >>> gudermann = register(Activation(
    ...     "gudermann",
    ...     value=lambda z: 4 / np.pi * np.arctan(np.tanh(z / 2)),
    ...     derivative=lambda z: 2 / np.pi / np.cosh(np.clip(z, -700, 700)),
    ...     second_derivative=lambda z: -2 / np.pi * np.tanh(z) / np.cosh(np.clip(z, -700, 700)),
    ...     left=End(-1.0), right=End(1.0), tails="exponential",
    ...     inverse=lambda v: 2 * np.arctanh(np.tan(np.pi / 4 * v)),
    ... ))
    >>> round(gudermann.odd_form.flat), round(gudermann.odd_form.usable)
    (37, 27)
    >>> del ACTIVATIONS["gudermann"]
    """
    problem = _problem(activation)
    if problem:
        raise ValueError(f"The activation {activation.name!r} cannot be registered: {problem}.")
    known = ACTIVATIONS.get(activation.name)
    if known is not None and not _same_function(known, activation):
        raise ValueError(f"The activation {activation.name!r} is known already, as another function: use another name.")
    ACTIVATIONS[activation.name] = activation
    return activation


def _problem(f: Activation) -> str:
    """Say what is wrong with a record, empty if nothing is."""
    if not f.name or f.name == "auto":
        return "it needs a name of its own"
    if f.tails not in _TAILS:
        return f"tails must be one of {', '.join(_TAILS)}, got {f.tails!r}"
    z = _test_points(f)
    with np.errstate(all="ignore"):
        if not np.isfinite([f.value(z), f.derivative(z), f.second_derivative(z)]).all():
            return "f, f' and f'' must be finite"
        for inner, outer, names in (
            (f.value, f.derivative, ("derivative", "value")),
            (f.derivative, f.second_derivative, ("second_derivative", "derivative")),
        ):
            # Central differences with a step h are off by h^2 f''' / 6 + eps / h: below 1e-9 for h = 6e-6.
            off = np.abs(outer(z) - (inner(z + _STEP) - inner(z - _STEP)) / (2 * _STEP))
            if off.max() > 1e-6 * (1 + np.abs(outer(z)).max()):
                worst = int(np.argmax(off))
                return f"{names[0]} is off by {off[worst]:.2g} from differences of {names[1]} at {z[worst]:.3g}"
        return _end_error(f) or (_sigmoid_error(f, z) if f.saturates else "") or _odd_form_error(f, z)


def _test_points(f: Activation) -> Floats:
    z = np.concatenate([-POINTS[::-1], POINTS])
    return np.asarray(z[(np.abs(z[:, None] - np.array([0.0, *f.kinks])) > _STEP).all(axis=1)])


def _end_error(f: Activation) -> str:
    far, room = (1e8, 1e-6) if f.tails == "algebraic" else (1e4, 1e-12)
    for at, end, name in ((-far, f.left, "left"), (far, f.right, "right")):
        expected, got = end.value + end.slope * at, float(f.value(np.array([at]))[0])
        if not abs(got - expected) <= room * max(1.0, abs(expected)):
            return f"at {at:g} it is {got:.9g} where the {name} end and {f.tails} tails say {expected:.9g}"
    return ""


def _sigmoid_error(f: Activation, z: Floats) -> str:
    if f.inverse is None:
        return "what has limits on both sides needs its inverse"
    if not f.low < f.high or (f.derivative(z) <= 0).any():
        return "what has limits on both sides must increase"
    off = np.abs(f.value(np.asarray(f.inverse(f.value(z)))) - f.value(z))
    if not off.max() <= 1e-9 * (f.high - f.low):
        return f"inverse does not invert: it is off by {off.max():.2g} at {z[int(np.argmax(off))]:.3g}"
    return ""


def _odd_form_error(f: Activation, z: Floats) -> str:
    form = f.odd_form
    if form is None:
        return "" if f.odd is None else "it has an odd form, but grows"
    off = np.abs(f.value(z) - form.center - form.gain * form.g.value(form.stretch * z)).max()
    even = np.abs(form.g.value(z) + form.g.value(-z)).max()
    return f"its odd form is off by {max(off, even):.2g}" if max(off, even) > 1e-12 * (f.high - f.low) else ""


def _same_function(known: Activation, new: Activation) -> bool:
    z = np.concatenate([-POINTS, POINTS])
    same = all(
        np.allclose(old(z), now(z), rtol=1e-12, atol=1e-15)
        for old, now in ((known.value, new.value), (known.derivative, new.derivative))
    )
    return same and (known.left, known.right, known.tails) == (new.left, new.right, new.tails)
