"""The black box with imperfect answers: rounded, float32, noisy, or labels."""

from __future__ import annotations

from .beside_line import identify_beside_line
from .identify import identify_imperfect

__all__ = ["identify_beside_line", "identify_imperfect"]
