"""The black box with imperfect answers: rounded, float32, noisy, or labels."""

from __future__ import annotations

from .reader import identify_beside_line, identify_noisy

__all__ = ["identify_beside_line", "identify_noisy"]
