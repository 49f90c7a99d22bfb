"""Rows at the vertices of the first layer's cube: all units stand still, and only their signs matter."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from ...arguments import Floats
from ...geometry import normalize_rows
from ..ledger import Ledger
from .hyperplanes import FirstLayer


@dataclass(frozen=True)
class Vertices:
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


def n_patterns(n_units: int, n_features: int) -> int:
    """Return how many sign patterns can be reached far out: the regions of hyperplanes in general position."""
    if n_units <= n_features:
        return int(2**n_units)
    return 2 * sum(comb(n_units - 1, i) for i in range(n_features))


def known_vertices(ledger: Ledger, first: FirstLayer, at_least: float) -> Vertices:
    """Collect the rows asked so far, at least this far out, at which all units of the first layer stand still."""
    X, y = ledger.X, ledger.y
    far = np.flatnonzero(np.linalg.norm(X, axis=1) >= at_least)
    far = far[first.saturated(X[far])]
    signs = np.sign(first.heights(X[far]))
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
    return Vertices(signs[once], y[far][once], float(apart.max(initial=0.0)), between)


def ask_vertices(
    ledger: Ledger, first: FirstLayer, radius: float, n_more: int, seen: Vertices, rng: np.random.Generator
) -> Vertices:
    """Ask for new sign patterns at random places far out; fewer if there are no more of them."""
    signs: list[Floats] = []
    rows: list[Floats] = []
    patterns = {s.tobytes() for s in seen.signs.astype(np.int8)}
    for _ in range(40):
        if len(rows) >= n_more:
            break
        X = radius * normalize_rows(rng.standard_normal((4 * n_more, ledger.n_features)))
        good = first.saturated(X)
        for x, pattern in zip(X[good], np.sign(first.heights(X[good])).astype(np.int8)):
            if len(rows) < n_more and pattern.tobytes() not in patterns:
                patterns.add(pattern.tobytes())
                rows.append(x)
                signs.append(pattern.astype(np.float64))
    if not rows:
        return seen
    answers = ledger.ask(np.array(rows), "second layer")
    return Vertices(
        np.concatenate([seen.signs, np.array(signs)]), np.append(seen.answers, answers), seen.apart, seen.between
    )


def ask_again(ledger: Ledger, first: FirstLayer, radius: float, n: int, rng: np.random.Generator) -> None:
    """Ask n known sign patterns again elsewhere, as far away as they reach: answers that differ show a missing unit."""
    X = ledger.X
    far = np.flatnonzero(np.linalg.norm(X, axis=1) >= 0.5 * radius)
    far = far[first.saturated(X[far])]
    rows = []
    for start in X[rng.choice(far, size=n)] if len(far) else []:
        way = radius * normalize_rows(rng.standard_normal((1, len(start))))[0]
        heights, rates = first.heights(start[None])[0], first.normals @ way
        room = np.abs(heights) - 1.01 * first.margin
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(heights * rates < 0, room / np.abs(rates), np.inf)
        there = start + 0.98 * float(np.clip(steps.min(initial=3.0), 0.0, 3.0)) * way
        if np.linalg.norm(there) >= 0.5 * radius:
            rows.append(there)
    if rows:
        ledger.ask(np.array(rows), "first layer")
