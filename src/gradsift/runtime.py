"""Optional packages, freed memory, threads, and how much work a fit will be."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from .errors import MissingExtra, SlowFitWarning
from .progress import report


def load_extra(package: str, extra: str) -> Any:
    """Import an optional package, or say which extra brings it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as problem:
        if not f"{package}.".startswith(f"{problem.name}."):
            raise  # the package is there and broken: hiding that would help nobody
        raise MissingExtra(f"This needs the package {package}: pip install 'gradsift[{extra}]'.") from None


_LARGE = 30_000_000  # bytes; from 32 MiB on an array is handed back whatever has been seen


def keep_memory() -> None:
    """Let the C library keep the memory of freed blocks for the next ones.

    It takes the largest array freed so far for the measure of what may lie free. Unless it has seen a large one, it
    hands every block back to the system and asks for it again, page by page, which can cost more than the work itself
    (seen in out_of_core and in black_box_large, 784x64).
    """
    np.empty(_LARGE, np.uint8)  # freed untouched


_WORTH_A_THREAD = 2**25  # multiplications; black_box_large, 784x64 and 784x256 on 16 cores
_MOST_THREADS = 8  # threads: sixteen factor a matrix more slowly (same runs, 0.21 against 0.14 s)

_usual: ContextVar[int] = ContextVar("_usual", default=0)  # threads outside of `one_thread`; 0 outside of it


@cache
def _blas() -> Any:
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """Let linear algebra use one thread inside the block."""
    before = max((library.num_threads for library in _blas().lib_controllers), default=1)
    if before == 1:
        yield
        return
    token = _usual.set(before)
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _usual.reset(token)


@contextmanager
def all_threads(products: float = np.inf) -> Iterator[None]:
    """Inside :func:`one_thread`, let linear algebra use several, as many as this many products are worth."""
    n_threads = int(min(_usual.get(), _MOST_THREADS, products / _WORTH_A_THREAD))
    if n_threads < 2:
        yield
        return
    with _blas().limit(limits=n_threads):
        yield


MAX_ROWS = 20_000  # of a table in a search; the rest of the rows only polish what it found
_SECONDS_PER_GIGAFLOP = 1.5  # of one Gauss-Newton step; a search takes ten to twenty (measured, one core, 10 GF/s)
_MATRICES = 3  # of the unknowns by the unknowns, at the same time
_NOTEWORTHY, _LONG = 20.0, 600.0  # seconds


@dataclass(frozen=True)
class FitSize:
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


def estimate(n_rows: int, n_features: int, n_units: int) -> FitSize:
    """Return the work of a fit of so many units to so many rows."""
    unknowns = n_units * (n_features + 2) + 1
    flops = 2.0 * min(n_rows, MAX_ROWS) * unknowns**2 + unknowns**3 / 3
    return FitSize(unknowns, flops / 1e9 * _SECONDS_PER_GIGAFLOP, 8.0 * _MATRICES * unknowns**2)


def warn_of_size(n_rows: int, n_features: int, n_units: int | None) -> None:
    """Say how long a fit will take where that is long, and refuse it where memory cannot hold it.

    Where the number of units is to be found, two of them are reckoned with: no search ends before it has tried them.
    """
    work = estimate(n_rows, n_features, n_units or 2)
    advice = "fewer units or fewer columns would do (gs.SpectralMirror finds the columns' combinations that matter)"
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
