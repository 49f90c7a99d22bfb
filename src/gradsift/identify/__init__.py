"""The exact black box: find the network inside with about as many queries as it has unknowns."""

from __future__ import annotations

from .pipeline import identify
from .result import Identification, Progress

__all__ = ["Identification", "Progress", "identify"]
