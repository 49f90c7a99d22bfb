"""The black box with exact answers."""

from __future__ import annotations

from .search import identify

__all__ = ["identify"]
