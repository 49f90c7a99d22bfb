"""The hyperplanes of the first layer: their directions, read far out where the other units stand still."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from ...arguments import Floats
from ...geometry import normalize_rows
from ...tuned import TRIES
from ..ledger import Ledger
from ..searches import Search
from .settings import ReadingPolicy

_ON_TANGENT = 11
_SAME_PLANE = 5e-3  # sine of the angle up to which two planes at the same place are one


@dataclass(frozen=True)
class Plane:
    """One hyperplane of the first layer.

    Attributes
    ----------
    normal : (d,) array
        Unit vector; its sign is arbitrary.
    point : (d,) array
        Where the function is steep across it.
    window, width : float
        Distance along the normal within which the answers were read, and jump over slope: for a single tanh unit, two
        over its slope.
    rows : (n,) int array
        Rows of the ledger on its slope.
    """

    normal: Floats
    point: Floats
    window: float
    width: float
    rows: NDArray[np.intp]

    @property
    def level(self) -> float:
        """<normal, x> at the steep point."""
        return float(self.normal @ self.point)


@dataclass(frozen=True)
class FirstLayer:
    """All hyperplanes found so far: normals (k, d), levels (k,), and the distance at which a unit stands still."""

    planes: tuple[Plane, ...]
    margin: float
    n_features: int

    @property
    def normals(self) -> Floats:
        return np.array([p.normal for p in self.planes]).reshape(-1, self.n_features)

    @property
    def offsets(self) -> Floats:
        return np.array([p.level for p in self.planes])

    def __len__(self) -> int:
        return len(self.planes)

    def distance(self, X: Floats) -> Floats:
        """Signed distances of the rows from the hyperplanes, shape (n, k)."""
        return np.asarray(X @ self.normals.T - self.offsets)

    def saturates(self, X: Floats) -> NDArray[np.bool_]:
        """Say at which rows all known units stand still."""
        return np.asarray((np.abs(self.distance(X)) > self.margin).all(axis=1))

    def has(self, plane: Plane) -> bool:
        """Say whether a plane is one of these, seen again."""
        if not self.planes:
            return False
        sines = np.sqrt(np.maximum(0.0, 1 - (self.normals @ plane.normal) ** 2))
        apart = np.abs(self.distance(plane.point[None])[0])
        return bool(((sines < _SAME_PLANE) & (apart < self.margin)).any())

    def wider(self) -> FirstLayer:
        """Return the first layer of units that stand still only at twice the distance; some planes become one."""
        return replace(self, planes=(), margin=2 * self.margin).joined(list(self.planes))

    def joined(self, planes: list[Plane]) -> FirstLayer:
        """Return these planes and the new ones among the others."""
        found = self
        for plane in planes:
            if not found.has(plane):
                found = replace(found, planes=(*found.planes, plane))
        return found


def no_planes(n_features: int, margin: float) -> FirstLayer:
    """Return a first layer without units."""
    return FirstLayer((), margin, n_features)


class _Tangent:
    """The answers along a short line as a monotone polynomial of the place."""

    def __init__(self, places: Floats, answers: Floats, window: float, smooth: float) -> None:
        self.window, self.smooth = window, smooth
        self.coefficients = chebyshev.chebfit(places / window, answers, len(places) - 1)
        self.grid = np.linspace(-1.0, 1.0, 201)
        self.on_grid = chebyshev.chebval(self.grid, self.coefficients)
        self.slope = chebyshev.chebder(self.coefficients)

    @property
    def is_smooth(self) -> bool:
        steps = np.diff(self.on_grid)
        size = np.abs(self.coefficients)
        return bool(((steps > 0).all() or (steps < 0).all()) and size[-2:].max() < self.smooth * size[1:].max())

    def places(self, answers: Floats) -> Floats:
        """Return where on the line these answers are given; NaN outside the window."""
        rising = self.on_grid[-1] > self.on_grid[0]
        grid, values = (self.grid, self.on_grid) if rising else (self.grid[::-1], self.on_grid[::-1])
        inside = (answers > values[0]) & (answers < values[-1])
        # Invert the monotone polynomial: a place from the table of its values, then Newton's steps.
        at = np.interp(answers, values, grid)
        for _ in range(3):
            at = at - (chebyshev.chebval(at, self.coefficients) - answers) / chebyshev.chebval(at, self.slope)
        return np.where(inside, at * self.window, np.nan)


def read_plane(
    point: Floats, tangent: Floats, width: float, radius: float, how: ReadingPolicy, rng: np.random.Generator
) -> Search[Plane | None]:
    """Read the normal of the hyperplane through a steep point; about d + 13 queries, None if it is none.

    Parameters
    ----------
    point, tangent : (d,) arrays
        Where the function is steep, and a direction that crosses the hyperplane.
    width, radius : float
        Jump over slope along the tangent, and distance of the point from the origin.
    how : ReadingPolicy
        With levers, d - 1 queries more for each.

    Notes
    -----
    Nearby the function depends on one coordinate only. The answers along the tangent, as an invertible function of the
    place, turn the answer after a step in any other direction into the place on the tangent that has the same answer:
    no truncation error, whatever the layers above do.
    """
    rows, window = [], how.steep * width
    # Chebyshev nodes: the polynomial through them is near the best one, and its last coefficients show its error.
    for _ in range(TRIES):
        nodes = window * np.cos(np.pi * (2 * np.arange(_ON_TANGENT) + 1) / (2 * _ON_TANGENT))
        numbers, answers = yield point + nodes[:, None] * tangent
        line = _Tangent(nodes, answers, window, how.smooth)
        if line.is_smooth:
            rows.append(numbers)
            break
        window /= 2.5
    else:
        return None
    normal = tangent
    for length in (how.step, *how.levers):
        turned = yield from _turned(normal, length * window, line, point, tangent)
        if turned is None:
            return None
        normal = turned.normal
        rows.append(turned.rows)
    reach = radius / how.tangents
    beside = rng.standard_normal((3, len(normal)))
    beside -= np.outer(beside @ normal, normal)
    numbers, answers = yield point + reach * beside / np.linalg.norm(beside, axis=1, keepdims=True)
    returned = np.abs(line.places(answers)) < how.returns * window  # another unit may be crossed on the way
    if returned.sum() < 2:
        return None
    rows.append(numbers[returned])
    along = abs(float(normal @ tangent))
    return Plane(normal, point, window * along, width * along, np.concatenate(rows))


class _Turned(NamedTuple):
    """A better normal, and the rows that it was read from."""

    normal: Floats
    rows: NDArray[np.intp]


def _turned(normal: Floats, length: float, line: _Tangent, point: Floats, tangent: Floats) -> Search[_Turned | None]:
    """Step from the point in all directions across a normal, shorter where that leads too far, and turn it."""
    across, rows = _rows_across(normal), []
    steps, shifts = np.full(len(across), length), np.full(len(across), np.nan)
    for _ in range(TRIES):
        todo = np.flatnonzero(np.isnan(shifts))
        if not len(todo):
            break
        numbers, answers = yield point + steps[todo, None] * across[todo]
        shifts[todo] = line.places(answers)
        rows.append(numbers[~np.isnan(shifts[todo])])
        steps[np.isnan(shifts)] /= 5
    if np.isnan(shifts).any():
        return None
    # A step s along a_i that needs a shift t on the tangent has <n, s a_i> = <n, tangent> t: so n has the component
    # <n, tangent> t / s along a_i.
    turned = normal + float(normal @ tangent) * (shifts / steps) @ across
    return _Turned(turned / np.linalg.norm(turned), np.concatenate(rows))


def _rows_across(vector: Floats) -> Floats:
    """Return an orthonormal basis (d - 1, d) of what is orthogonal to a unit vector: a reflection's other rows."""
    # A Householder reflection takes the vector to the first axis; its other rows span what is orthogonal to it.
    mirror = vector.copy()
    mirror[0] += np.copysign(1.0, vector[0])
    mirror /= np.linalg.norm(mirror)
    return np.asarray((np.eye(len(vector)) - 2 * np.outer(mirror, mirror))[1:])


