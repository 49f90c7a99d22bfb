"""One self-contained HTML file about a recovery: verdict, units, figures, doubts, and how to repeat it."""

from __future__ import annotations

from .notebook import notebook_view
from .page import render, write_report

__all__ = ["notebook_view", "render", "write_report"]
