"""Many small searches at once: each asks for rows, and all of a round are put to the oracle in one batch."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

import numpy as np

from ..arguments import Floats
from .ledger import Asked, Ledger

T = TypeVar("T")


# A search yields (n, d) rows, receives their Asked, and returns what it found.
Search = Generator[Floats, Asked, T]


def search_all(ledger: Ledger, searches: Sequence[Search[T]], step: str) -> list[T | None]:
    """Run all searches to their end, one batch of queries per round; the results in their order."""
    results: list[T | None] = [None] * len(searches)
    wanted: dict[int, Floats] = {}

    def advance(number: int, reply: Asked | None) -> None:
        try:
            wanted[number] = next(searches[number]) if reply is None else searches[number].send(reply)
        except StopIteration as end:
            results[number] = end.value

    for number in range(len(searches)):
        advance(number, None)
    while wanted:
        asked, wanted = wanted, {}
        reply, start = ledger.ask_rows(np.concatenate(list(asked.values())), step), 0
        for number, rows in asked.items():
            mine = slice(start, start + len(rows))
            advance(number, Asked(reply.rows[mine], reply.answers[mine]))
            start += len(rows)
    return results
