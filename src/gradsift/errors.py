"""What can go wrong, as classes that carry what was found so far.

Bad arguments raise plain ``ValueError`` or ``TypeError``. The classes here are for failures of the method itself.
"""

from __future__ import annotations

from typing import Any


class GradsiftError(Exception):
    """A method could not finish; ``partial`` holds what it had by then (or None)."""

    def __init__(self, message: str, partial: Any = None) -> None:
        super().__init__(message)
        self.partial = partial


class CandidateShortage(GradsiftError):
    """Too few gradient estimates survived the filters; ``partial`` is the ``Candidates`` record."""


class OracleFailure(GradsiftError):
    """The black box kept failing; ``partial`` is the input that it failed on."""


class BudgetSpent(GradsiftError):
    """The next batch would exceed ``max_queries``; nothing was asked beyond it."""


class NotIdentifiable(GradsiftError):
    """The answers cannot determine the units that were asked for; ``rules_out`` says what they exclude (or None)."""

    def __init__(self, message: str, partial: Any = None, rules_out: Any = None) -> None:
        super().__init__(message, partial)
        self.rules_out = rules_out


class MissingExtra(GradsiftError, ImportError):
    """A feature needs an optional package; the message names the extra to install."""


class LowSupportWarning(UserWarning):
    """Gradient estimates rest on very few effective samples."""


class SlowFitWarning(UserWarning):
    """A fit is going to take many minutes; the message says how many, and what would take less."""


class UncertifiedWarning(UserWarning):
    """A result is returned, but nothing vouches for it."""
