"""What one path tells: its segments, the gradients of its cells, and the network that they make, with its errors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...tuned import SHARE
from ..ledger import Ledger
from ..precision import EXACT_ANSWERS, Precision
from .cell_gradients import CellGradients, measure_again, measure_gradients
from .cells import Cell, Crossing, bases_of, crossings_of, distinct_crossings, straight_parts
from .kink_network import KinkNet, Shape
from .kink_test import Bend
from .segments import Path, PathFailure, SegmentFit, SegmentScan, ask_ends, fit_segment, scan_segment
from .settings import PATH, SEGMENT


@dataclass(frozen=True)
class FittedPath:
    """Both segments of a path, each fitted to all answers on it.

    Attributes
    ----------
    sigma : float
        Rounding error of one answer at the ends.
    largest : float
        Largest absolute answer.
    """

    path: Path
    shape: Shape
    segments: tuple[SegmentFit, SegmentFit]
    sigma: float
    largest: float

    @property
    def chi(self) -> float:
        """Largest miss of an answer, in rounding errors."""
        return max(segment.chi for segment in self.segments)

    @property
    def scatter(self) -> float:
        """Root of the sum of both segments' mean squared misses."""
        first, second = self.segments
        return float(np.hypot(first.scatter, second.scatter))


def fit_path(
    ledger: Ledger, path: Path, bend: Bend, grain: Precision, limit: float, patience: tuple[int, int] = SEGMENT.patience
) -> FittedPath | PathFailure:
    """Find all kinks on a path, and fit both segments; a failure where an answer is missed by more than the limit.

    4 to 5 queries for each kink, and 9 for the ends.
    """
    ends = ask_ends(ledger, path, grain)
    if isinstance(ends, PathFailure):
        return ends
    scans, fits = [], []
    for segment, pieces in zip(path.segments, ends.pieces):
        scan = scan_segment(ledger, segment, pieces, bend, ends.sigma, ends.pair, patience)
        if isinstance(scan, PathFailure):
            return scan
        scans.append(scan)
    for scan in scans:
        fit = _settled(ledger, bend.shape, scan, ends.sigma)
        if isinstance(fit, PathFailure):
            return fit
        fits.append(fit)
    largest = max(float(np.abs(scan.values).max()) for scan in scans)
    fitted = FittedPath(path, bend.shape, (fits[0], fits[1]), ends.sigma, largest)
    return fitted if fitted.chi <= limit else PathFailure("single kinks do not explain all answers on a segment")


def _settled(ledger: Ledger, shape: Shape, scan: SegmentScan, sigma: float) -> SegmentFit | PathFailure:
    """Fit all answers on a segment. A smooth kink leaves the lines beside it free to move together with its width:
    one more answer in the cell ties them."""
    segment = fit_segment(shape, scan.outside(SHARE * shape.blur), sigma)
    if shape.sharp or isinstance(segment, PathFailure):
        return segment
    middles = np.array([part.mean for part in straight_parts(segment, shape, sigma)])
    middles = middles[segment.at(shape, middles)[1] > PATH.loose]
    if not len(middles):
        return segment
    answers = ledger.ask(scan.segment.points(middles), "path")
    times, values = np.append(scan.times, middles), np.append(scan.values, answers)
    return fit_segment(shape, replace(scan, kinks=segment.kinks, times=times, values=values), sigma)


def network_on_path(
    ledger: Ledger, fitted: FittedPath, sigma: float, grain: Precision, *, turns_back: bool = True
) -> Found | PathFailure:
    """Measure the gradients of all cells of a path, and return the network that they make.

    Parameters
    ----------
    sigma : float
        Error of an answer on the path.
    turns_back : bool
        The path ends opposite to its start: the function behind it is foretold, and narrow cells are measured again.
    """
    path, shape = fitted.path, fitted.shape
    bases, crossings = bases_of(fitted.segments, shape, sigma), crossings_of(fitted.segments, shape, sigma)
    gradients = measure_gradients(ledger, path, bases, crossings, shape, sigma, grain, behind=turns_back)
    if isinstance(gradients, PathFailure):
        return gradients
    if turns_back:
        gradients = measure_again(ledger, path, gradients, crossings, shape, sigma, grain)
    return _network(path, bases, crossings, gradients, shape, sigma, grain)


