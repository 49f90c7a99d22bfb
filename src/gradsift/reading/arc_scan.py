"""Where the units cross an arc: plateaus, the steps between them, and each step's centre and rate.

Every hyperplane crosses a half circle once. Between two plateaus with one unit in between, the link can be inverted,
so two samples on the slope give its line and a third one, at the predicted centre, checks it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..arguments import Floats
from .ledger import EPS
from .odd_form import Link
from .scan_settings import SCAN

# An angle is rounded by up to two units in the last place of pi: across less than this, a jump has no slope.
_FINEST_ANGLE = 128 * EPS


@dataclass(frozen=True)
class Samples:
    """Values at angles, in the order they were asked.

    Attributes
    ----------
    angles, values, tolerances : (n,) arrays
        Values differ for a reason if they differ by more than the tolerance.
    plateau : (n,) bool array
        Known to lie on a plateau, whether or not a neighbour shows it.
    ends : (n,) bool array
        Nothing is to be looked for between this angle and the next larger one.
    rows : (n,) int array
        Numbers in the ledger; -1 for values known without asking at this radius.
    """

    angles: Floats
    values: Floats
    tolerances: Floats
    plateau: NDArray[np.bool_]
    ends: NDArray[np.bool_]
    rows: NDArray[np.intp]

    def joined(self, other: Samples) -> Samples:
        """Return these samples and then the others."""
        names = self.__dataclass_fields__
        return Samples(*(np.concatenate([getattr(self, n), getattr(other, n)]) for n in names))


@dataclass(frozen=True)
class Step:
    """One unit seen on an arc: ``level + weight g(rate sin(angle - center))``, up to the bend of its offset.

    Attributes
    ----------
    radius : float
        Of the arc.
    center : float
        Angle of the hyperplane.
    rate : float
        Change of the argument per radian there; positive, the sign is in `weight`.
    weight, level : float
        Half the jump and the mean of the two plateaus.
    angles, ratios, rows : (n,) arrays
        Samples on the slope: where, value of g, number in the ledger.
    slack : float
        How much the plateaus may be off: by rounding, and where known units end near them.
    """

    radius: float
    center: float
    rate: float
    weight: float
    level: float
    angles: Floats
    ratios: Floats
    rows: NDArray[np.intp]
    slack: float

    @property
    def steepness(self) -> float:
        """Length of the unit's part in the plane."""
        return self.rate / self.radius


@dataclass(frozen=True)
class Jump:
    """Two answers that differ by `height` at inputs `width` apart, with no room for a slope between them."""

    height: float
    width: float


@dataclass(frozen=True)
class Scan:
    """What an arc showed.

    Attributes
    ----------
    samples : Samples
    steps : tuple of Step
        From small to large angle.
    unresolved : (m, 2) int array
        Numbers of the samples that bound an interval in which there is more than one unit, or none.
    jumps : tuple of Jump
        Those of these that have no slope, as far as both sides were asked.
    """

    radius: float
    samples: Samples
    steps: tuple[Step, ...]
    unresolved: NDArray[np.intp]
    jumps: tuple[Jump, ...]


@dataclass(frozen=True)
class _Line:
    """What the samples on a slope say: its line if they have one, and where to ask next."""

    center: float = np.nan
    rate: float = np.nan
    next_angle: float | None = None


@dataclass(frozen=True)
class _Verdict:
    """What to do with one interval between plateaus: ask at an angle, take it as a step, or give it up."""

    angle: float | None = None
    line: _Line | None = None
    sharp: bool = False


