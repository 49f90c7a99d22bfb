"""The gradients of all cells along the path; narrow cells are measured again at their widest place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from ...arguments import Floats
from ...certificate import BOUND, COARSE_KINKS, KINKED_UNITS, ExactLimits
from ...tuned import FACTOR, SHARE, TRIES
from ..ledger import Ledger
from ..precision import EXACT_ANSWERS, Precision
from .cells import Cell, Crossing, distinct_crossings, flat_sizes, room_to_kinks
from .kink_network import Shape
from .segments import Path, PathFailure
from .settings import CELL, FAR_FIT

_TOO_CLOSE = "two kinks lie within each other's transition"


@dataclass(frozen=True)
class CellGradients:
    """Gradients in the coordinates of the path's frame.

    Attributes
    ----------
    values : (cells, d) array
    along, aside : (cells,) arrays
        Standard errors in the plane, along the segment and across it.
    across : (cells, d - 2) array
        Standard errors across the plane.
    """

    values: Floats
    along: Floats
    aside: Floats
    across: Floats

    @property
    def sizes(self) -> Floats:
        """Error of each gradient as a vector, the direction aside left out: far kinks settle it; (cells,)."""
        return np.asarray(np.hypot(self.along, np.linalg.norm(self.across, axis=1)))

    def with_cell(self, cell: int, values: Floats, errors: Floats) -> CellGradients:
        """Return the gradients with another one for a cell; values and errors are (d,)."""
        rows = np.arange(len(self.along)) == cell
        plane = float(np.linalg.norm(errors[:2]))
        return CellGradients(
            np.where(rows[:, None], values, self.values),
            np.where(rows, plane, self.along),
            np.where(rows, plane, self.aside),
            np.where(rows[:, None], errors[2:], self.across),
        )


def measure_gradients(
    ledger: Ledger,
    path: Path,
    bases: list[Cell],
    crossings: list[Crossing],
    shape: Shape,
    sigma: float,
    grain: Precision = EXACT_ANSWERS,
    *,
    behind: bool = True,
) -> CellGradients | PathFailure:
    """Measure the gradient of every cell; d - 1 queries each, one less in the corner's cell.

    A step that leaves its cell would read the neighbour's gradient. The jumps themselves tell: a step h along
    direction i changes the argument of unit l by ``jumps[l, i] h``, and a step that did cross reads a jump whose
    change is just the margin. Such steps are repeated, shorter.

    Parameters
    ----------
    behind : bool
        Foretell the function behind the path, too, which shows whether it crosses all units.
    """
    return _CellSteps(ledger, path, bases, crossings, shape, sigma).run(grain, behind)


class _CellSteps:
    def __init__(
        self, ledger: Ledger, path: Path, bases: list[Cell], crossings: list[Crossing], shape: Shape, sigma: float
    ) -> None:
        self.ledger, self.path, self.bases, self.crossings, self.sigma = ledger, path, bases, crossings, sigma
        n, d = len(bases), ledger.n_features
        self.flats = flat_sizes(crossings, shape, sigma)
        self.along = np.array([base.slope for base in bases])
        self.aside = np.zeros(n)
        self.across = np.zeros((n, d - 2))
        self.steps = np.full((n, d - 1), np.inf)  # aside first, then across
        self.values = np.array([base.value for base in bases])
        self.places = np.array([base.place for base in bases])

    def run(self, grain: Precision, behind: bool) -> CellGradients | PathFailure:
        rooms = np.array([base.room for base in self.bases])
        if (rooms <= 0).any():
            return PathFailure(_TOO_CLOSE)
        first = min(CELL.first_step[0], CELL.first_step[1] / max(1, len(self.crossings))) * rooms
        if not self._measure_aside(first):
            return PathFailure("no step across the path stays within its cell")
        if behind and not self._explained_behind(grain):
            return PathFailure("the function behind the path is not as foretold", behind=True)
        self._measure_first_again()
        d = self.across.shape[1]
        # A jump has d entries of about the size of its two in the plane: until some are measured, these tell how far
        # a step may go before it crosses a hyperplane.
        lengths = np.linalg.norm(self._normals(), axis=1) / np.sqrt(2)
        typical = np.maximum(lengths, np.median(lengths)) if len(lengths) else lengths
        order = np.arange(d)
        failure = self._measure_across(order[: CELL.first_batch], typical, CELL.shares[0])
        if failure is None and d > CELL.first_batch:
            jumps = np.diff(self.across[:, : CELL.first_batch], axis=0)
            seen = np.concatenate([jumps, self._normals()], axis=1)
            failure = self._measure_across(order[CELL.first_batch :], np.sqrt((seen**2).mean(axis=1)), CELL.shares[1])
        return self._gradients() if failure is None else failure

    def _normals(self) -> Floats:
        """Return the jumps within the plane, (k, 2), in its coordinates."""
        planar = self._in_plane()
        return np.asarray(np.diff(planar, axis=0))

    def _in_plane(self) -> Floats:
        ways = np.array([base.segment.way for base in self.bases])
        asides = np.array([base.segment.aside for base in self.bases])
        return np.asarray(self.along[:, None] * ways + self.aside[:, None] * asides)

    def _room(self) -> Floats:
        return room_to_kinks(self.places, self._normals(), self.crossings, self.flats)

    def _measure_aside(self, steps: Floats) -> bool:
        """Measure slopes across the segments from first steps, (cells,); False if no step stays in its cell."""
        todo = np.array([base.aside is None for base in self.bases])
        for number, base in enumerate(self.bases):
            if base.aside is not None:
                self.aside[number] = base.aside
        for _ in range(TRIES):
            cells = np.flatnonzero(todo)
            if len(cells):
                ways = np.array([self.bases[i].segment.aside for i in cells])
                points = (self.places[cells] + steps[cells, None] * ways) @ self.path.frame.plane
                answers = self.ledger.ask(points, "gradients")
                self.aside[cells] = (answers - self.values[cells]) / steps[cells]
                self.steps[cells, 0] = steps[cells]
            if not len(self.crossings):
                return True
            asides = np.array([base.segment.aside for base in self.bases])
            # A step h along e changes the argument of unit l by <jump_l, e> h; where that uses up a margin, it may
            # have crossed the hyperplane, and read the gradient of the neighbour in part.
            change = np.abs(asides @ self._normals().T) * np.where(np.isfinite(self.steps[:, :1]), steps[:, None], 0.0)
            todo = (change > SHARE * self._room()).any(axis=1) & np.isfinite(self.steps[:, 0])
            if not todo.any():
                return True
            steps = np.where(todo, steps / FACTOR, steps)
        return False

    def _explained_behind(self, grain: Precision) -> bool:
        """Foretell the function in the plane behind the path; with more layers it is another one."""
        places = -self.path.radius * np.array([CELL.behind])
        answers = self.ledger.ask(places @ self.path.frame.plane, "gradients")
        planar, normals = self._in_plane(), self._normals()
        met = np.array([crossing.place for crossing in self.crossings]).reshape(-1, 2)
        signs = np.sign([crossing.weight for crossing in self.crossings])
        # Beyond the path f(x) = f(x0) + <g, x - x0> + sum of the heights of those units that are active there.
        heights = places @ normals.T - (normals * met).sum(axis=1)  # (points, k)
        once = distinct_crossings(normals, grain.few_digits * np.linalg.norm(normals, axis=1))
        active = np.where((heights * signs > 0) & once, heights, 0.0).sum(axis=1)
        foretold = self.values[0] + (places - self.places[0]) @ planar[0] + active
        return bool(np.abs(answers - foretold).max() <= grain.few_digits * np.abs(self.values).max())

    def _measure_first_again(self) -> None:
        """Measure the first cell's slope aside with the longest step that its margins allow: it is the linear term."""
        if not len(self.crossings) or not np.isfinite(self.steps[0, 0]):
            return
        if self.sigma / self.steps[0, 0] < _precise(KINKED_UNITS) * np.median(np.linalg.norm(self._normals(), axis=1)):
            return
        way = self.bases[0].segment.aside
        with np.errstate(divide="ignore"):
            longest = (0.5 * self._room()[0] / np.abs(self._normals() @ way)).min(initial=self.path.radius)
        if longest < 4 * self.steps[0, 0]:
            return
        answer = self.ledger.ask(((self.places[0] + longest * way) @ self.path.frame.plane)[None], "gradients")
        self.aside[0], self.steps[0, 0] = (answer[0] - self.values[0]) / longest, longest

    def _measure_across(self, directions: NDArray[np.intp], typical: Floats, share: float) -> PathFailure | None:
        """Measure along some of the directions orthogonal to the plane."""
        if not len(directions):
            return None
        room = self._room()  # (cells, k)
        if len(self.crossings) and (room <= 0).any():
            return PathFailure(_TOO_CLOSE)
        with np.errstate(divide="ignore"):
            # Every unit allows a step h with share times its typical |jump_i| h within its margin; the tightest one
            # decides.
            longest = (room / (share * np.maximum(typical, 1e-300))).min(axis=1, initial=self.path.radius)
        steps = np.repeat(longest[:, None], len(directions), axis=1)  # (cells, n)
        todo = np.ones(steps.shape, dtype=np.bool_)
        for _ in range(TRIES):
            self._ask_across(directions, steps, todo)
            # Neighbouring cells differ by one jump, which tells afterwards whether a step was short enough.
            jumps = np.abs(np.diff(self.across[:, directions], axis=0))  # (k, n)
            todo = np.stack(
                [(jumps * h > SHARE * r[:, None]).any(axis=0) for h, r in zip(steps, room)]
            ) if len(jumps) else np.zeros_like(todo)  # fmt: skip
            if not todo.any():
                self.steps[:, 1 + directions] = steps
                return None
            steps = np.where(todo, steps / FACTOR, steps)
        return PathFailure("no step across the plane stays within its cell")

    def _ask_across(self, directions: NDArray[np.intp], steps: Floats, todo: NDArray[np.bool_]) -> None:
        cells, numbers = np.nonzero(todo)

        def rows_of(part: slice) -> Floats:
            stand = self.places[cells[part]] @ self.path.frame.plane
            return np.asarray(
                stand + steps[cells[part], numbers[part], None] * self.path.frame.across(directions[numbers[part]])
            )

        answers = self.ledger.ask_blocks(len(cells), rows_of, "gradients")
        self.across[cells, directions[numbers]] = (answers - self.values[cells]) / steps[cells, numbers]

    def _gradients(self) -> CellGradients:
        values = np.concatenate([self._in_plane(), self.across], axis=1)
        # A difference quotient errs by both of its answers over the step; along the segment the joint fit says how
        # much.
        along = self.sigma * np.array([base.slope_error for base in self.bases])
        one_step = self.sigma * np.hypot(1.0, [base.value_error for base in self.bases])
        measured = np.isfinite(self.steps[:, 0])
        aside = np.where(measured, one_step / self.steps[:, 0], 2 * along)
        return CellGradients(values, along, aside, one_step[:, None] / self.steps[:, 1:])


