"""The black box with exact answers."""

from __future__ import annotations

from ..circle import Discontinuous, Incomplete
from .coarse import identify_coarse
from .search import identify

__all__ = ["Discontinuous", "Incomplete", "identify", "identify_coarse"]
