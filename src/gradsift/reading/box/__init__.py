"""The black box that accepts inputs only in a box."""

from __future__ import annotations

from .inside import identify_bounded

__all__ = ["identify_bounded"]
