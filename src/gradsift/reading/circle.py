"""One half circle from samples to steps, the sigmoid that a step shows, and why none of them may be a unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arguments import Floats
from ..certificate import n_of
from ..errors import NotIdentifiable
from ..tuned import FACTOR, TRIES
from .arc_scan import Jump, Samples, Scan, Step, scan_steps
from .ledger import EPS, Ledger
from .odd_form import Link, Net, ProjectedNet, projected_on, with_plateaus
from .plane_frame import PlaneFrame
from .question import Narrowing, all_but
from .result import Reading
from .scan_settings import SCAN, negligible_at


class Incomplete(NotIdentifiable):
    """Units were found, but they do not explain all answers; others may have cancelled wherever it was looked."""


@dataclass(frozen=True)
class Slope:
    """Samples from one plateau (first) to the next (last).

    Attributes
    ----------
    angles, values : (n,) arrays
        Sorted by angle.
    """

    angles: Floats
    values: Floats


def misfit_by_family(slope: Slope) -> dict[str, float]:
    """Return for each family how far one unit of it misses the samples, over the step's height; inf if it cannot."""
    half = 0.5 * (slope.values[-1] - slope.values[0])
    if half == 0:
        return {link.odd.name: np.inf for link in with_plateaus()}
    # Between plateaus at level - half and level + half, (value - level) / half is g of the argument.
    ratios = (slope.values[1:-1] - slope.values[0]) / half - 1
    return {link.odd.name: _misfit(link, slope.angles[1:-1], ratios) for link in with_plateaus()}


def _misfit(link: Link, angles: Floats, ratios: Floats) -> float:
    arguments = link.invert(ratios)
    good = np.abs(arguments) < link.usable
    if good.sum() < 4:
        return np.inf
    # An error e of a ratio is an error e / g' of its argument: fit the line to arguments weighted by g'.
    weights = link.odd.derivative(arguments[good])
    middle, width = angles[good].mean(), np.ptp(angles[good])
    rate, constant = np.polyfit((angles[good] - middle) / width, arguments[good], 1, w=weights)
    fitted = link.odd.value(rate * (angles - middle) / width + constant)
    return float(np.abs(fitted - ratios).max())


def likely_family(slopes: tuple[Slope, ...]) -> str | None:
    """Return the family that fits one of the slopes, if any does."""
    best, name = SCAN.fits, None
    for slope in slopes:
        for family, misfit in misfit_by_family(slope).items():
            if misfit < best:
                best, name = misfit, family
    return name


@dataclass(frozen=True)
class CircleScan:
    """All steps seen in a plane.

    Attributes
    ----------
    frame : PlaneFrame
    steps : tuple of Step
    unresolved : (m, 2) array
        Angles that bound what could not be understood.
    jumps : tuple of Jump
        What has no slope.
    slopes : tuple of Slope
        The samples of what could not be understood on the half circle itself.
    angles, values : (n,) arrays
        All samples of the half circle itself.
    """

    frame: PlaneFrame
    radius: float
    steps: tuple[Step, ...]
    unresolved: Floats
    jumps: tuple[Jump, ...]
    slopes: tuple[Slope, ...]
    angles: Floats
    values: Floats


def scan_circle(
    ledger: Ledger, frame: PlaneFrame, radius: float, known: Net, angles: Floats, answers: Floats, n_intervals: int
) -> CircleScan:
    """Find the steps of (oracle - known units) on a half circle.

    Parameters
    ----------
    angles, answers : (n,) arrays
        Angles at which the answer is known without asking because the ray is flat there; 0 and pi among them.
    n_intervals : int
        To begin with; steps that cancel within one are overlooked.
    """

    projected = projected_on(frame, known)

    def ask_at(arc_radius: float, new: Floats, n_steps: int) -> Samples:
        ledger.n_units = known.k + n_steps
        asked = ledger.ask_rows(frame.on_circle(arc_radius, new), "scan")
        values, slack = _unexplained(ledger, projected, arc_radius, new, asked.answers)
        none = np.zeros(len(new), dtype=bool)
        return Samples(new, values, slack, none, none, asked.rows)

    free = _free_samples(angles, *_unexplained(ledger, projected, radius, angles, answers))
    grid = np.arange(1, n_intervals) * np.pi / n_intervals
    grid = grid[np.abs(grid[:, None] - angles).min(axis=1) > 1e-9]

    def on_arc(arc_radius: float, n_before: int) -> Callable[[Floats, int], Samples]:
        return lambda new, n_steps: ask_at(arc_radius, new, n_before + n_steps)

    first = free.joined(ask_at(radius, grid, 0))
    scan = scan_steps(on_arc(radius, 0), first, radius, known.link)
    steps, jumps, level = list(scan.steps), scan.jumps, scan
    for zoom in range(TRIES):
        if not len(level.unresolved) or level.jumps or (zoom and not steps):
            break
        if not steps and likely_family(_slopes(scan)):  # single units, but of another family
            break
        # Far out, the angle between two crossings stays while each step gets narrower: units that overlap here part
        # there.
        further = FACTOR * level.radius
        first = _arcs(level).joined(ask_at(further, _likely_places(level), len(steps)))
        level = scan_steps(on_arc(further, len(steps)), first, further, known.link)
        steps, jumps = steps + list(level.steps), jumps + level.jumps
    lost = level.samples.angles[level.unresolved].reshape(-1, 2)
    steps.sort(key=lambda step: step.center)
    return CircleScan(frame, radius, tuple(steps), lost, jumps, _slopes(scan), scan.samples.angles, scan.samples.values)


