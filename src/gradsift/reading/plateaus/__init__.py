"""The black box with exact answers."""

from __future__ import annotations

from ..circle import Incomplete
from .coarse import identify_coarse
from .search import identify

__all__ = ["Incomplete", "identify", "identify_coarse"]
