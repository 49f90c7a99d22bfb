"""The black box with imperfect answers: rounded, float32, noisy, or labels."""

from __future__ import annotations

from .identify import identify_imperfect

__all__ = ["identify_imperfect"]
