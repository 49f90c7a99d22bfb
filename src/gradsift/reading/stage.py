"""A search as a table of stages, which can be read, drawn and tested without an oracle.

A stage takes a state and someone to ask, and returns another state and how it ended; the table says what comes then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

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
