"""Networks with two or more hidden layers behind exact answers."""

from __future__ import annotations

from .reader import identify_deep

__all__ = ["identify_deep"]
