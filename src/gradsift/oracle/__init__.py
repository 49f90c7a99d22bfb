"""The black box, wrapped: counting, budget, batches, retries, journal, and adapters for common kinds of boxes."""

from __future__ import annotations

from .adapters.recorded import from_journal
from .core import Answers, Bounds, Oracle
from .journal import Journal
from .retry import Retry

__all__ = ["Answers", "Bounds", "Journal", "Oracle", "Retry", "from_journal"]
