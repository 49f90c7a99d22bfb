"""What a run tells in plain words: its checks as they came out, and notes about the way. No number is judged here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..checks import Check, failed_first

if TYPE_CHECKING:
    from ..recovery import Recovery

__all__ = ["Finding", "findings"]

_MOST_COMPARED = 2000  # units: their angles take a matrix of that size


class Finding(NamedTuple):
    """One thing a run tells: level is "good", "note" or "doubt"; `do` says what to change ("" for nothing)."""

    level: str
    says: str
    do: str = ""


_UNCHECKED = Finding("doubt", "Nothing was checked.")


def findings(found: Recovery) -> list[Finding]:
    """Return the checks, those that fail first and with their advice; then notes on what the diagnostics hold."""
    facts = {**found.diagnostics, "units": found.model.units}
    notes = [note(facts[name]) for name, note in _REPORT_NOTES if facts.get(name) is not None]
    told = [_told(check) for check in failed_first(found.checks)] or [_UNCHECKED]
    return [*told, *(Finding("note", says) for says in notes if says)]


def _told(check: Check) -> Finding:
    return Finding("good", check.sentence) if check.holds else Finding("doubt", check.sentence, check.advice)


def _attempts(n: int) -> str:
    return f"It took {n} circles to see every unit: some units hide each other from one plane." if n > 1 else ""


def _closest_pair(units: Any) -> str:
    if not 1 < len(units) <= _MOST_COMPARED:
        return ""
    cosines = np.abs(units @ units.T) - 2 * np.eye(len(units))
    i, j = np.unravel_index(int(np.argmax(cosines)), cosines.shape)
    degrees = float(np.degrees(np.arccos(min(1.0, cosines[i, j]))))
    return (
        f"The closest pair are units {min(i, j) + 1} and {max(i, j) + 1}, {degrees:.3g} degrees apart: the smaller "
        "the angle, the more do small errors move weight between them."
    )


def _on_the_way(notes: list[Any]) -> str:
    return "On the way: " + "; ".join(str(note) for note in notes) + "." if notes else ""


_REPORT_NOTES: tuple[tuple[str, Callable[[Any], str]], ...] = (
    ("attempts", _attempts),
    ("units", _closest_pair),
    ("notes", _on_the_way),
)
