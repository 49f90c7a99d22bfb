"""Keep freed memory at hand, for work that goes on in blocks of a few megabytes."""

from __future__ import annotations

import numpy as np

__all__ = ["keep_freed_memory"]

_LARGE = 30_000_000  # bytes; from 32 MiB on an array is handed back whatever has been seen


def keep_freed_memory() -> None:
    """Let the C library keep the memory of freed blocks for the next ones.

    It takes the largest array freed so far for the measure of what may lie free. Unless it has seen a large one, it
    hands every block back to the system and asks for it again, page by page, which can cost more than the work itself
    (seen in out_of_core and in black_box_large, 784x64).
    """
    np.empty(_LARGE, np.uint8)  # freed untouched
