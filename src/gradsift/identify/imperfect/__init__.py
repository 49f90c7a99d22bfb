"""The black box with imperfect answers: rounded, float32, noisy, or labels."""

from __future__ import annotations

from .floor import Floor, choose_path
from .pipeline import identify_imperfect

__all__ = ["Floor", "choose_path", "identify_imperfect"]
