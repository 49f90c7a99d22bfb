"""A box of piecewise linear answers: asked, and how its answers are rounded."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...errors import NotIdentifiable
from ...geometry import normalize_rows
from ...tuned import FACTOR
from ..ledger import EPS, Ledger

_RAY_RADII = 4.0 ** np.arange(-2, 16)


@dataclass
class Box:
    """Asks a ledger, and foretells by how much each answer is rounded.

    Attributes
    ----------
    ledger : Ledger
    rng : Generator
    reach : float
        Radius from which on a ray is straight.
    slope : float
        Typical length of a gradient.
    """

    ledger: Ledger
    rng: np.random.Generator
    reach: float = 1.0
    slope: float = 0.0
    slopes: list[float] = field(default_factory=list)
    n_raised: int = 0
    _scanned: list[tuple[int, int]] = field(default_factory=list)

    eps = EPS

    @property
    def d(self) -> int:
        """Number of inputs."""
        return self.ledger.n_features

    def ask(self, rows: Floats, step: str) -> Floats:
        """Ask at rows (n, d), and keep them."""
        asked = self.ledger.ask_rows(rows, step)
        if step.startswith("kinks") and len(asked.rows):
            self._scanned.append((int(asked.rows[0]), int(asked.rows[-1]) + 1))
        return asked.answers

    def anchors(self, most: int) -> NDArray[np.intp]:
        """Return the numbers of rows on lines, at most this many: those of steps beside them tell next to nothing."""
        rows = np.concatenate([np.arange(a, b) for a, b in self._scanned] or [np.empty(0, np.intp)])
        return rows if len(rows) <= most else np.sort(self.rng.choice(rows, most, replace=False))

    def rounding(self, rows: Floats, answers: Floats) -> Floats:
        """Return the size of the rounding of each answer: of its own digits, and of the products inside, which are as
        large as the input is far out, (n,)."""
        inside = EPS * self.slope * np.sqrt(np.einsum("ij,ij->i", rows, rows))
        return np.asarray(np.maximum(4 * EPS * np.abs(answers), inside))

    def raise_rounding(self) -> None:
        """Take answers to be rounded more than they were thought to be; refuse where that does not help.

        Raises
        ------
        NotIdentifiable
        """
        self.n_raised += 1
        if self.n_raised > 2:
            raise NotIdentifiable(
                f"Answers on lines do not join to straight pieces ({self.ledger.n_queries} queries): the function is "
                "curved, or its answers are rounded or noisy."
            )
        self.slope *= FACTOR
        self.slopes = [FACTOR * slope for slope in self.slopes]

    def note_gradients(self, gradients: Floats) -> None:
        """Measure roundings by the median length of all gradients seen, rows of `gradients`."""
        self.slopes += np.linalg.norm(gradients, axis=1).tolist()
        self.slope = float(np.median(self.slopes))

    def find_reach(self) -> None:
        """Ask along 3 to 16 rays, more while they are flat, at radii growing by 4, until two slopes agree.

        12 to 54 queries.

        Raises
        ------
        NotIdentifiable
            They never do, or the function does not grow.
        """
        radii, slopes = [], [0.0]
        for i, way in enumerate(normalize_rows(self.rng.standard_normal((16, self.d)))):
            if i >= 3 and max(slopes) > 0:  # all units of a layer may be off on some rays
                break
            y = self.ask(_RAY_RADII[:2, None] * way, "reach").tolist()
            for number in range(2, len(_RAY_RADII)):
                y.append(float(self.ask(_RAY_RADII[number, None] * way[None], "reach")[0]))
                changes = np.diff(y) / np.diff(_RAY_RADII[: number + 1])
                if abs(changes[-1] - changes[-2]) <= FACTOR * np.sqrt(EPS) * np.abs(changes).max():
                    radii.append(float(_RAY_RADII[number - 2]))
                    break
            slopes.append(float(np.abs(changes).max()))
        if not radii:
            raise NotIdentifiable(
                f"Along rays the function is not straight even at radius {_RAY_RADII[-1]:.2g} "
                f"({self.ledger.n_queries} queries): it has no units with kinks between straight lines, or its answers "
                "are rounded or noisy."
            )
        self.reach, self.slope = float(np.median(radii)), max(slopes)
        if not self.slope:
            raise NotIdentifiable("Along 16 rays the function is constant: no units that grow are seen.")
