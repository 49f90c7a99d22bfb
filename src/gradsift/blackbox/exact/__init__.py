"""The black box with exact answers."""

from __future__ import annotations

from .coarse import identify_coarse
from .families import Discontinuous, Incomplete
from .search import identify

__all__ = ["Discontinuous", "Incomplete", "identify", "identify_coarse"]
