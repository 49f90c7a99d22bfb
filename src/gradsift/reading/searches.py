"""Many small searches at once: each asks for rows, and all of a round are put to the oracle in one batch."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, TypeVar

import numpy as np

from ..arguments import Floats
from .ledger import Asked, Ledger

T = TypeVar("T")


# A search yields (n, d) rows, receives their Asked, and returns what it found.
Search = Generator[Floats, Asked, T]


def search_all(ledger: Ledger, searches: Sequence[Search[T]], step: str) -> list[T | None]:
    """Run all searches to their end, one batch of queries per round; the results in their order."""
    results: list[T | None] = [None] * len(searches)
    replies: dict[int, Any] = dict.fromkeys(range(len(searches)))
    while True:
        wanted: dict[int, Floats] = {}
        for number, reply in replies.items():
            try:
                wanted[number] = searches[number].send(reply)
            except StopIteration as end:
                results[number] = end.value
        if not wanted:
            return results
        asked = ledger.ask_rows(np.concatenate(list(wanted.values())), step)
        ends = np.cumsum([len(rows) for rows in wanted.values()])[:-1]
        parts = zip(np.split(asked.rows, ends), np.split(asked.answers, ends))
        replies = {number: Asked(*part) for number, part in zip(wanted, parts)}