def _unexplained(
    ledger: Ledger, projected: ProjectedNet, radius: float, angles: Floats, answers: Floats
) -> tuple[Floats, Floats]:
    """Return what known units leave of the answers on a circle, (n,), and how much of that says nothing, (n,)."""
    arguments = projected.arguments(radius, angles)
    slack = tolerances(ledger, projected.known, np.full(len(angles), radius), arguments, answers)
    return answers - projected.predict(radius, angles, arguments), slack


def tolerances(ledger: Ledger, known: Net, lengths: Floats, arguments: Floats, answers: Floats) -> Floats:
    """Return what known units and rounding may leave of the answers at points of these lengths, (n,), where known
    units have these arguments, (n, k).

    Known units are known to about nine digits, which shows where they are active; beside a linear term also
    elsewhere, by what rounding did to the furthest rows from which they were read.
    """
    size, share = lengths[:, None] * np.linalg.norm(known.a, axis=1), negligible_at(ledger.resolution).known
    if ledger.resolution > EPS:  # so few digits that a unit may be active where it is thought to be flat
        size = size * (1 + 2 * ledger.tolerance(0.0) / (share * np.abs(known.u)))
        arguments = np.maximum(np.abs(arguments) - share * size, 0.0)
    # A unit with a relative error `known` is off by u g'(z) |a| |x| times that.
    active = np.abs(known.u) * known.link.odd.derivative(arguments)
    reach = lengths
    if ledger.linear is not None and known.k:
        read_from = np.concatenate([probe.rows for probe in known.probes if probe is not None])
        reach = np.maximum(lengths, np.linalg.norm(ledger.X[read_from], axis=1).max(initial=0.0))
    return np.asarray(ledger.tolerance(reach) + 2 * ledger.own(answers) + share * (active * size).sum(axis=1))


def _free_samples(angles: Floats, values: Floats, slack: Floats) -> Samples:
    n = len(angles)
    return Samples(
        angles, values, slack, np.ones(n, dtype=bool), np.zeros(n, dtype=bool), np.full(n, -1, dtype=np.intp)
    )


def _arcs(scan: Scan) -> Samples:
    """Return the bounds of the unresolved arcs: plateaus there are plateaus further out."""
    bounds: NDArray[np.intp] = scan.unresolved.ravel()
    free = _free_samples(scan.samples.angles[bounds], scan.samples.values[bounds], scan.samples.tolerances[bounds])
    ends = np.arange(len(bounds)) % 2 == 1
    return Samples(free.angles, free.values, free.tolerances, free.plateau, ends, free.rows)


def _slopes(scan: Scan) -> tuple[Slope, ...]:
    """Return the samples of each unresolved arc."""
    order = np.argsort(scan.samples.angles, kind="stable")
    angles, values = scan.samples.angles[order], scan.samples.values[order]
    bounds = scan.samples.angles[scan.unresolved].reshape(-1, 2)
    inside = [(angles >= low) & (angles <= high) for low, high in bounds]
    return tuple(Slope(angles[mask], values[mask]) for mask in inside)


def _likely_places(scan: Scan) -> Floats:
    """Return the middle of the biggest jump of each unresolved arc."""
    found = []
    for slope in _slopes(scan):
        at = int(np.argmax(np.abs(np.diff(slope.values))))
        found.append(0.5 * (slope.angles[at] + slope.angles[at + 1]))
    return np.array(found)