def scan_steps(ask: Callable[[Floats, int], Samples], samples: Samples, radius: float, link: Link) -> Scan:
    """Refine samples on an arc until each step is understood or given up.

    Parameters
    ----------
    ask : callable
        Angles and number of steps understood so far -> new samples; one call per round, for all intervals at once.
    samples : Samples
        The first ones, the ends of the arc among them.
    radius : float
    link : Link

    Notes
    -----
    About 6 to 9 samples per unit.
    """
    judged: dict[bytes, _Verdict] = {}  # most intervals are as they were the round before
    for _ in range(SCAN.most_units_apart):
        order = np.argsort(samples.angles, kind="stable")
        gaps = _between_plateaus(samples, order)
        judged = {
            key: judged.get(key) or _judge(samples, numbers, link)
            for key, numbers in ((numbers.tobytes(), numbers) for numbers in gaps)
        }
        verdicts = list(judged.values())
        wanted = [v.angle for v in verdicts if v.angle is not None]
        if not any(v.line for v in verdicts):
            given_up = sum(v.angle is None for v in verdicts)
            wanted = wanted[: SCAN.pilots] if given_up < SCAN.pilots and not any(v.sharp for v in verdicts) else []
        if not wanted:
            break
        samples = samples.joined(ask(np.array(wanted), sum(v.line is not None for v in verdicts)))
    steps = [_as_step(samples, numbers, v.line, radius, link) for numbers, v in zip(gaps, verdicts) if v.line]
    lost = [(numbers[0], numbers[-1]) for numbers, v in zip(gaps, verdicts) if v.line is None]
    asked = samples.rows >= 0  # beside a plateau that was only believed in there is no jump
    sharp = [numbers for numbers, v in zip(gaps, verdicts) if v.sharp and asked[numbers[[0, -1]]].all()]
    jumps = tuple(_jump(samples, numbers, radius) for numbers in sharp)
    return Scan(radius, samples, tuple(steps), np.array(lost, dtype=np.intp).reshape(-1, 2), jumps)


def _jump(samples: Samples, numbers: NDArray[np.intp], radius: float) -> Jump:
    angles, values = samples.angles[numbers], samples.values[numbers]
    return Jump(float(np.abs(values[-1] - values[0])), float(radius * (angles[-1] - angles[0])))


