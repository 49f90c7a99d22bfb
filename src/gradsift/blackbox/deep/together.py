"""Many small searches at once: each asks for rows, and all of a round are put to the oracle in one batch."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...checking import Floats
from ..asking import Ledger

__all__ = ["Reply", "Search", "search_together"]

T = TypeVar("T")


class Reply(NamedTuple):
    """Answers (n,) and their row numbers in the ledger (n,)."""

    answers: Floats
    rows: NDArray[np.intp]


# A search yields (n, d) rows, receives their Reply, and returns what it found.
Search = Generator[Floats, Reply, T]


def search_together(ledger: Ledger, searches: Sequence[Search[T]], step: str) -> list[T | None]:
    """Run all searches to their end, one batch of queries per round; the results in their order."""
    results: list[T | None] = [None] * len(searches)
    wanted: dict[int, Floats] = {}

    def advance(number: int, reply: Reply | None) -> None:
        try:
            wanted[number] = next(searches[number]) if reply is None else searches[number].send(reply)
        except StopIteration as end:
            results[number] = end.value

    for number in range(len(searches)):
        advance(number, None)
    while wanted:
        asked, wanted = wanted, {}
        start = len(ledger.X)
        answers = ledger.ask(np.concatenate(list(asked.values())), step)
        for number, rows in asked.items():
            mine, answers = answers[: len(rows)], answers[len(rows) :]
            advance(number, Reply(mine, np.arange(start, start + len(rows))))
            start += len(rows)
    return results
