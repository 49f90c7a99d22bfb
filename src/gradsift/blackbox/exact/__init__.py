"""The black box with exact answers."""

from __future__ import annotations

from .coarse import identify_coarse, is_fine
from .families import AlgebraicTails, WrongFamily
from .search import identify

__all__ = ["AlgebraicTails", "WrongFamily", "identify", "identify_coarse", "is_fine"]
