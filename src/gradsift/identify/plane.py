"""A unit's part in the plane of the circle, and its offset: a few samples at other radii."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..checking import Floats
from .frames import Frame
from .ledger import EPS, Ledger
from .net import Net
from .scan import Scan, Step

__all__ = ["PlaneUnit", "settle_in_plane"]

_INWARD = np.array([1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 2.0, 4.0])  # radii worth a sample, over the circle's
_MOST_TRIES = 8
_PURE = 20.0  # a sum of two units misses the line by far more than this many times the rounding


@dataclass
class PlaneUnit:
    """One unit while its part in the plane is being settled.

    Attributes
    ----------
    step : Step
    polar : list of (radius, angle)
        Samples on its slope.
    arguments : list of float
        Inverted link at these samples.
    errors : list of float
        Standard size of their rounding.
    rows : list of int
        Their numbers in the ledger.
    solution : (3,) array
        Two plane coordinates of the unit, and its offset.
    base : (2,) array
        Radius and angle of the point of the hyperplane from which the unit is probed.
    """

    step: Step
    wanted: float
    polar: list[tuple[float, float]] = field(default_factory=list)
    arguments: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    solution: Floats = field(default_factory=lambda: np.zeros(3))
    misfit: float = np.inf
    base: Floats = field(default_factory=lambda: np.zeros(2))
    next_radius: float = 0.0
    next_angle: float = 0.0
    settled: bool = False

    def add(self, radius: float, angle: float, argument: float, error: float, row: int) -> None:
        """Take a sample on the slope."""
        self.polar.append((radius, angle))
        self.arguments.append(argument)
        self.errors.append(error)
        self.rows.append(row)

    def solve(self) -> None:
        """Weighted least squares for the plane part and the offset."""
        radius, angle = np.array(self.polar).T
        design = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.ones(len(radius))], axis=1)
        weights = 1 / np.array(self.errors)
        scale = np.array([radius.max(), radius.max(), 1.0])
        system = design / scale * weights[:, None]
        answer = np.linalg.lstsq(system, np.array(self.arguments) * weights, rcond=None)[0]
        residual = system @ answer - np.array(self.arguments) * weights
        self.solution, self.misfit = answer / scale, float(np.abs(residual).max())

    def crossing(self, radius: float) -> float | None:
        """Return the angle near the step where the hyperplane meets the circle of this radius."""
        first, second, offset = self.solution
        rate = np.hypot(first, second)
        if abs(offset) >= 0.9 * rate * radius:
            return None
        turn = np.arccos(-offset / (rate * radius))
        middle = np.arctan2(second, first)
        both = np.array([middle - turn, middle + turn])
        away = np.abs(np.angle(np.exp(1j * (both - self.step.center))))
        return float(both[np.argmin(away)])


def settle_in_plane(
    ledger: Ledger, frame: Frame, radius: float, scan: Scan, rows: Floats, known: Net
) -> tuple[list[PlaneUnit], list[Step]]:
    """Find plane part and offset of every step; about one query each.

    Parameters
    ----------
    radius : float
        Of the scanned circle.
    rows : (n,) int array
        Ledger numbers of the scan's samples; -1 for samples that were not asked on the circle.
    known : Net
        Units whose contribution was taken off the scanned values.

    Returns
    -------
    settled : list of PlaneUnit
    impure : list of Step
        Steps that turned out not to be one unit.
    """
    units = [_start(ledger, frame, radius, scan, rows, step, known) for step in scan.steps]
    for _ in range(_MOST_TRIES):
        active = [unit for unit in units if not unit.settled]
        if not active:
            break
        points = np.concatenate([frame.on_circle(u.next_radius, np.array([u.next_angle])) for u in active])
        first = len(ledger.X)
        answers = ledger.ask(points, "offset") - known.predict(points)
        for number, (unit, answer) in enumerate(zip(active, answers)):
            _take(ledger, unit, radius, answer, first + number, known)
    good = [unit for unit in units if unit.settled and unit.misfit < _PURE]
    return good, [unit.step for unit in units if not (unit.settled and unit.misfit < _PURE)]


def _start(
    ledger: Ledger, frame: Frame, radius: float, scan: Scan, rows: Floats, step: Step, known: Net
) -> PlaneUnit:
    unit = PlaneUnit(step, _isolated_radius(frame, radius, scan, step, known))
    link = known.link
    for number in step.inner:
        if rows[number] < 0:
            continue
        ratio = (scan.values[number] - step.level) / step.weight
        argument = float(link.invert(np.array([ratio]))[0])
        unit.add(radius, float(scan.angles[number]), argument, _error(ledger, unit, radius, argument, radius, link), int(rows[number]))
    unit.next_radius, unit.next_angle = unit.wanted * radius, step.center
    return unit


def _error(ledger: Ledger, unit: PlaneUnit, at: float, argument: float, radius: float, link: object) -> float:
    """Standard size of the rounding in an inverted answer."""
    slope = max(float(link.odd.derivative(np.array([argument]))[0]), 1e-300)  # type: ignore[attr-defined]
    steepness = unit.step.rate / radius
    return EPS * (4 * ledger.largest / (abs(unit.step.weight) * slope) + 2 * steepness * at + abs(argument) + 1.0)


def _isolated_radius(frame: Frame, radius: float, scan: Scan, step: Step, known: Net) -> float:
    """Return the smallest radius (over the circle's) at which every other unit is saturated beside this one."""
    link = known.link
    centers = np.array([s.center for s in scan.steps if s is not step])
    rates = np.array([s.rate for s in scan.steps if s is not step])
    if len(scan.unresolved):
        half = 0.5 * np.diff(scan.unresolved, axis=1)[:, 0]
        centers = np.concatenate([centers, scan.unresolved.mean(axis=1)])
        rates = np.concatenate([rates, link.flat / np.maximum(half, 1e-12)])
    clearance = rates * np.abs(np.sin(step.center - centers))
    needed = (1.5 * link.flat + 0.4 * link.flat) / clearance.min() if len(clearance) else 0.0
    fits = _INWARD >= needed
    if known.k:
        points = frame.on_circle(radius * _INWARD, np.full(len(_INWARD), step.center))
        fits &= (np.abs(known.arguments(points)) > 1.2 * link.flat).all(axis=1)
    return float(_INWARD[np.argmax(fits)]) if fits.any() else 2.0


def _take(ledger: Ledger, unit: PlaneUnit, radius: float, answer: float, row: int, known: Net) -> None:
    """Use a sample at another radius, and decide where the next one goes."""
    link = known.link
    ratio = (answer - unit.step.level) / unit.step.weight
    argument = float(link.invert(np.array([ratio]))[0])
    fraction = unit.next_radius / radius
    if abs(argument) > link.usable:
        beyond = abs(ratio) > 1 + 4 * ledger.tolerance / abs(unit.step.weight)
        # Beyond the plateaus: another unit interferes, so go outwards. Else the offset is large: come closer.
        unit.wanted = max(unit.wanted, 2.0) * 2 if beyond else unit.wanted
        fraction = unit.wanted if beyond else 1 - (1 - fraction) / 8
        unit.next_radius, unit.next_angle = fraction * radius, unit.step.center
        return
    error = _error(ledger, unit, unit.next_radius, argument, radius, link)
    unit.add(unit.next_radius, unit.next_angle, argument, error, row)
    unit.solve()
    target = unit.wanted * radius
    angle = unit.crossing(target)
    while angle is None and target < radius:
        target *= 2
        angle = unit.crossing(target)
    if angle is None or unit.misfit > _PURE:
        unit.settled, unit.misfit = True, np.inf
        return
    unit.base = np.array([target, angle])
    reached = min(radius_ for radius_, _ in unit.polar) if target < radius else max(r for r, _ in unit.polar)
    unit.settled = reached <= 4 * target if target < radius else True
    unit.next_radius, unit.next_angle = target, angle
