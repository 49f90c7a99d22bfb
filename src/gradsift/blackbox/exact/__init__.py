"""The black box with exact answers."""

from __future__ import annotations

from .coarse import coarse_ledger, identify_coarse, is_fine
from .families import AlgebraicTails, Discontinuous, Incomplete, WrongFamily
from .search import identify

__all__ = [
    "AlgebraicTails", "Discontinuous", "Incomplete", "WrongFamily", "coarse_ledger", "identify", "identify_coarse",
    "is_fine",
]  # fmt: skip
