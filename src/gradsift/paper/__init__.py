"""The paper's statements by LaTeX label: what each says, where it is wrong, which code and tests carry it.

``@implements("eq:Slope")`` on a function and ``@pytest.mark.paper("eq:Slope")`` on a test are all that it takes;
the index is read from the sources, so it needs no imports and cannot drift.
"""

from __future__ import annotations

import difflib

from ..implements import code, folder_of_tests, implements, shown_by
from .statements import SKIPPED, STATEMENTS, Erratum, Statement

__all__ = ["Erratum", "Statement", "code", "folder_of_tests", "implements", "labels", "shown_by", "statement"]


def labels() -> tuple[str, ...]:
    """Return every label, in the order of the paper."""
    return tuple(STATEMENTS)


def statement(label: str) -> Statement:
    """Return the statement with this label, or say in one sentence that there is none."""
    if label in SKIPPED:
        raise ValueError(f"{label!r} is a label of the paper but not a statement: {SKIPPED[label]}.")
    if label not in STATEMENTS:
        near = difflib.get_close_matches(label, STATEMENTS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "; 'gradsift paper' lists them all."
        raise ValueError(f"The paper has no statement labelled {label!r}{hint}")
    return STATEMENTS[label]
