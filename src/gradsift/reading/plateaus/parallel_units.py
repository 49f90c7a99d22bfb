"""Two parallel or nearly parallel units that no radius separates: read together, by a local two-unit fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from ...activations import Activation
from ...arguments import Floats
from ...certificate import EXACT
from ...fit import Parameters, predict, value_jacobian
from ...tuned import TRIES
from ..arc_scan import Step
from ..circle import CircleScan, Slope
from ..ledger import Ledger
from ..odd_form import Link, Net
from ..plane_frame import PlaneFrame
from ..scan_settings import SCAN, UNITS
from .settings import PAIRS

_WANTED = 7 + EXACT.spare_answers  # samples on the slopes: seven numbers are fitted

levenberg_marquardt = partial(
    least_squares, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15
)  # fmt: skip


@dataclass(frozen=True)
class ArcSamples:
    """ArcSamples of an arc at several radii, without the other units.

    Attributes
    ----------
    along : (n,) array
        Distance from the arc's centre along the circle's tangent.
    grown : (n,) array
        Distance outwards over the circle's radius, less one.
    values : (n,) array
        Less the mean of the two plateaus.
    """

    along: Floats
    grown: Floats
    values: Floats


@dataclass(frozen=True)
class Arc:
    """A part of a circle between two plateaus.

    Attributes
    ----------
    frame : PlaneFrame
    radius : float
    low, high, center : float
        Angles of the plateaus, and one in between.
    level, half : float
        Mean and half the difference of the plateaus, without the known units.
    first_row : int
        Stored rows from this one on may lie on it.
    """

    frame: PlaneFrame
    radius: float
    low: float
    high: float
    center: float
    level: float
    half: float
    first_row: int

    def samples(self, ledger: Ledger, known: Net) -> ArcSamples:
        """Collect what was asked on the arc and beyond it; no queries."""
        rows, answers = ledger.X[self.first_row :], ledger.y[self.first_row :]
        flat = rows @ self.frame.plane.T
        radius, angle = np.hypot(*flat.T), np.arctan2(flat[:, 1], flat[:, 0])
        inside = np.abs(radius - np.linalg.norm(rows, axis=1)) < 1e-9 * radius
        inside &= (angle >= self.low) & (angle <= self.high) & (radius > 0.9 * self.radius)
        values = answers[inside] - known.predict(rows[inside]) - self.level
        turn = angle[inside] - self.center
        return ArcSamples(radius[inside] * np.sin(turn), radius[inside] * np.cos(turn) / self.radius - 1, values)

    def moved(self, along: float) -> Arc:
        """Return the same arc, measured from a centre that is `along` away from the present one."""
        return replace(self, center=self.center + float(np.arctan2(along, self.radius)))

    def ask(self, ledger: Ledger, along: Floats, grown: float) -> None:
        """Ask at places given as in :class:`ArcSamples`, as far as they lie on the arc."""
        outward = self.radius * (1 + grown)
        angles = self.center + np.arctan2(along, outward)
        on_arc = (angles > self.low) & (angles < self.high)
        ledger.ask(self.frame.on_circle(np.hypot(along, outward)[on_arc], angles[on_arc]), "pairs")


def pair_arcs(scan: CircleScan, impure: list[Step], known: Net, before: Net, first_row: int) -> list[Arc]:
    """Return the arcs of a scan that were not understood and, beside them, steps that turned out not to be one unit.

    Parameters
    ----------
    known, before : Net
        All other units, and those that were known when the scan began.
    first_row : int
        Number of rows stored then.
    """
    found = []
    for slope in scan.slopes:
        inside = (scan.unresolved[:, 0] <= slope.angles[-1]) & (scan.unresolved[:, 1] >= slope.angles[0])
        if inside.any():
            center = float(scan.unresolved[inside].mean())
            found.append(_between(scan.frame, scan.radius, slope, center, known, before, first_row))
    for step in impure:
        reach = 2 * known.link.flat / step.rate
        ends = np.array([step.center - reach, step.center + reach])
        slope = Slope(ends, step.level + step.weight * np.array([-1.0, 1.0]))
        found.append(_between(scan.frame, step.radius, slope, step.center, known, before, first_row))
    return found


def _between(
    frame: PlaneFrame, radius: float, slope: Slope, center: float, known: Net, before: Net, first_row: int
) -> Arc:
    """Return the arc between a slope's ends, whose values are without the units known before."""
    ends = frame.on_circle(radius, slope.angles[[0, -1]])
    bottom, top = slope.values[[0, -1]] + before.predict(ends) - known.predict(ends)
    low, high = slope.angles[[0, -1]]
    return Arc(
        frame, radius, float(low), float(high), center, 0.5 * float(bottom + top), 0.5 * float(top - bottom), first_row
    )


