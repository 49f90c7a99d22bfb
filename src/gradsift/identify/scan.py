"""Where the units cross a half circle: plateaus, the steps between them, and each step's centre and rate.

Every hyperplane crosses a half circle once. Between two plateaus with one unit in between, the link can be inverted,
so two samples on the slope give its line and a third one, at the predicted centre, checks it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..checking import Floats
from .links import Link

__all__ = ["Scan", "Step", "scan_steps"]

_MOST_INNER = 11  # samples on one slope before it is called unresolved
_MOST_ROUNDS = 120
_FINEST = 3e-14  # radians: a jump across less than this is a discontinuity


@dataclass(frozen=True)
class Step:
    """One unit seen on the half circle: ``level + weight g(rate sin(angle - center) + ...)``.

    Attributes
    ----------
    center : float
        Angle of the hyperplane.
    rate : float
        Change of the argument per radian there; positive, the sign is in `weight`.
    weight, level : float
        Half the jump and the mean of the two plateaus.
    inner : (n,) int array
        Numbers of the samples on the slope, in the order they were asked.
    """

    center: float
    rate: float
    weight: float
    level: float
    inner: Floats


@dataclass(frozen=True)
class Scan:
    """What a half circle showed.

    Attributes
    ----------
    angles, values : (n,) arrays
        Samples in the order they were asked.
    steps : tuple of Step
        From small to large angle.
    unresolved : (m, 2) array
        Intervals between plateaus that did not look like one unit.
    sharp : int
        How many of these are jumps without any slope.
    """

    angles: Floats
    values: Floats
    steps: tuple[Step, ...]
    unresolved: Floats
    sharp: int


@dataclass(frozen=True)
class _Verdict:
    """What to do with one interval between plateaus: ask at `angle`, or it is a `step`, or it is given up."""

    angle: float | None = None
    step: Step | None = None
    sharp: bool = False


def scan_steps(
    ask: Callable[[Floats], tuple[Floats, Floats]],
    angles: Floats,
    values: Floats,
    tolerances: Floats,
    plateau: Floats,
    link: Link,
) -> Scan:
    """Refine samples on a half circle until each step is understood or given up.

    Parameters
    ----------
    ask : callable
        Angles -> (values, tolerances) of new samples; one call per round, for all intervals at once.
    angles, values, tolerances : (n,) arrays
        First samples; the smallest and largest angle must be among them.
    plateau : (n,) bool array
        Samples known to lie on a plateau although no neighbour may show it.
    link : Link

    Notes
    -----
    About 6 to 10 samples per unit; an interval is given up after 11 samples on its slope.
    """
    for _ in range(_MOST_ROUNDS):
        order = np.argsort(angles, kind="stable")
        gaps = _intervals(values[order], tolerances[order], plateau[order])
        verdicts = [
            _judge(angles[order[i : j + 1]], values[order[i : j + 1]], tolerances[order[i : j + 1]], order[i : j + 1], link)
            for i, j in gaps
        ]
        wanted = [v.angle for v in verdicts if v.angle is not None]
        if not wanted:
            break
        new = np.array(wanted)
        replies, slack = ask(new)
        angles, values, tolerances = (
            np.concatenate(pair) for pair in ((angles, new), (values, replies), (tolerances, slack))
        )
        plateau = np.concatenate([plateau, np.zeros(len(new), dtype=bool)])
    lost = [(i, j) for (i, j), v in zip(gaps, verdicts) if v.step is None]
    return Scan(
        angles,
        values,
        tuple(v.step for v in verdicts if v.step is not None),
        np.array([(angles[order[i]], angles[order[j]]) for i, j in lost]).reshape(-1, 2),
        sum(v.sharp for v in verdicts),
    )


def _intervals(values: Floats, tolerances: Floats, plateau: Floats) -> list[tuple[int, int]]:
    """Return the index pairs (last of one plateau, first of the next) of samples sorted by angle."""
    equal = np.abs(np.diff(values)) <= np.maximum(tolerances[1:], tolerances[:-1])
    flat = plateau.copy()
    flat[:-1] |= equal
    flat[1:] |= equal
    marks = np.flatnonzero(flat)
    return [(int(i), int(j)) for i, j in zip(marks[:-1], marks[1:]) if j > i + 1 or not equal[i]]


def _judge(angles: Floats, values: Floats, tolerances: Floats, numbers: Floats, link: Link) -> _Verdict:
    """Decide about the samples from one plateau (first) to the next (last)."""
    n_inner = len(angles) - 2
    if angles[-1] - angles[0] < _FINEST:
        return _Verdict(sharp=True)
    if n_inner == 0:
        return _Verdict(angle=0.5 * (angles[0] + angles[1]))
    weight, level = 0.5 * (values[-1] - values[0]), 0.5 * (values[-1] + values[0])
    inner, at = values[1:-1], angles[1:-1]
    arguments = link.invert((inner - level) / weight) if weight else np.full(n_inner, np.inf)
    good = np.abs(arguments) < link.usable
    if good.all():
        line = _line(at, arguments, angles[0], angles[-1], tolerances[1:-1] / abs(weight), link)
        if line.angle is not None:
            return line
        if line.step is not None:
            fitted = line.step
            inner_numbers = numbers[1:-1][np.argsort(numbers[1:-1])]
            return _Verdict(step=Step(fitted.center, fitted.rate, weight, level, inner_numbers))
    elif n_inner == 1 and np.isfinite(arguments[0]):  # in the far tail: the centre is on the steeper side
        return _Verdict(angle=0.5 * (at[0] + (angles[-1] if arguments[0] < 0 else angles[0])))
    if n_inner >= _MOST_INNER:
        return _Verdict()
    jumps = np.abs(np.diff(values))
    widest = int(np.argmax(jumps))
    return _Verdict(angle=0.5 * (angles[widest] + angles[widest + 1]))


def _line(at: Floats, arguments: Floats, left: float, right: float, slack: Floats, link: Link) -> _Verdict:
    """Fit ``argument = rate sin(angle - center)`` to samples on one slope; ask for the next sample, accept, or neither."""
    # Both ends are plateaus, which bounds the rate from below.
    edge = 0.85 * link.flat
    least_rate = max(
        float(np.max((edge - arguments) / (right - at))), float(np.max((edge + arguments) / (at - left)))
    )
    if len(at) == 1:
        z = float(arguments[0])
        move = -z - np.copysign(0.1 * link.usable, z)
        return _Verdict(angle=_inside(float(at[0]) + move / (1.6 * least_rate), left, right))
    i, j = int(np.argmin(arguments)), int(np.argmax(arguments))
    if at[j] <= at[i]:
        return _Verdict()
    pivot = int(np.argmin(np.abs(arguments)))
    other = j if abs(at[j] - at[pivot]) > abs(at[i] - at[pivot]) else i
    # Two samples fix the line; iterate because the argument is a sine, not linear, in the angle.
    rate = (arguments[other] - arguments[pivot]) / (at[other] - at[pivot])
    for _ in range(4):
        center = at[pivot] - np.arcsin(np.clip(arguments[pivot] / rate, -1, 1))
        rate = (arguments[other] - arguments[pivot]) / (np.sin(at[other] - center) - np.sin(at[pivot] - center))
    if not rate > 0.7 * least_rate or not left < center < right:
        return _Verdict()
    misfit = np.abs(arguments - rate * np.sin(at - center))
    spread = float(np.max(np.abs(at - center)))
    bend = 40.0 * spread**2 * link.flat  # offsets bend the line a little; settled exactly once the offset is known
    allowed = slack / np.maximum(link.odd.derivative(arguments), 1e-300) + bend + 1e-6 * np.abs(arguments) + 1e-7
    if (misfit > allowed).any():
        return _Verdict()
    if len(at) == 2 or np.min(np.abs(arguments)) > 0.2 * link.usable:
        return _Verdict(angle=float(center))
    return _Verdict(step=Step(float(center), float(rate), 0.0, 0.0, np.empty(0)))


def _inside(angle: float, left: float, right: float) -> float:
    """Keep a proposal away from the plateaus by a tenth of the interval."""
    margin = 0.02 * (right - left)
    return float(np.clip(angle, left + margin, right - margin))