@dataclass(frozen=True)
class SignAnswers:
    """Sign patterns (n, k), each once, and the answers (n,) there.

    `apart` is the largest difference of two answers to one pattern, more than rounding if a unit is missing, and
    `between` holds the (2, d) places of these answers: its hyperplane passes between them.
    """

    signs: Floats
    answers: Floats
    apart: float
    between: Floats

    def __len__(self) -> int:
        return len(self.signs)


def n_signs(n_units: int, n_features: int) -> int:
    """Return how many sign patterns can be reached far out: the regions of hyperplanes in general position."""
    # Central arrangements of n hyperplanes in general position in d dimensions have 2 sum_{i<d} C(n - 1, i) regions.
    if n_units <= n_features:
        return int(2**n_units)
    return 2 * sum(comb(n_units - 1, i) for i in range(n_features))


def known_signs(ledger: Ledger, first: FirstLayer, at_least: float) -> SignAnswers:
    """Collect the rows asked so far, at least this far out, at which all units of the first layer stand still."""
    X, y = ledger.X, ledger.y
    far = np.flatnonzero(np.linalg.norm(X, axis=1) >= at_least)
    far = far[first.saturates(X[far])]
    signs = np.sign(first.distance(X[far]))
    _, once, pattern = np.unique(signs, axis=0, return_index=True, return_inverse=True)
    lowest, highest = np.full(len(once), np.inf), np.full(len(once), -np.inf)
    np.minimum.at(lowest, pattern.ravel(), y[far])
    np.maximum.at(highest, pattern.ravel(), y[far])
    apart = highest - lowest
    between = np.empty((0, X.shape[1]))
    if len(apart):
        worst = far[pattern.ravel() == int(np.argmax(apart))]
        between = X[[worst[np.argmin(y[worst])], worst[np.argmax(y[worst])]]]
    once = np.sort(once)
    return SignAnswers(signs[once], y[far][once], float(apart.max(initial=0.0)), between)


