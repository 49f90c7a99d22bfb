"""The command line: one file per command, heavy imports only inside the command that needs them."""

from __future__ import annotations

from .app import main

__all__ = ["main"]
