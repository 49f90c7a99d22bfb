"""The black box with exact answers."""

from __future__ import annotations

from .coarse import identify_coarse, is_fine
from .search import identify

__all__ = ["identify", "identify_coarse", "is_fine"]
