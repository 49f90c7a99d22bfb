"""The black box, wrapped: counting, budget, batches, checks."""

from __future__ import annotations

from .core import Oracle

__all__ = ["Oracle"]
