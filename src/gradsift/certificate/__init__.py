"""What a result is judged by.

A check is a number against a limit, with its sentence and its advice; a verdict is a list of checks. A reader of exact
or finely rounded answers hands over its evidence, and `certify` makes the verdict. To add a check, write its limit into
the record of its kind of answers in ``limits.py``, beside its like a function that returns the check, and call that
function where the verdict is made. Summary, report and command line then show it.
"""

from __future__ import annotations

from .check import Check, Judged, Verdict, failed_first, lines, n_of
from .exact_rules import Evidence, Fresh, certify
from .limits import (
    BOUND,
    COARSE,
    COARSE_KINKS,
    DECIDED,
    DEEP,
    DEEP_COARSE,
    DEEP_KINKS,
    EXACT,
    EXACT_IN_A_BOX,
    KINKED_UNITS,
    KINKS_IN_NOISE,
    KINKS_WITHIN,
    LABELS,
    NOISY,
    OUTPUTS,
    PAPER,
    TABLE,
    VERIFY,
    DeepLimits,
    ExactLimits,
)

__all__ = [
    "BOUND", "COARSE", "COARSE_KINKS", "DECIDED", "DEEP", "DEEP_COARSE", "DEEP_KINKS", "EXACT", "EXACT_IN_A_BOX",
    "KINKED_UNITS", "KINKS_IN_NOISE", "KINKS_WITHIN", "LABELS", "NOISY", "OUTPUTS", "PAPER", "TABLE", "VERIFY", "Check",
    "DeepLimits", "Evidence", "ExactLimits", "Fresh", "Judged", "Verdict", "certify", "failed_first", "lines", "n_of",
]  # fmt: skip
