"""How many threads linear algebra may use: one for the many small steps of a search and for blocks of rows that are
summarised side by side, all for boxes and large products.

Threads that wait for the next small product cost more than they bring.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

__all__ = ["all_threads", "one_thread"]

_WORTH_A_THREAD = 2**25  # multiplications; black_box_large, 784x64 and 784x256 on 16 cores
_MOST_THREADS = 8  # threads: sixteen factor a matrix more slowly (same runs, 0.21 against 0.14 s)

_usual: ContextVar[int] = ContextVar("_usual", default=0)  # threads outside of `one_thread`; 0 outside of it


@cache
def _controller() -> Any:
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """Let linear algebra use one thread inside the block."""
    before = max((library.num_threads for library in _controller().lib_controllers), default=1)
    if before == 1:
        yield
        return
    token = _usual.set(before)
    try:
        with _controller().limit(limits=1):
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
    with _controller().limit(limits=n_threads):
        yield