@dataclass(frozen=True)
class _Sides:
    """Every hyperplane as a constraint on a cell: ``signs * (<jumps, x> + q) >= flats`` where it is straight."""

    jumps: Floats
    q: Floats
    flats: Floats
    along: Floats  # +1 or -1: sign of the argument's growth along the path


def _precise(limits: ExactLimits) -> float:
    """Return the error of a gradient, over the jumps beside its cell, that is good enough for a certificate."""
    return (1 - SHARE) * limits.error_bound / BOUND


def measure_again(
    ledger: Ledger,
    path: Path,
    gradients: CellGradients,
    crossings: list[Crossing],
    shape: Shape,
    sigma: float,
    grain: Precision = EXACT_ANSWERS,
) -> CellGradients:
    """Return the gradients, those of narrow cells from the roomiest point of the cell; d + 1 queries for each.

    The point comes from a linear programme in d + 1 variables: the largest distance to all hyperplanes, in units of
    the step that crosses them. It must lie no further out than the path.
    """
    jumps = np.diff(gradients.values, axis=0)
    lengths = np.linalg.norm(jumps, axis=1)
    # Shortest of both jumps beside each cell: their errors are what an error of its gradient becomes.
    beside = np.minimum(np.append(lengths, np.inf), np.insert(lengths, 0, np.inf))
    errors = gradients.sizes
    precise = _precise(KINKED_UNITS if grain.is_exact else COARSE_KINKS)
    if grain.is_single and gradients.values.size + len(errors) <= FAR_FIT.most:
        precise = float(np.sqrt(grain.eps))  # half of the digits: the far fit gives the others back
    narrow = np.flatnonzero(errors > precise * beside)
    if grain.is_exact and len(narrow) > max(2, SHARE * len(errors)):  # another path has fewer
        return gradients
    places = np.array([crossing.place for crossing in crossings])
    weights = np.array([crossing.weight for crossing in crossings])
    q = -(jumps[:, :2] * places).sum(axis=1)
    sides = _Sides(jumps, q, flat_sizes(crossings, shape, sigma), np.sign(weights))
    for cell in narrow[np.argsort(-errors[narrow])]:
        gradients = _look_again(ledger, path, gradients, sides, int(cell), sigma)
    return gradients