def read_pairs(ledger: Ledger, arcs: list[Arc], known: Net, rng: np.random.Generator) -> Net:
    """Return the pairs of units found on arcs that are not single units; about 2 d queries each, up to 100 more where
    the arc is not known well.

    Parameters
    ----------
    known : Net
        All other units.
    """
    found = known.only(np.zeros(known.k, dtype=bool))
    for arc in arcs:
        if _scale(arc.samples(ledger, known), arc) < SCAN.little * ledger.largest:
            continue
        pair = _settle(ledger, arc, known, rng)
        if pair is None or np.abs(pair.weights).min() < SCAN.little * np.abs(pair.weights).max():
            continue
        across = _read_across(ledger, arc.frame, known, pair)
        if across is None:
            continue
        local = np.concatenate([pair.first[:, :2], across], axis=1)  # (2, d)
        units = Net(known.link, arc.frame.from_frame(local), pair.first[:, 2], pair.weights, 0.0, (None, None))
        found = found.with_units(units)
    return found


@dataclass(frozen=True)
class _PlanePair:
    """Two units in the plane.

    Attributes
    ----------
    first : (2, 3) array
        Plane coordinates and offset of each.
    weights : (2,) array
    level : float
    radius, center : float
        Where on the circle they are.
    """

    link: Link
    first: Floats
    weights: Floats
    level: float
    radius: float
    center: float

    def arguments(self, points: Floats) -> Floats:
        """Return both arguments at plane points (n, 2), shape (n, 2)."""
        return np.asarray(points @ self.first[:, :2].T + self.first[:, 2])

    def bases(self) -> Floats:
        """Return two plane points at which the two units are active in different ways, shape (2, 2)."""
        slowest = float(np.linalg.norm(self.first[:, :2], axis=1).min())
        angles = self.center + np.linspace(-1, 1, 4001) * 4 * self.link.usable / (self.radius * slowest)
        points = self.radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        z = self.arguments(points)
        near = [int(np.argmin(np.abs(z[:, unit]))) for unit in (0, 1)]
        if np.abs(z[near[0]] - z[near[1]]).max() < 0.08 * self.link.usable:  # same place: take its two sides
            sides = np.array([-0.08, 0.08]) * self.link.usable
            near = [int(np.argmin(np.abs(z.mean(axis=1) - side))) for side in sides]
        return points[near]


def _settle(ledger: Ledger, arc: Arc, known: Net, rng: np.random.Generator) -> _PlanePair | None:
    """Fit two units to the samples of an arc; ask for 20 more, a few times, if those at hand do not do."""
    pair = _fit_in_plane(known.link, arc, arc.samples(ledger, known), rng)
    for _ in range(TRIES):
        if pair is not None:
            break
        samples = arc.samples(ledger, known)
        here = np.flatnonzero(np.abs(samples.grown) < PAIRS.on_circle)
        here = here[np.argsort(samples.along[here])]
        marks = np.flatnonzero(_on_slope(samples, arc, SCAN.fits)[here])
        if not len(marks):
            break
        middle = float(samples.along[here[marks]].mean())
        first, last = samples.along[here[[max(marks[0] - 1, 0), min(marks[-1] + 1, len(here) - 1)]]] - middle
        arc = arc.moved(middle)  # the circle bends: its centre must be on the slope
        places = np.linspace(float(first), float(last), _WANTED + 2)[1:-1]
        arc.ask(ledger, places, 0.0)
        for grown in PAIRS.further:
            arc.ask(ledger, places[::3], grown)
        pair = _fit_in_plane(known.link, arc, arc.samples(ledger, known), rng)
    return pair


def _on_slope(samples: ArcSamples, arc: Arc, share: float) -> NDArray[np.bool_]:
    """Say which samples are off the plateaus by more than a share of the arc's height."""
    return np.asarray(np.abs(np.abs(samples.values) - abs(arc.half)) > share * _scale(samples, arc))


