"""The paper's statements by LaTeX label: what each says, where it is wrong, which code and tests carry it.

``@implements("eq:Slope")`` on a function and ``@pytest.mark.paper("eq:Slope")`` on a test are all that it takes;
the index is read from the sources, so it needs no imports and cannot drift.
"""

from __future__ import annotations

from ..implements import implements
from .code_map import carriers, errata_tests, tests, tests_folder
from .statement import Erratum, Statement

__all__ = [
    "Erratum", "Statement", "carriers", "errata_tests", "implements", "labels", "statement", "tests", "tests_folder",
]  # fmt: skip


def labels() -> tuple[str, ...]:
    """Return every label, in the order of the paper."""
    from .statements import STATEMENTS

    return tuple(STATEMENTS)


def statement(label: str) -> Statement:
    """Return the statement with this label, or say in one sentence that there is none."""
    from .statements import SKIPPED, STATEMENTS

    if label in SKIPPED:
        raise ValueError(f"{label!r} is a label of the paper but not a statement: {SKIPPED[label]}.")
    if label not in STATEMENTS:
        import difflib

        near = difflib.get_close_matches(label, STATEMENTS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "; 'gradsift paper' lists them all."
        raise ValueError(f"The paper has no statement labelled {label!r}{hint}")
    return STATEMENTS[label]
