"""The black box that accepts inputs only in a box."""

from __future__ import annotations

from .inside import StraightInParts, identify_bounded

__all__ = ["StraightInParts", "identify_bounded"]
