"""A unit's part in the plane of the circle, and its offset: a few samples at other radii."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..arguments import Floats
from .arc_scan import Step
from .circle import CircleScan
from .ledger import EPS, Ledger
from .odd_form import Link, Net, ProjectedNet, projected_on
from .scan_settings import UNITS, negligible_at

_FRACTIONS = 2.0 ** np.arange(-6, 6)  # radii worth a sample, over the step's own; 1 says nothing new


@dataclass
class PlaneUnit:
    """One unit while its part in the plane is being settled.

    Attributes
    ----------
    step : Step
    wanted : float
        Radius at which it is to be probed: small, but all other units stand still there.
    ledger : Ledger
    fullness : float
        Expected length of the whole unit over that of its part in the plane.
    polar, arguments, errors, rows : lists
        Samples on its slope: (radius, angle), inverted link, standard size of the rounding, number in the ledger.
    solution : (3,) array
        Two plane coordinates of the unit, and its offset.
    base : (2,) array
        Radius and angle of the point of the hyperplane from which the unit is probed.
    misfit : float
        Largest residual of the samples over its standard size; inf until settled.
    spread : (3, n) array
        Changes of the solution with the samples, each by its standard size.
    """

    step: Step
    link: Link
    wanted: float
    ledger: Ledger
    fullness: float
    polar: list[tuple[float, float]] = field(default_factory=list)
    arguments: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    solution: Floats = field(default_factory=lambda: np.zeros(3))
    misfit: float = np.inf
    spread: Floats = field(default_factory=lambda: np.zeros((3, 0)))
    base: Floats = field(default_factory=lambda: np.zeros(2))
    ask_at: tuple[float, float] = (0.0, 0.0)
    settled: bool = False

    def add(self, radius: float, angle: float, argument: float, row: int) -> None:
        """Take a sample on the slope."""
        self.polar.append((radius, angle))
        self.arguments.append(argument)
        self.errors.append(self.rounding(radius, argument))
        self.rows.append(row)

    def rounding(self, radius: float, argument: float = 0.0) -> float:
        """Return the standard size of the rounding of a sample's argument this far from the origin."""
        slope = max(float(self.link.odd.derivative(np.array([argument]))[0]), 1e-300)
        # An answer's rounding over |u| g' is the argument's; inside the box the argument itself is rounded by its
        # terms.
        output = 24 * self.ledger.rounding(radius) / (abs(self.step.weight) * slope)
        # The whole unit rounds, not only its part in the plane, which is two of d coordinates.
        inner = 2 * self.step.steepness * self.fullness * radius + abs(argument) + 1.0
        return float(output + self.link.eps * inner)

    @property
    def plateaus_are_exact(self) -> bool:
        """Whether no known unit has spoilt the plateaus from which arguments are counted."""
        by_known = self.step.slack - float(self.ledger.tolerance(self.step.radius))
        return by_known < UNITS.spoilt * abs(self.step.weight)

    @property
    def probes_are_exact(self) -> bool:
        """Whether probes from the base say enough."""
        return self.rounding(float(self.base[0])) < UNITS.coarse * self.link.usable

    def solve(self) -> None:
        """Weighted least squares for the plane part and the offset."""
        radius, angle = np.array(self.polar).T
        design = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.ones(len(radius))], axis=1)
        weights = 1 / np.array(self.errors)
        scale = np.array([radius.max(), radius.max(), 1.0])
        # Solve min |W (D s - z)| for s = (a in the plane, b): rows of D are (x, y, 1), W is one over the errors of z,
        # and columns are scaled, since radii are large.
        system, right = design / scale * weights[:, None], np.array(self.arguments) * weights
        answer = np.linalg.lstsq(system, right, rcond=None)[0]
        self.solution, self.misfit = answer / scale, float(np.abs(system @ answer - right).max())
        # Column i of S = D^+ scaled is what s changes by if sample i changes by its standard error: cov(s) = S S'.
        self.spread = np.linalg.pinv(system) / scale[:, None]

    def argument_error(self, radius: float, angle: float) -> float:
        """Return the standard size of the rounding that is left in the argument at a point of the plane."""
        return float(np.linalg.norm(np.array([radius * np.cos(angle), radius * np.sin(angle), 1.0]) @ self.spread))

    def crossing(self, radius: float) -> float | None:
        """Return the angle near the step where the hyperplane meets the circle of this radius."""
        first, second, offset = self.solution
        rate = np.hypot(first, second)
        if abs(offset) >= 0.9 * rate * radius:
            return None
        # On the circle <a, x> + b = rate r cos(angle - angle of a) + b, which is zero at two angles; the step's is
        # nearer.
        turn = np.arccos(-offset / (rate * radius))
        both = np.arctan2(second, first) + np.array([-turn, turn])
        away = np.abs(np.angle(np.exp(1j * (both - self.step.center))))
        return float(both[np.argmin(away)])


