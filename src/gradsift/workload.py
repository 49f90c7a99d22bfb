"""How much work a fit of a table will be, said before it begins."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass

from .errors import SlowFitWarning
from .progress import report

__all__ = ["Work", "announce", "estimate"]

_ROWS_SEARCHED = 20_000  # most rows of a table that the search works with
_SECONDS_PER_GIGAFLOP = 1.5  # of one Gauss-Newton step; a search takes ten to twenty (measured, one core, 10 GF/s)
_MATRICES = 3  # of the unknowns by the unknowns, at the same time
_NOTEWORTHY, _LONG = 20.0, 600.0  # seconds


@dataclass(frozen=True)
class Work:
    """What a fit takes, within a factor of three or so.

    Attributes
    ----------
    n_unknowns : int
    seconds : float
    n_bytes : float
        For matrices of all unknowns by all unknowns.
    """

    n_unknowns: int
    seconds: float
    n_bytes: float

    def __str__(self) -> str:
        minutes = self.seconds / 60
        time = (
            f"{minutes:.1g} min" if minutes < 10 else f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.2g} h"
        )
        return f"{self.n_unknowns:,} unknowns, about {time} of work"


def estimate(n_rows: int, n_features: int, n_units: int) -> Work:
    """Return the work of a fit of so many units to so many rows."""
    unknowns = n_units * (n_features + 2) + 1
    flops = 2.0 * min(n_rows, _ROWS_SEARCHED) * unknowns**2 + unknowns**3 / 3
    return Work(unknowns, flops / 1e9 * _SECONDS_PER_GIGAFLOP, 8.0 * _MATRICES * unknowns**2)


def announce(n_rows: int, n_features: int, n_units: int | None) -> None:
    """Say how long a fit will take where that is long, and refuse it where memory cannot hold it.

    Where the number of units is to be found, two of them are reckoned with: no search ends before it has tried them.
    """
    work = estimate(n_rows, n_features, n_units or 2)
    advice = "fewer units or fewer columns would do (gs.HermiteSubspace finds the columns' combinations that matter)"
    least = estimate(n_rows, n_features, n_units or 1)
    memory = _memory()
    if memory is not None and least.n_bytes > memory:
        raise ValueError(
            f"A fit of {n_units or 1} units in {n_features:,} columns has {least.n_unknowns:,} unknowns and needs "
            f"about {least.n_bytes / 2**30:,.0f} GiB of memory, more than the {memory / 2**30:,.0f} here: {advice}."
        )
    if work.seconds > _NOTEWORTHY:
        report(str(work), 0, None)
    if work.seconds > _LONG:
        warnings.warn(f"{work}: {advice}.", SlowFitWarning, stacklevel=4)


def _memory() -> float | None:
    """Return the bytes of memory in this machine, where it tells."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return None
