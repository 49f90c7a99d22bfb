"""The black box with exact answers."""

from __future__ import annotations

from .families import AlgebraicTails, WrongFamily
from .search import identify

__all__ = ["AlgebraicTails", "WrongFamily", "identify"]