class InPlane(NamedTuple):
    """Units that are settled, steps that are not one unit, and how many units are left to another plane."""

    units: list[PlaneUnit]
    impure: list[Step]
    n_left: int


def settle_in_plane(ledger: Ledger, scan: CircleScan, known: Net, others_to_come: bool = False) -> InPlane:
    """Find plane part and offset of every step; about one query each.

    Parameters
    ----------
    known : Net
        Units whose contribution was taken off the scanned values.
    others_to_come : bool
        Whether units that cannot be read finely here may be left to another plane.
    """
    projected = projected_on(scan.frame, known)
    crossings = _crossings(scan, known.link)
    units = [_start(ledger, crossings, number, step, projected) for number, step in enumerate(scan.steps)]
    # Among many units some stand alone only far out, where rounding is coarse; beside a linear term it is everywhere.
    many = known.k + len(units) >= UNITS.many and ledger.resolution <= EPS and ledger.linear is None
    vague = UNITS.vague * known.link.usable if many else np.inf
    for _ in range(UNITS.most_tries):
        active = [unit for unit in units if not unit.settled]
        if not active:
            break
        radii, angles = np.array([u.ask_at for u in active]).T
        asked = ledger.ask_rows(scan.frame.on_circle(radii, angles), "offset")
        answers = asked.answers - projected.predict(radii, angles)
        for unit, answer, row in zip(active, answers, asked.rows):
            _take(unit, float(answer), int(row), vague)
    good = [unit for unit in units if unit.settled and unit.misfit < UNITS.rounding]
    impure = [unit.step for unit in units if not (unit.settled and unit.misfit < UNITS.rounding)]
    fine = good
    if many and ledger.n_features > UNITS.worth_another:
        fine = [unit for unit in good if unit.plateaus_are_exact and (unit.probes_are_exact or not others_to_come)]
        _ask_where_alone(ledger, scan, projected, fine)
    n_left = len(good) - len(fine) if others_to_come else 0
    return InPlane(_distinct(fine, negligible_at(ledger.resolution).same), impure, n_left)


def _ask_where_alone(ledger: Ledger, scan: CircleScan, projected: ProjectedNet, units: list[PlaneUnit]) -> None:
    """Give units fewer than three of whose samples are precise and free of known units two more: in large joint fits,
    a unit's own rows must settle its part in the plane."""
    short, link = [], projected.known.link
    for unit in units if projected.known.k else []:
        alone = (np.abs(projected.arguments(*np.array(unit.polar).T)) > link.flat).all(axis=1)
        if (alone & (np.abs(unit.arguments) < 0.5 * link.usable)).sum() < 3:
            short.append(unit)
    for unit in short:
        radius, angle = (float(part) for part in unit.base)
        aside = 0.1 * link.usable / (unit.step.steepness * radius)
        further = unit.crossing(2 * radius)
        polar = np.array([(radius, angle + aside), (2 * radius, angle if further is None else further)])
        asked = ledger.ask_rows(scan.frame.on_circle(*polar.T), "offset")
        ratios = (asked.answers - projected.predict(*polar.T) - unit.step.level) / unit.step.weight
        for (r, at), argument, row in zip(polar, link.invert(ratios), asked.rows):
            if abs(argument) < link.usable:
                unit.add(float(r), float(at), float(argument), int(row))
        unit.solve()