@dataclass(frozen=True)
class Found:
    """A network and what is known about its errors.

    Attributes
    ----------
    net : KinkNet
    jump_errors : (k, d) array
        Standard errors of the jumps, in the frame's coordinates; within the plane only along the segment, since
        :func:`through_far_points` settles the other direction.
    linear_errors : (d,) array
        Of the linear term.
    aside_errors : (k + 1,) array
        Of the linear term and the jumps in the plane across the segment, before they are pulled.
    weight_errors : (k,) array
        Of the weights, as the path tells them.
    far_points : (k, d) array
        Where the path crosses each unit's hyperplane.
    asides : (k, d) array
        Direction in the plane across the segment on which it is crossed.
    sigma : float
        Rounding error of an answer on the path.
    placed : (k,) array
        Errors of offsets that were told by answers across single hyperplanes; infinite for all others.
    """

    net: KinkNet
    path: Path
    jump_errors: Floats
    linear_errors: Floats
    aside_errors: Floats
    weight_errors: Floats
    far_points: Floats
    asides: Floats
    sigma: float
    placed: Floats

    @property
    def jump_sizes(self) -> Floats:
        """Error of each jump as a share of its length, (k,)."""
        return np.asarray(np.linalg.norm(self.jump_errors, axis=1) / np.linalg.norm(self.net.jumps, axis=1))

    def argument_errors(self, X: Floats) -> Floats:
        """Return the errors of ``<g, x>`` and of ``<jumps, x>`` at the rows of X, shape (n, k + 1)."""
        # Errors of the coordinates of a jump are independent, so that variances add with the squares of those of x.
        squares = self.path.frame.to_frame(X) ** 2
        variances = np.concatenate([self.linear_errors[None], self.jump_errors]) ** 2
        return np.asarray(np.sqrt(squares @ variances.T))


def _network(
    path: Path,
    bases: list[Cell],
    crossings: list[Crossing],
    gradients: CellGradients,
    shape: Shape,
    sigma: float,
    grain: Precision = EXACT_ANSWERS,
) -> Found:
    """Return the network with all units inactive in the first cell, so that its gradient is the linear term."""
    frame = path.frame
    jumps = np.diff(gradients.values, axis=0)
    along = np.repeat(gradients.along[:, None], 2, axis=1)
    cells = np.concatenate([along, gradients.across], axis=1)
    # Jumps are differences of neighbouring cells, so that variances add; all units start inactive, and the first cell's
    # gradient is the linear term.
    errors = np.hypot(cells[1:], cells[:-1])
    asides = np.concatenate([gradients.aside[:1], np.hypot(gradients.aside[1:], gradients.aside[:-1])])
    linear_errors = np.concatenate([np.repeat(np.hypot(cells[0, 0], asides[0]), 2), cells[0, 2:]])
    places = np.array([crossing.place for crossing in crossings]).reshape(-1, 2)
    # Hyperplanes pass through the crossings: <J_l, x_l> + q_l = 0.
    q = -(jumps[:, :2] * places).sum(axis=1)
    c = bases[0].value - float(gradients.values[0, :2] @ bases[0].place)
    net = KinkNet(
        shape,
        frame.from_frame(jumps),
        q,
        np.array([crossing.weight for crossing in crossings]),
        np.array([crossing.turn for crossing in crossings]),
        frame.from_frame(gradients.values[:1])[0],
        c,
        grain,
    )
    across = np.array([crossing.segment.aside for crossing in crossings]).reshape(-1, 2) @ frame.plane
    weight_errors = np.array([crossing.weight_error for crossing in crossings])
    found = Found(
        net, path, errors, linear_errors, asides, weight_errors, places @ frame.plane, across, sigma,
        np.full(len(q), np.inf),
    )  # fmt: skip
    lengths = np.linalg.norm(jumps, axis=1)
    return only(found, distinct_crossings(jumps, grain.few_digits * lengths + 10 * np.linalg.norm(errors, axis=1)))


def only(found: Found, keep: NDArray[np.bool_]) -> Found:
    """Return what was found about the units selected by a mask."""
    return replace(
        found, net=found.net.only(keep), jump_errors=found.jump_errors[keep],
        aside_errors=found.aside_errors[np.concatenate([[True], keep])], weight_errors=found.weight_errors[keep],
        far_points=found.far_points[keep], asides=found.asides[keep], placed=found.placed[keep],
    )  # fmt: skip


def through_far_points(found: Found, net: KinkNet) -> KinkNet:
    """Return the network with jumps that vanish where the path was crossed: a lever as long as the path is far out.

    The offsets are known from near the origin; only the direction across the segment is corrected.
    """
    # Move each jump along its badly known direction a so that <J, x> + q = 0 holds at the crossing x again:
    # J <- J - (<J, x> + q) / <a, x> a. With |x| large this gives J by the digits of q times the radius.
    misses = (net.jumps * found.far_points).sum(axis=1) + net.q
    levers = (found.asides * found.far_points).sum(axis=1)
    return replace(net, jumps=net.jumps - (misses / levers)[:, None] * found.asides)