def _look_again(
    ledger: Ledger, path: Path, gradients: CellGradients, sides: _Sides, cell: int, sigma: float
) -> CellGradients:
    d = ledger.n_features
    signs = np.where(np.arange(len(sides.q)) < cell, sides.along, -sides.along)
    stand = _inner_point(sides, signs, path.radius, d)
    if stand is None:
        return gradients
    margins = signs * (sides.jumps @ stand + sides.q) - sides.flats
    if (margins <= 0).any():
        return gradients
    with np.errstate(divide="ignore"):
        steps = np.minimum((SHARE * margins[:, None] / np.abs(sides.jumps)).min(axis=0), path.radius)  # (d,)
    # A difference of two answers errs by sqrt(2) sigma; a little more for the rounding of the step.
    errors = 1.5 * sigma / steps
    if np.linalg.norm(errors) > SHARE * gradients.sizes[cell]:
        return gradients
    rows = np.concatenate([stand[None], stand + np.diag(steps)])
    answers = ledger.ask_blocks(d + 1, lambda part: path.frame.from_frame(rows[part]), "roomier")
    return gradients.with_cell(cell, (answers[1:] - answers[0]) / steps, errors)


def _inner_point(sides: _Sides, signs: Floats, radius: float, d: int) -> Floats | None:
    """Return the point of a cell, in the frame's coordinates, that is furthest from all hyperplanes; (d,)."""
    typical = np.linalg.norm(sides.jumps, axis=1) / np.sqrt(d)
    # Unknowns: the point over the radius, and the distance.
    # Maximise r over (x, r) with s_l (<J_l, x> + q_l) - flat_l >= r |J_l| / sqrt(d) for all units l: the Chebyshev
    # centre of the cell. The point is scaled by the radius, and rows to size one, for the solver's tolerances.
    matrix = np.concatenate([-signs[:, None] * sides.jumps * radius, typical[:, None] * radius], axis=1)
    limits = signs * sides.q - sides.flats
    box = [(-1 / np.sqrt(d), 1 / np.sqrt(d))] * d
    scale = np.abs(matrix).max(axis=1)
    goal = np.append(np.zeros(d), -1.0)
    best = linprog(goal, matrix / scale[:, None], limits / scale, bounds=[*box, (0.0, None)], method="highs")
    return None if best.x is None else np.asarray(best.x[:d] * radius)
