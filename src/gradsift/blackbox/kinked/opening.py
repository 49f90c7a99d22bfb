"""From a black box of kinked units to its network: reach, path, cells, polish, certificate, retry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checking import Floats, as_generator, at_least
from ...checks import KINKED
from ...errors import NotIdentifiable
from ...model import SigmoidCombination
from ...oracle import Oracle
from ..asking import EPS, Ledger
from ..result import Identification, Progress
from .assemble import Found, assemble
from .cell_gradients import measure_gradients
from .cells import bases_of, crossings_of, stretches_of
from .kinks import Bend, NotThatShape
from .leg_fit import SettledLeg, settle_leg
from .legs import LegScan, PathFailed, ask_ends, scan_leg
from .near_origin import Polished, polish_near_origin
from .path import half_square
from .reach import LinearReach, find_reach
from .roomier import measure_again
from .shape import Shape, shape_of
from .signs import model_of
from .vouching import UnitBounds, bounds_of, certify_kinks, far_pair, foretold, near_points

__all__ = ["open_kinked"]

_SHARP, _SMOOTH = 1e3, 3e3  # radius of the path over the reach
_WIDTH = 40.0  # first guess of a width times the reach
_NEAR = 0.01  # how far beyond the opposite point the path ends, over its radius
_GROWTH = {True: 5.0, False: 10.0}  # of the radius, after a path that failed; sharp or not
_TOO_FAR, _NEARER = 3e8, 1 / 30
_MOST_PATHS = 5
_LOOSE = 2.5  # error of a base, in rounding errors, above which it is asked for
_SCATTER = 1.3  # rounding error of one answer over the scatter of a leg's answers


@dataclass(frozen=True)
class _Attempt:
    polished: Polished
    chi: float
    fresh: float
    n_fresh: int


def open_kinked(
    oracle: Oracle,
    activation: str,
    rng: Any = None,
    max_queries: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Identification:
    """Find all units of a sum of kinked units by asking for about as many values as it has unknowns.

    Parameters
    ----------
    oracle : Oracle
        With exact answers: rounded to double precision, no noise.
    activation : {"relu", "leaky_relu", "softplus", "silu", "gelu", "gelu_tanh", "elu", "mish"}
    rng : None, int or Generator
        Query i depends only on this and on the answers before it.
    max_queries : int, optional
    progress : callable, optional
        Called with a :class:`Progress` after each batch.

    Raises
    ------
    NotIdentifiable
        The function is no such sum, or its units cannot be told apart.
    BudgetSpent

    Notes
    -----
    About ``(k + 1) (d - 1) + 5.5 k + 25`` queries for k sharp units in dimension d, 2.3 k more for smooth ones;
    O(k^2 (k + d)) flops.
    """
    if max_queries is not None:
        at_least("max_queries", max_queries, 1)
    if oracle.n_features < 3:
        raise NotIdentifiable(f"Units with kinks are found in three dimensions and more, got {oracle.n_features}.")
    ledger = Ledger(oracle, max_queries, progress)
    return _Opening(ledger, shape_of(activation), as_generator(rng)).run()


class _Opening:
    """One identification while it runs."""

    def __init__(self, ledger: Ledger, shape: Shape, rng: np.random.Generator) -> None:
        self.ledger, self.shape, self.rng = ledger, shape, rng
        self.notes: list[str] = []

    def run(self) -> Identification:
        reach = find_reach(self.ledger, self.rng, both_ways=not self.shape.even)
        radius = (_SHARP if self.shape.sharp else _SMOOTH) * reach.radius
        last: _Attempt | None = None
        for number in range(_MOST_PATHS):
            try:
                last = self._along_a_path(radius, reach)
                if max(last.chi, last.fresh) < KINKED.residuals:
                    break
                self.notes.append(f"path {number + 1}: fresh points are missed by {last.fresh:.3g} times the rounding")
            except PathFailed as failure:
                self.notes.append(f"path {number + 1}: {failure}")
            growth = _GROWTH[self.shape.sharp] if radius < _TOO_FAR * reach.radius / 64 else _NEARER
            radius *= growth
        if last is None:
            raise NotIdentifiable(
                f"None of {_MOST_PATHS} paths separates into single {self.shape.name} units ({self.ledger.n_queries} "
                f"queries; {self.notes[-1]}): another activation, a deeper network, an output link that is not undone, "
                "or units in nearly parallel pairs."
            )
        return self._result(last, number + 1)

    def _along_a_path(self, radius: float, reach: LinearReach) -> _Attempt:
        """Find a network along one path and test it, near the origin again if only the polish is at fault."""
        ledger = self.ledger
        found = self._find(radius, reach)
        ledger.n_units = found.net.k
        polished = polish_near_origin(found, ledger, self.rng)
        fresh, near = self._fresh_near(polished)
        if not near < KINKED.residuals:
            polished = polish_near_origin(found, ledger, self.rng, polished)
            fresh, near = self._fresh_near(polished)
        far = far_pair(polished.found, self.rng)
        misses = max(near, foretold(polished, far, ledger.ask(far, "fresh")))
        return _Attempt(polished, foretold(polished, polished.X, polished.y), misses, fresh + len(far))

    def _fresh_near(self, polished: Polished) -> tuple[int, float]:
        """Return the number of fresh points near the origin, and the worst miss there."""
        points = near_points(polished.found, self.rng)
        return len(points), foretold(polished, points, self.ledger.ask(points, "fresh"))

    def _find(self, radius: float, reach: LinearReach) -> Found:
        ledger, shape = self.ledger, self.shape
        path = half_square(radius, _NEAR * radius, ledger.n_features, self.rng)
        ends = ask_ends(ledger, path)
        bend = Bend(shape, _WIDTH / reach.radius)
        try:
            scans = [scan_leg(ledger, leg, pieces, bend, ends.sigma) for leg, pieces in zip(path.legs, ends.pieces)]
        except NotThatShape:
            raise PathFailed("the first kinks have another shape") from None
        first, second = (self._settle(scan, ends.sigma) for scan in scans)
        if max(first.chi, second.chi) > KINKED.residuals:
            raise PathFailed("single kinks do not explain all answers on a leg")
        largest = max(float(np.abs(scan.values).max()) for scan in scans)
        sigma = max(EPS * largest, _SCATTER * float(np.hypot(first.scatter, second.scatter)) / np.sqrt(2))
        bases = bases_of((first, second), shape, sigma)
        crossings = crossings_of((first, second), shape, sigma)
        if not crossings:
            raise NotIdentifiable(
                f"No kink on a path of radius {radius:.2g} ({ledger.n_queries} queries): the function looks linear, so "
                "there is no unit to find."
            )
        gradients = measure_gradients(ledger, path, bases, crossings, shape, sigma)
        gradients = measure_again(ledger, path, gradients, crossings, shape, sigma)
        return assemble(path, bases, crossings, gradients, shape, sigma)

    def _settle(self, scan: LegScan, sigma: float) -> SettledLeg:
        """Fit all answers on a leg. A smooth kink leaves the lines beside it free to move together with its width:
        one more answer in the cell ties them."""
        leg = settle_leg(self.shape, scan, sigma)
        if self.shape.sharp:
            return leg
        middles = np.array([stretch.middle for stretch in stretches_of(leg, self.shape, sigma)])
        middles = middles[leg.at(self.shape, middles)[1] > _LOOSE]
        if not len(middles):
            return leg
        answers = self.ledger.ask(scan.leg.points(middles), "path")
        more = replace(
            scan, kinks=leg.kinks, times=np.append(scan.times, middles), values=np.append(scan.values, answers)
        )
        return settle_leg(self.shape, more, sigma)

    def _result(self, attempt: _Attempt, n_paths: int) -> Identification:
        bounds = bounds_of(attempt.polished)
        judgement = certify_kinks(attempt.polished, bounds, attempt.chi, attempt.fresh, attempt.n_fresh, self.ledger)
        model, order = model_of(attempt.polished.found.net)
        return Identification(
            model,
            judgement,
            self.ledger.n_queries,
            _standard_errors(attempt.polished, bounds, model, order),
            bounds.units[order],
            {
                "chi": max(attempt.chi, attempt.fresh),
                "attempts": n_paths,
                "notes": list(self.notes),
                "spent": dict(self.ledger.spent),
            },
        )


def _standard_errors(
    polished: Polished, bounds: UnitBounds, model: SigmoidCombination, order: NDArray[np.intp]
) -> dict[str, Floats]:
    """Return one standard error of each parameter of the public model; its units come in the given order."""
    net = polished.found.net
    one = replace(bounds, jumps=bounds.jumps / 6, weights=bounds.weights / 6)
    jumps, weights = one.jumps[order], one.weights[order]
    sizes = np.abs(model.weights)
    return {
        "units": jumps,
        "slopes": np.zeros(net.k) if net.shape.sharp else model.slopes * np.hypot(jumps, weights),
        "offsets": polished.errors[: net.k][order] / sizes,
        "weights": sizes * (jumps if net.shape.sharp else weights),
        "intercept": polished.errors[-1:],
        "linear": np.full(len(net.g), float(np.linalg.norm(polished.found.linear_errors)) / np.sqrt(len(net.g))),
    }
