"""One hidden layer or more: with one, the odd part of the function is linear far out, whatever its units."""

from __future__ import annotations

import numpy as np

from ...geometry import orthonormal_rows
from ..asking import Ledger
from .kinked_policy import ODD_PART
from .reach import LinearReach

__all__ = ["odd_part_is_linear"]


def odd_part_is_linear(ledger: Ledger, reach: LinearReach, rng: np.random.Generator) -> bool:
    """Say whether ``f(x) - f(-x)`` adds up far out; 6 queries.

    Every unit with straight ends has ``f(z) - f(-z) = z`` up to its offset, and all of them together leave a linear
    function. A second layer takes the kinks of the first into its own units, and does not.
    """
    x, y = ODD_PART.radius * reach.radius * orthonormal_rows(2, ledger.n_features, rng)
    ways = np.array([x, y, x + y])
    answers = ledger.ask(np.concatenate([ways, -ways]), "depth")
    odd = answers[:3] - answers[3:]
    return bool(abs(odd[0] + odd[1] - odd[2]) <= ODD_PART.adds_up * np.abs(answers).max())