def _scale(samples: ArcSamples, arc: Arc) -> float:
    return max(abs(arc.half), float(np.abs(samples.values).max(initial=0.0)))


def _fit_in_plane(link: Link, arc: Arc, samples: ArcSamples, rng: np.random.Generator) -> _PlanePair | None:
    """Fit two units to the samples at all radii, beginning with the circle and adding one radius after the other."""
    radii = np.unique(np.round(samples.grown[samples.grown > PAIRS.on_circle], 2))
    scale = _scale(samples, arc)
    if not len(radii) or _on_slope(samples, arc, PAIRS.settled).sum() < _WANTED:
        return None
    for profile in _fits_on_circle(link, arc, samples, rng):
        # The arguments are rate * along + radial * grown + constant.
        parameters = np.concatenate([profile, [0.0, 0.0]])
        miss = np.inf
        for furthest in radii:
            use = samples.grown < furthest + 0.01
            there = _ArcProfile(link.odd, samples.along[use], samples.values[use] / scale, samples.grown[use])
            parameters, miss = there.fitted(parameters, arc.half, scale)
            if not miss <= SCAN.fits:  # not a number where the fit ran off
                break
        if miss < PAIRS.settled:
            return _in_plane(link, parameters, arc)
    return None


@dataclass(frozen=True)
class _ArcProfile:
    """Samples of an arc, as two units explain them.

    Attributes
    ----------
    odd : Activation
    along, grown : (n,) array
        Places on the circle and beyond it; a unit's argument is rate * along + radial * grown + constant.
    values : (n,) array
        Over the arc's scale.
    """

    odd: Activation
    along: Floats
    values: Floats
    grown: Floats

    def fitted(self, p: Floats, half: float, scale: float) -> tuple[Floats, float]:
        """Return the fit from a start (two log rates, two constants, weight of the first, two radials), and its miss.

        The weights of both sum to `half`; this and the first weight are in the units of the box, `scale` of which
        is one of the values.
        """
        places = np.column_stack([self.along, self.grown])

        def units(p: Floats) -> Parameters:
            rates = _slopes(p)
            radials = p[5:] if len(p) > 5 else np.zeros(2)
            return Parameters(np.column_stack([rates, radials]), np.array([p[4], half - p[4]]) / scale, p[2:4], 0.0)

        def residuals(p: Floats) -> Floats:
            return predict(units(p), places, self.odd) - self.values

        def jacobian(p: Floats) -> Floats:
            theta = units(p)
            # Chain rule from (log rate, constant, first weight, radial) to the network: d rate = rate d log rate, and
            # the weights have a fixed sum, so that one rises as the other falls.
            layout, J = theta.layout, value_jacobian(theta, places, self.odd)
            first = [layout.a(unit).start for unit in (0, 1)]
            weights = J[:, layout.weights]
            columns = [
                J[:, first] * theta.A[:, 0], J[:, layout.b], (weights[:, :1] - weights[:, 1:]) / scale,
                J[:, [at + 1 for at in first]],
            ]  # fmt: skip
            return np.concatenate(columns, axis=1)[:, : len(p)]

        with np.errstate(over="ignore", invalid="ignore"):  # on what is no pair the fit may run off
            fit = levenberg_marquardt(residuals, p, jacobian)
        return fit.x, float(np.abs(fit.fun).max()) if np.isfinite(fit.x).all() else np.inf


def _slopes(p: Floats) -> Floats:
    """Return the rates of both units from a profile, which holds their logarithms, (2,)."""
    return np.exp(np.clip(p[:2], -60, 60))