def _between_plateaus(samples: Samples, order: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the numbers of the samples from each plateau's last one to the next plateau's first one."""
    values, slack = samples.values[order], samples.tolerances[order]
    # Two neighbours that agree lie on one plateau: what rises from one plateau to the next is a run between marks.
    equal = np.abs(np.diff(values)) <= np.maximum(slack[1:], slack[:-1])
    flat = samples.plateau[order]
    flat[:-1] |= equal
    flat[1:] |= equal
    marks = np.flatnonzero(flat)
    return [order[i : j + 1] for i, j in pairwise(marks) if not samples.ends[order[i]] and (j > i + 1 or not equal[i])]


def _ratios(samples: Samples, numbers: NDArray[np.intp]) -> Floats:
    """Return g at the samples between two different plateaus if one unit lies in between."""
    first, last = samples.values[numbers[0]], samples.values[numbers[-1]]
    return np.asarray((samples.values[numbers[1:-1]] - 0.5 * (first + last)) / (0.5 * (last - first)))


def _as_step(samples: Samples, numbers: NDArray[np.intp], line: _Line, radius: float, link: Link) -> Step:
    first, last = samples.values[numbers[0]], samples.values[numbers[-1]]
    inner, ratios = numbers[1:-1], _ratios(samples, numbers)
    keep = (np.abs(link.invert(ratios)) < link.usable) & (samples.rows[inner] >= 0)
    inner, ratios = inner[keep], ratios[keep]
    slack = float(samples.tolerances[numbers[[0, -1]]].max())
    return Step(
        radius, line.center, line.rate, 0.5 * (last - first), 0.5 * (last + first),
        samples.angles[inner], ratios, samples.rows[inner], slack,
    )  # fmt: skip


def _judge(samples: Samples, numbers: NDArray[np.intp], link: Link) -> _Verdict:
    """Decide about the samples from one plateau (first) to the next (last)."""
    angles, values = samples.angles[numbers], samples.values[numbers]
    if angles[-1] - angles[0] < _FINEST_ANGLE:
        return _Verdict(sharp=True)
    if len(numbers) == 2:
        return _Verdict(angle=float(0.5 * (angles[0] + angles[1])))
    height = float(values[-1] - values[0])
    if not height:  # steps that cancel: there is no single unit between equal plateaus
        return _Verdict(angle=_between_units(angles, values))
    slack = samples.tolerances[numbers[1:-1]]
    if (np.diff(values) * np.sign(height) >= -2 * slack.max()).all():  # one unit rises from one plateau to the other
        arguments = np.clip(link.invert(_ratios(samples, numbers)), -link.flat, link.flat)
        line = _line(angles.tolist(), arguments.tolist(), (slack / (0.5 * abs(height))).tolist(), link)
        if line is not None:
            return _Verdict(angle=line.next_angle) if line.next_angle is not None else _Verdict(line=line)
    return _Verdict(angle=_between_units(angles, values))


def _between_units(angles: Floats, values: Floats) -> float | None:
    """Return where to ask in an interval with several units, or None if they seem to overlap.

    Halving the widest gap finds the plateaus between units; those already suspected are confirmed first.
    """
    jumps, gaps = np.abs(np.diff(values)), np.diff(angles)
    quiet = jumps < SCAN.little * jumps.max()
    # Among very many units apart, two samples agree by chance.
    overlapping = quiet[1:-1].sum() > SCAN.by_chance * len(quiet[1:-1]) or quiet[[0, -1]].all()
    if len(gaps) > (SCAN.most_inner if overlapping else SCAN.most_units_apart):
        return None
    loud = np.where(quiet, 0.0, gaps)
    hushed = np.where(quiet, gaps, 0.0)[1:-1]  # a quiet end is the tail of a slope beside its plateau
    at = int(np.argmax(hushed)) + 1 if hushed.max(initial=0.0) > 0.5 * loud.max() else int(np.argmax(loud))
    return float(0.5 * (angles[at] + angles[at + 1]))


def _line(angles: list[float], arguments: list[float], slack: list[float], link: Link) -> _Line | None:
    """Fit ``argument = rate sin(angle - center)`` to samples on one slope; None if they have no such line.

    The first and the last angle are those of the plateaus. Of so few samples, plain numbers are faster than arrays.
    """
    (left, *at, right), usable = angles, link.usable
    # Both ends are plateaus as far as the answers tell, which bounds the rate from below.
    edge = min(0.85 * link.flat, float(link.invert(np.array([1 - 0.03 * max(slack)]))[0]))
    if not (left < at[0] and at[-1] < right):  # a sample at the angle of an end
        return None
    # The argument is -edge or less on the left, edge or more on the right: each sample bounds the rate from below.
    least_rate = max(max((edge - z) / (right - x), (edge + z) / (x - left)) for x, z in zip(at, arguments))
    if not least_rate > 0:
        return None
    good = [i for i, z in enumerate(arguments) if abs(z) < usable]
    if len(good) <= 1:
        return _next_place(at, arguments, usable, least_rate, (left, right))
    at, arguments, slack = ([values[i] for i in good] for values in (at, arguments, slack))
    found = _through_two(at, arguments, usable)
    if found is None or not found.rate > 0.7 * least_rate or not left < found.center < right:
        return None
    center, rate = found.center, found.rate
    # With offset b the argument is rate sin(t) + b (1 - cos(t)), t the angle from the centre: the second term bends
    # the line a little. It is settled exactly once the offset is known; |b| up to 2 flat is allowed.
    bend = max(abs(x - center) for x in at) ** 2 * link.flat
    blur = 1e-7 + 4 * link.eps * rate
    slopes = link.odd.derivative(np.array(arguments)).tolist()
    # An answer off by e puts its argument off by e / g'; rounding of the angle puts it off by eps times the rate.
    allowed = [
        much / max(slope, 1e-300) + bend + 1e-6 * abs(z) + blur for much, slope, z in zip(slack, slopes, arguments)
    ]
    excess = max(abs(z - rate * math.sin(x - center)) - most for x, z, most in zip(at, arguments, allowed))
    if excess > 0.05:
        return None
    if excess > 0:
        bent = _bent_line(np.array(at), np.array(arguments), center, rate, np.array(allowed))
        return bent if bent is not None or len(at) > 3 else replace(found, next_angle=center - 0.2 * usable / rate)
    return _settled(found, arguments, usable)


def _next_place(
    at: list[float], arguments: list[float], usable: float, least_rate: float, ends: tuple[float, float]
) -> _Line | None:
    """Return only where to ask next: from the sample nearest the centre, across it at the least rate."""
    nearest = min(range(len(at)), key=lambda i: abs(arguments[i]))
    move = -arguments[nearest] - math.copysign(0.1 * usable, arguments[nearest])
    if not math.isfinite(move):  # nothing leads to the centre
        return None
    left, right = ends
    margin = 0.02 * (right - left)
    return _Line(next_angle=min(max(at[nearest] + move / (1.6 * least_rate), left + margin), right - margin))


def _settled(found: _Line, arguments: list[float], usable: float) -> _Line:
    """Return the line, and where to ask next unless three samples or more pin it on both sides of the centre."""
    precise = [z for z in arguments if abs(z) < 0.5 * usable]
    if len(arguments) > 2 and len(precise) > 1 and max(precise) - min(precise) > 0.05 * usable:
        return found
    # Ask at the centre, or beside it if there is a sample near the centre already.
    closest = min(arguments, key=abs)
    target = -math.copysign(0.1 * usable, closest) if abs(closest) < 0.2 * usable else 0.0
    return replace(found, next_angle=found.center + _angle_of(target / found.rate))


def _through_two(at: list[float], arguments: list[float], usable: float) -> _Line | None:
    """Return the line through the two samples nearest the centre, on different sides or far enough apart."""
    pivot = min(range(len(at)), key=lambda i: abs(arguments[i]))
    apart = [abs(z - arguments[pivot]) for z in arguments]
    far = [i for i, much in enumerate(apart) if much > 0.05 * usable] or [max(range(len(at)), key=apart.__getitem__)]
    other = min(far, key=lambda i: abs(arguments[i]))
    rise, run = arguments[other] - arguments[pivot], at[other] - at[pivot]
    center = at[pivot]
    # Solve rate (sin(x1 - c) - sin(x0 - c)) = z1 - z0 for the centre c and the rate, by iteration from the chord.
    for _ in range(5):  # the argument is a sine, not linear, in the angle
        rate = rise / run if run else 0.0
        if not rate:
            return None
        center = at[pivot] - _angle_of(arguments[pivot] / rate)
        run = math.sin(at[other] - center) - math.sin(at[pivot] - center)
    return _Line(center, rate)


def _angle_of(value: float) -> float:
    return math.asin(min(max(value, -1.0), 1.0))


def _bent_line(at: Floats, arguments: Floats, center: float, rate: float, allowed: Floats) -> _Line | None:
    """Fit a line with the bend of a large offset to at least four samples; None if they have none."""
    if len(at) < 4:
        return None
    turn = at - center
    # Solve min |(B p - z) / allowed|, B = [sin t, 1, 1 - cos t], with columns scaled to largest entry one: the bend's
    # column is smaller than the sine's by the turn itself, which is tiny far out.
    basis = np.stack([np.sin(turn), np.ones(len(at)), 1 - np.cos(turn)], axis=1)
    scale = np.abs(basis).max(axis=0)
    if not scale.all():  # no bend shows within turns that small
        return None
    answer = np.linalg.lstsq(basis / scale / allowed[:, None], arguments / allowed, rcond=None)[0] / scale
    if (np.abs(basis @ answer - arguments) > allowed).any() or not 0.5 * rate < answer[0] < 2 * rate:
        return None
    return _Line(center - answer[1] / answer[0], float(answer[0]))