def check_linear_term(ledger: Ledger, radius: float) -> None:
    """Raise if a linear term leaves too few digits of the sigmoids at the radius of the first circle."""
    if ledger.linear is None or ledger.tolerance(radius) < SCAN.fits * ledger.largest:
        return
    raise NotIdentifiable(
        f"The linear term is {np.linalg.norm(ledger.linear) * radius / ledger.largest:.2g} times as large as the rest "
        f"of the function at the radius {radius:.2g} at which units separate ({ledger.n_queries} queries): rounding "
        "leaves too few digits of them; subtract the linear term inside the oracle."
    )


def check_steps(scan: CircleScan, link: Link, n_queries: int) -> None:
    """Raise if a circle shows steps, but none of them a unit."""
    name = link.activation.name
    if scan.jumps:
        raise _refused_jump(f"The function {_jump_sentence(scan, n_queries)}.")
    family = likely_family(scan.slopes)
    if family is not None and family != link.odd.name:
        raise NotIdentifiable(
            f"The steps on a circle are not {name} but {family} units ({n_queries} queries): use "
            f"activation='{family}'.",
            rules_out=Narrowing(all_but(frozenset({family}))),
        )
    if len(scan.unresolved) < 2:  # one strange step may be two units that another circle separates
        return
    raise NotIdentifiable(
        f"None of {len(scan.unresolved)} steps on a circle is a single {name} unit or one of another family "
        f"({n_queries} queries). Possible causes: an output link that is not undone, a deeper network, inputs of very "
        "different size (give inputs=), answers that are rounded or noisy, or units in nearly parallel pairs."
    )


def search_refusal(
    net: Net, scans: Sequence[CircleScan], link: Link, n_queries: int, found: Reading | None, note: str = ""
) -> NotIdentifiable:
    """Return the refusal of a search that had found some units: what was seen, and what may have stopped it."""
    scan, units = scans[-1], n_of(net.k, "unit")
    note = f" Last {note}." if note else ""
    if scan.jumps:
        return _refused_jump(
            f"Beside {units} that were found the function {_jump_sentence(scan, n_queries)}.{note}", found
        )
    if not len(scan.unresolved):
        return Incomplete(
            f"{units} explain the steps on {len(scans)} circles but not all of {n_queries} answers. Possible causes: "
            f"the function is not a sum of sigmoids, or steps cancel.{note}",
            found,
        )
    family = likely_family(scan.slopes)
    mixed = (
        "" if family in (None, link.odd.name) else f"units of different sigmoids (some have the shape of {family}), "
    )
    furthest = scan.radius * FACTOR**TRIES
    return NotIdentifiable(
        f"{units} were found, but {n_of(len(scan.unresolved), 'step')} on a circle cannot be separated into single "
        f"units even at radius {furthest:.2g} ({n_queries} queries). {_uneven_columns(net)}Possible "
        f"causes: {mixed}parallel or nearly parallel units, inputs of very different size (give inputs=), or something "
        f"beside the units that is no sigmoid.{note}",
        found,
    )


def _refused_jump(message: str, found: Reading | None = None) -> NotIdentifiable:
    """Return the refusal of a function that jumps between inputs as near as rounding allows: no activation is left."""
    return NotIdentifiable(message, found, Narrowing(all_but(frozenset())))


def _jump_sentence(scan: CircleScan, n_queries: int) -> str:
    largest = max(scan.jumps, key=lambda jump: jump.height)
    return (
        f"jumps by {largest.height:.3g} within {largest.width:.1g} near a circle of radius {scan.radius:.3g} "
        f"({n_queries} queries): it is discontinuous, as a forest or a rule is, or a network that rounds its inputs or "
        "its units"
    )


def _uneven_columns(net: Net) -> str:
    """Say which inputs differ so much in size that circles are wrong for them; "" where none do."""
    if not net.k:
        return ""
    sizes = np.linalg.norm(net.a, axis=0)
    heard = np.flatnonzero(sizes > negligible_at(net.link.eps).known * sizes.max())
    most, least = heard[np.argmax(sizes[heard])], heard[np.argmin(sizes[heard])]
    if sizes[least] > SCAN.little * sizes[most]:
        return ""
    return (
        f"The units found turn {sizes[most] / sizes[least]:.1g} times as fast along input {most} as along input "
        f"{least}: give typical rows (inputs=), so that each input is measured by its own size. "
    )
