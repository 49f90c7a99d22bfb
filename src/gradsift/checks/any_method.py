"""Checks of every method."""

from __future__ import annotations

from .record import Check, make, n_of

__all__ = ["finished", "number_of_units"]


def number_of_units(found: int, given: int) -> Check:
    """Whether there are as many units as the user said."""
    return make(
        "number of units", abs(found - given), "<=", 0,
        f"it has {n_of(found, 'unit')}, as given",
        f"it has {n_of(found, 'unit')} where n_units={given} was given",
        "Leave n_units out.",
    )  # fmt: skip


def finished(shortage: str = "") -> Check:
    """Whether the search came to its end; `shortage` says what it lacked."""
    return make(
        "finished", int(bool(shortage)), "<=", 0, "the search came to its end", shortage.rstrip("."),
        "Allow more queries (max_queries), or ask for a lower accuracy.",
    )  # fmt: skip
