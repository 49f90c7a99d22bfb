"""Every statement of the paper checked by a second way of getting its numbers.

A check takes the formula it checks as an argument where the paper prints another one, so that the printed form can
be seen to fail.
"""

from __future__ import annotations

from .record import Check

__all__ = ["Check"]
