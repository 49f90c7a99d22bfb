"""How searches go: many generators of rows in one batch, and tables of stages over a frozen state."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from enum import Enum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

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


END = "end"
_MOST_STAGES = 200  # a table with a loop that no stage leaves would be a mistake


class _Search(Protocol):
    """Who asks, and keeps the latest state for the case that a budget ends a stage halfway."""

    def keep(self, state: Any, /) -> Any: ...


State = TypeVar("State")
Asks = TypeVar("Asks", bound=_Search)


class Stage(NamedTuple, Generic[State, Asks]):
    """What is done, and the name of the stage that follows each outcome."""

    does: Callable[[State, Asks], tuple[State, Enum]]
    then: Mapping[Any, str]


def walk(stages: Mapping[str, Stage[State, Asks]], state: State, asker: Asks) -> State:
    """Go through the table from its first stage to its end."""
    name = next(iter(stages))
    for _ in range(_MOST_STAGES):
        stage = stages[name]
        state, outcome = stage.does(state, asker)
        asker.keep(state)
        name = stage.then[outcome]
        if name == END:
            return state
    raise RuntimeError(f"{_MOST_STAGES} stages did not come to an end; the last was {name!r}.")