def _distinct(units: list[PlaneUnit], same: float) -> list[PlaneUnit]:
    """Return the units without those seen twice: a hyperplane that is further out than usual can cross an arc again."""
    kept: list[int] = []
    # Units are equal up to sign: -a, -b with -u is the same unit of an odd g.
    form = np.array([np.append(unit.solution, unit.step.weight) for unit in units]).reshape(-1, 4)
    for number, mine in enumerate(form):
        theirs = form[kept]
        apart = np.minimum(np.abs(mine - theirs).max(axis=1), np.abs(mine + theirs).max(axis=1))
        if not (apart < same * np.abs(mine).max()).any():
            kept.append(number)
    return [units[number] for number in kept]


class _Crossings(NamedTuple):
    """Where hyperplanes cross a circle, (n,), and how steep their units are there, (n,): one for each step, then the
    arcs in which there is more than one."""

    centers: Floats
    steepness: Floats


def _crossings(scan: CircleScan, link: Link) -> _Crossings:
    half = 0.5 * np.diff(scan.unresolved, axis=1)[:, 0]
    return _Crossings(
        np.concatenate([[step.center for step in scan.steps], scan.unresolved.mean(axis=1)]),
        np.concatenate([[step.steepness for step in scan.steps], link.flat / np.maximum(half, 1e-12) / scan.radius]),
    )


def _start(ledger: Ledger, crossings: _Crossings, number: int, step: Step, projected: ProjectedNet) -> PlaneUnit:
    link, wanted = projected.known.link, _isolated_radius(crossings, number, step, projected)
    unit = PlaneUnit(step, link, wanted, ledger, np.sqrt(0.5 * ledger.n_features))
    for angle, argument, row in zip(step.angles, link.invert(step.ratios), step.rows):
        unit.add(step.radius, float(angle), float(argument), int(row))
    unit.ask_at = (unit.wanted, step.center)
    return unit


def _isolated_radius(crossings: _Crossings, number: int, step: Step, projected: ProjectedNet) -> float:
    """Return the smallest worthwhile radius at which every other unit is saturated beside this step."""
    link = projected.known.link
    # At radius r a unit's argument beside another crossing is steepness r |sin of the angle between them|.
    clearance = crossings.steepness * np.abs(np.sin(step.center - crossings.centers))
    clearance[number] = np.inf
    needed = 1.9 * link.flat / clearance.min()
    radii = _FRACTIONS[_FRACTIONS != 1] * step.radius
    known = projected.arguments(radii, np.full(len(radii), step.center))
    fits = (radii >= needed) & (np.abs(known) > 1.2 * link.flat).all(axis=1)
    return float(radii[np.argmax(fits)]) if fits.any() else 2 * step.radius


def _take(unit: PlaneUnit, answer: float, row: int, vague: float) -> None:
    """Use a sample at another radius, and decide where the next one goes.

    An argument at the base that is uncertain by more than `vague` is worth a query.
    """
    step, (radius, angle) = unit.step, unit.ask_at
    ratio = (answer - step.level) / step.weight
    argument = float(unit.link.invert(np.array([ratio]))[0])
    if abs(argument) > unit.link.usable:
        if abs(ratio) > 1 + 4 * unit.ledger.tolerance(radius) / abs(
            step.weight
        ):  # beyond the plateaus: another unit interferes
            unit.wanted = 2 * max(unit.wanted, step.radius)
            unit.ask_at = (unit.wanted, step.center)
        else:  # the offset is large: come closer to the step
            unit.ask_at = (step.radius - (step.radius - radius) / 8, step.center)
        return
    unit.add(radius, angle, argument, row)
    unit.solve()
    target, crossing = unit.wanted, unit.crossing(unit.wanted)
    while crossing is None and target < step.radius:
        target *= 2
        crossing = unit.crossing(target)
    if crossing is None or unit.misfit > UNITS.rounding:
        unit.settled, unit.misfit = True, np.inf
        return
    unit.base, unit.ask_at = np.array([target, crossing]), (target, crossing)
    # A sample close to the step says little about the offset: once it is roughly known, ask where it shows. And an
    # error of the argument at the base would go into every coordinate: ask there, if what is known from afar is vague.
    near = abs(step.radius - radius) >= 0.4 * abs(step.radius - target)
    unit.settled = near and unit.argument_error(target, crossing) <= max(vague, 2 * unit.rounding(target))
