"""Points of a boundary between decisions, found on many lines in lockstep, and the normal that they span."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...errors import NotIdentifiable
from ...tuned import TRIES
from ..ledger import EPS, Ledger
from .settings import DECISIONS

Classes = NDArray[np.intp]


class Crossings(NamedTuple):
    """Where lines cross the boundary.

    Attributes
    ----------
    points, ways : (n, d) arrays
        The middle of what is left of each bracket, and the unit direction of its line.
    widths : (n,) array
        Half of what is left.
    below, above : (n,) arrays
        Number of the class on either side.
    """

    points: Floats
    ways: Floats
    widths: Floats
    below: Classes
    above: Classes

    def __len__(self) -> int:
        return len(self.points)

    def take(self, rows: object) -> Crossings:
        """Return some of them."""
        return Crossings(*(part[rows] for part in self))  # type: ignore[call-overload]

    @property
    def errors(self) -> Floats:
        """Standard deviation of each point along its line, (n,)."""
        return np.asarray(self.widths / np.sqrt(3.0))  # a uniform error within the bracket


def joined(parts: list[Crossings]) -> Crossings:
    """Return all crossings as one."""
    return Crossings(*(np.concatenate(part) for part in zip(*parts)))


class Decider:
    """Asks a box that only decides, and numbers its classes as they come.

    Attributes
    ----------
    ledger : Ledger
    values : list of float
        The box's own number for each class.
    step : str
        What is going on, for the report.
    eps : float
        Spacing of the numbers that the box calculates with, relative to their size.
    is_complete : bool
        Whether a further class ends what is going on: parameters are counted by the classes.
    """

    def __init__(self, ledger: Ledger, values: tuple[float, ...]) -> None:
        self.ledger, self.values, self.step = ledger, sorted(values), "boundary"
        self.is_complete, self.eps = False, EPS
        self._rows: dict[float, Floats] = {}

    @property
    def n_features(self) -> int:
        """Number of inputs."""
        return self.ledger.n_features

    @property
    def seen_at(self) -> Floats:
        """One input of each class, (classes, d)."""
        return np.array([self._rows.get(value, np.zeros(self.n_features)) for value in self.values])

    def rounding(self, X: Floats) -> Floats:
        """Return how far a crossing may be off by the rounding of the rows of X and of what they are multiplied by."""
        return np.asarray(TRIES * self.eps * np.abs(X).max(axis=1, initial=1.0))

    def ask(self, rows: Floats) -> Classes:
        """Return the number of the class at each row."""
        answers = self.ledger.ask_blocks(len(rows), lambda part: rows[part], self.step)
        for value in np.unique(answers).tolist() if len(self._rows) < len(self.values) else ():
            self._rows.setdefault(value, rows[int(np.argmax(answers == value))].copy())
        for value in np.setdiff1d(answers, self.values).tolist():
            self.values.append(value)
            self._rows[value] = rows[int(np.argmax(answers == value))].copy()
            if self.is_complete:
                raise NotIdentifiable(f"A further class came to light after {self.ledger.n_queries} queries.")
        order = np.argsort(self.values, kind="stable")
        return np.asarray(order[np.searchsorted(np.asarray(self.values)[order], answers)])

    def halve(self, X: Floats, ways: Floats, low: Floats, high: Floats, below: Classes, above: Classes,
              width: Floats | float) -> Crossings:  # fmt: skip
        """Halve brackets (low, high) on lines ``X + t ways`` to a half width; all lines in lockstep.

        What is kept is the end of the lower class: at a third class it is that one's boundary.
        """
        low, high, above = low.astype(float).copy(), high.astype(float).copy(), above.copy()
        width = np.broadcast_to(np.asarray(width, dtype=float), low.shape)
        # No bracket is narrower than the rounding of its own inputs.
        least = np.maximum(width, self.rounding(X))
        while True:
            todo = np.flatnonzero(0.5 * (high - low) > least)
            if not len(todo):
                break
            middle = 0.5 * (low[todo] + high[todo])
            seen = self.ask(X[todo] + middle[:, None] * ways[todo])
            lower = seen == below[todo]
            low[todo[lower]] = middle[lower]
            high[todo[~lower]] = middle[~lower]
            above[todo[~lower]] = seen[~lower]
        middle = 0.5 * (low + high)
        points = X + middle[:, None] * ways
        return Crossings(points, ways, np.maximum(0.5 * (high - low), self.rounding(points)), below.copy(), above)

    def cross(self, X: Floats, ways: Floats, below: Classes | int, above: Classes | int, reach: Floats | float,
              width: Floats | float, expansions: int = DECISIONS.rounds,
              ) -> tuple[Crossings, NDArray[np.bool_]]:  # fmt: skip
        """Find the crossing from one class to another near the rows of X, within `reach` to begin with.

        Returns
        -------
        crossings : Crossings
            Of the lines that have one.
        met : (n,) array
            Which lines these are.
        """
        n = len(X)
        below, above = (np.broadcast_to(np.asarray(c, dtype=np.intp), (n,)).copy() for c in (below, above))
        high = np.broadcast_to(np.asarray(reach, dtype=float), (n,)).copy()
        low, length = -high, high.copy()
        seen = self.ask(np.concatenate([X + low[:, None] * ways, X + high[:, None] * ways])) if n else below[:0]
        left, right = seen[:n].copy(), seen[n:].copy()
        for _ in range(expansions):
            # Both ends in one known class say on which side the crossing lies: only that side is asked again.
            up, down = (left == below) & (right == below), (left == above) & (right == above)
            todo = np.flatnonzero(up | down)
            if not len(todo):
                break
            length[todo] *= 4
            low[up], high[down] = high[up], low[down]
            high[up] += length[up]
            low[down] -= length[down]
            at = np.where(up, high, low)[todo]
            seen = self.ask(X[todo] + at[:, None] * ways[todo])
            right[todo[up[todo]]], left[todo[down[todo]]] = seen[up[todo]], seen[down[todo]]
        met = (left == below) & (right == above)
        found = self.halve(X[met], ways[met], low[met], high[met], below[met], above[met],
                           np.broadcast_to(np.asarray(width, dtype=float), (n,))[met])  # fmt: skip
        return found, met

    def foretold(self, X: Floats, ways: Floats, below: Classes | int, above: Classes | int, within: float) -> bool:
        """Say whether all lines cross from one class to another within a distance; two queries each."""
        n = len(X)
        beside = np.maximum(within, self.rounding(X))[:, None] * ways
        seen = self.ask(np.concatenate([X - beside, X + beside]))
        return bool((seen[:n] == below).all() and (seen[n:] == above).all())


class FlatFace(NamedTuple):
    """A flat piece of the boundary.

    Attributes
    ----------
    normal : (d,) array
        Of length one, towards the class above.
    at : Crossings
        Those that it was found from, the first one in their middle.
    below, above : int
        Numbers of the classes on either side.
    """

    normal: Floats
    at: Crossings
    below: int
    above: int

    @property
    def point(self) -> Floats:
        """Return the middle, (d,)."""
        return np.asarray(self.at.points[0])


def lines_beside(decider: Decider, at: Crossings, basis: Floats, step: float, digits: float) -> Crossings | None:
    """Return the crossings of lines parallel to that of a first crossing, `step` away along each row of a basis.

    The first two are tested for straightness, halfway and on the other side, before all others are paid for; a random
    combination of all is tested at the end. None where the boundary is not flat.
    """
    x, D, width = at.points[0], at.ways[0], digits * step
    below, above = int(at.below[0]), int(at.above[0])
    parts: list[Crossings] = []
    for rows in (basis[:2], basis[2:]):
        if not len(rows):
            continue
        X = x + step * rows
        found, met = decider.cross(X, np.broadcast_to(D, X.shape), below, above, step, width, 4)
        if not met.all():
            return None
        away = (found.points - X) @ D  # (n,)
        parts.append(found)
        if len(parts) == 1:
            scales = np.array([0.5, -1.0])[:, None, None]
            tests = (x + scales * (step * rows + away[:, None] * D)).reshape(-1, len(x))
            if not decider.foretold(tests, D, below, above, 6 * width):
                return None
    found = joined(parts)
    signs = np.random.default_rng(len(basis)).choice([-1.0, 1.0], (2, len(basis))) / np.sqrt(len(basis))
    sums = x + signs @ (found.points - x)
    return found if decider.foretold(sums, D, below, above, 3 * width * (1 + np.sqrt(len(basis)))) else None


def plane_at(decider: Decider, at: Crossings, step: float, digits: float) -> FlatFace | None:
    """Return the flat piece of the boundary about one crossing; None where it is not flat. d - 1 crossings."""
    D = at.ways[0]
    basis = orthogonal_basis(D[None])
    found = lines_beside(decider, at, basis, step, digits)
    if found is None:
        return None
    # The piece is spanned by step e_i + t_i D, so that its normal is D - sum (t_i / step) e_i.
    slopes = (found.points - at.points[0]) @ D / step
    normal = D - slopes @ basis
    return FlatFace(
        np.asarray(normal / np.linalg.norm(normal)), joined([at, found]), int(at.below[0]), int(at.above[0])
    )


def orthogonal_basis(rows: Floats) -> Floats:
    """Return an orthonormal basis of all that is orthogonal to the rows (n, d), (d - n, d)."""
    d = rows.shape[1]
    full = np.linalg.qr(np.concatenate([rows.T, np.eye(d)], axis=1))[0]
    return np.asarray(full[:, len(rows) :].T)


def orthogonal_direction(rows: Floats, d: int, rng: np.random.Generator) -> Floats:
    """Return a random unit vector (d,) orthogonal to all rows (n, d), n < d."""
    v = rng.standard_normal(d)
    for _ in range(2 if len(rows) else 0):  # once more, since the first time leaves rounding
        v = v - rows.T @ np.linalg.lstsq(rows.T, v, rcond=None)[0]
    return np.asarray(v / np.linalg.norm(v))