def ask_signs(
    ledger: Ledger, first: FirstLayer, radius: float, n_more: int, seen: SignAnswers, rng: np.random.Generator
) -> SignAnswers:
    """Ask for new sign patterns at random places far out; fewer if there are no more of them."""
    signs: list[Floats] = []
    rows: list[Floats] = []
    patterns = {s.tobytes() for s in seen.signs.astype(np.int8)}
    for _ in range(40):
        if len(rows) >= n_more:
            break
        X = radius * normalize_rows(rng.standard_normal((4 * n_more, ledger.n_features)))
        good = first.saturates(X)
        for x, pattern in zip(X[good], np.sign(first.distance(X[good])).astype(np.int8)):
            if len(rows) < n_more and pattern.tobytes() not in patterns:
                patterns.add(pattern.tobytes())
                rows.append(x)
                signs.append(pattern.astype(np.float64))
    if not rows:
        return seen
    answers = ledger.ask(np.array(rows), "second layer")
    return SignAnswers(
        np.concatenate([seen.signs, np.array(signs)]), np.append(seen.answers, answers), seen.apart, seen.between
    )


def ask_again(ledger: Ledger, first: FirstLayer, radius: float, n: int, rng: np.random.Generator) -> None:
    """Ask n known sign patterns again elsewhere, as far away as they reach: answers that differ show a missing unit."""
    X = ledger.X
    far = np.flatnonzero(np.linalg.norm(X, axis=1) >= 0.5 * radius)
    far = far[first.saturates(X[far])]
    rows = []
    for start in X[rng.choice(far, size=n)] if len(far) else []:
        way = radius * normalize_rows(rng.standard_normal((1, len(start))))[0]
        heights, rates = first.distance(start[None])[0], first.normals @ way
        # Go as far as no known unit leaves its plateau: to the nearest hyperplane on the way, less its margin.
        room = np.abs(heights) - 1.01 * first.margin
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(heights * rates < 0, room / np.abs(rates), np.inf)
        there = start + 0.98 * float(np.clip(steps.min(initial=3.0), 0.0, 3.0)) * way
        if np.linalg.norm(there) >= 0.5 * radius:
            rows.append(there)
    if rows:
        ledger.ask(np.array(rows), "first layer")
