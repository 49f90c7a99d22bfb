"""The paper's statements by LaTeX label, and which function carries each.

``@implements("eq:Slope")`` on a function fills the index, so the map cannot drift from the code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["carriers", "implements"]

F = TypeVar("F", bound=Callable[..., object])

_CARRIERS: dict[str, list[str]] = {}


def implements(*labels: str) -> Callable[[F], F]:
    """Mark a function or class as carrying the paper's statements with these labels."""

    def mark(thing: F) -> F:
        for label in labels:
            _CARRIERS.setdefault(label, []).append(f"{thing.__module__}.{thing.__qualname__}")
        return thing

    return mark


def carriers(label: str) -> tuple[str, ...]:
    """Return the qualified names that implement `label`, among the modules imported so far."""
    return tuple(_CARRIERS.get(label, ()))
