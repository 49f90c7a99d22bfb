"""Which function carries which statement of the paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])


def implements(*labels: str) -> Callable[[F], F]:
    """Mark a function or class as carrying the paper's statements with these labels."""

    def mark(thing: F) -> F:
        thing.__paper__ = labels  # type: ignore[attr-defined]
        return thing

    return mark