def _fits_on_circle(link: Link, arc: Arc, samples: ArcSamples, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield fits of two units to the samples on the circle itself, from random starts; few samples allow several."""
    here = np.abs(samples.grown) < PAIRS.on_circle
    along, values, scale = samples.along[here], samples.values[here], _scale(samples, arc)
    active = _on_slope(samples, arc, PAIRS.settled)[here]
    if active.sum() < 6 or np.ptp(along[active]) == 0:  # a box that changed has many answers at one place
        return
    middle, width = along[active].mean(), np.ptp(along[active])
    there = _ArcProfile(link.odd, (along - middle) / width, values / scale, np.zeros(len(along)))
    tried: list[Floats] = []
    for _ in range(PAIRS.starts):
        # With width one on the slope, a unit that spans it has a rate of about the usable range; the pair may be
        # steeper.
        rates = link.usable * np.exp(rng.uniform(-0.7, 2.0, 2))
        weight = 0.5 * arc.half + scale * rng.standard_normal()
        places = rng.uniform(-0.4, 0.4, 2)
        p, miss = there.fitted(np.concatenate([np.log(rates), -rates * places, [weight]]), arc.half, scale)
        rates = _slopes(p) / width
        if not miss <= SCAN.fits or any(np.allclose(np.sort(rates), old, rtol=1e-3) for old in tried):
            continue
        tried.append(np.sort(rates))
        yield np.concatenate([np.log(rates), p[2:4] - rates * middle, p[4:]])


def _in_plane(link: Link, p: Floats, arc: Arc) -> _PlanePair:
    """Turn the fitted profile into plane coordinates and offsets."""
    tangent = np.array([-np.sin(arc.center), np.cos(arc.center)])
    outward = np.array([np.cos(arc.center), np.sin(arc.center)])
    rates, constants, radial = _slopes(p), p[2:4], p[5:]
    # z = rate <t, x> + radial (<o, x> / R - 1) + constant, with the tangent t and the outward normal o at the centre.
    first = np.outer(rates, tangent) + np.outer(radial / arc.radius, outward)  # (2, 2)
    solution = np.concatenate([first, (constants - radial)[:, None]], axis=1)
    return _PlanePair(link, solution, np.array([p[4], arc.half - p[4]]), arc.level, arc.radius, arc.center)


def _read_across(ledger: Ledger, frame: PlaneFrame, known: Net, pair: _PlanePair) -> Floats | None:
    """Return the coordinates of both units across the plane, shape (2, d - 2); None if they cannot be read."""
    n_across = ledger.n_features - 2
    flat = pair.bases()
    bases, at_base = flat @ frame.plane, pair.arguments(flat)  # (2, d), (2 points, 2 units)
    found = np.zeros((2, n_across))
    steepness = np.linalg.norm(pair.first[:, :2], axis=1)
    # Two answers per direction, at bases where the units are active in different ways: two equations for two
    # coordinates. Steps in later directions follow the size of the coordinates read in earlier ones.
    for start in range(0, n_across, 8):
        todo = np.arange(start, min(start + 8, n_across))
        seen = np.concatenate([pair.first[:, :2], found[:, :start]], axis=1)
        length = 0.06 * pair.link.usable / float(np.sqrt((seen**2).mean(axis=1)).max())
        for _ in range(UNITS.most_tries):
            across = frame.across(todo)
            points = (bases[:, None] + length * across[None]).reshape(-1, ledger.n_features)
            values = (ledger.ask(points, "pairs") - known.predict(points)).reshape(2, -1) - pair.level
            failed = []
            for column, number in enumerate(todo):
                answer = _solve_two(pair, at_base, values[:, column], length, steepness)
                if answer is None:
                    failed.append(number)
                else:
                    found[:, number] = answer
            todo, length = np.array(failed, dtype=np.intp), length / 4
            if not len(todo):
                break
        else:
            return None
    return found


def _solve_two(pair: _PlanePair, at_base: Floats, values: Floats, length: float, steepness: Floats) -> Floats | None:
    """Solve for two coordinates from the values at the two bases; begin as if the units were parallel."""
    scale = float(np.abs(pair.weights).max())

    def residuals(moves: Floats) -> Floats:
        return np.asarray((pair.link.odd.value(at_base + moves) @ pair.weights - values) / scale)

    # Parallel units would move in proportion to their steepness: one number, found on a grid, begins the search for
    # two.
    ratio = steepness / steepness.max()
    grid = np.linspace(-0.6, 0.6, 241) * pair.link.usable
    misses = [np.abs(residuals(turn * ratio)).max() for turn in grid]
    start = grid[int(np.argmin(misses))] * ratio
    fit = least_squares(residuals, start, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15)
    if np.abs(fit.fun).max() > 1e-9 or np.abs(fit.x).max() > 0.6 * pair.link.usable:
        return None
    return np.asarray(fit.x / length)
