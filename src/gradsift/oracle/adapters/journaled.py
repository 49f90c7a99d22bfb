"""Answers that a journal recorded, replayed without the oracle."""

from __future__ import annotations

import os
from typing import Any

from ...checking import Floats
from ...errors import OracleFailure
from ..core import Oracle
from ..journal import Journal

__all__ = ["from_journal"]


def from_journal(path: str | os.PathLike[str], **options: Any) -> Oracle:
    """Return an oracle that replays a journal and asks nobody.

    Parameters
    ----------
    path : path
        A file written by ``Oracle(..., journal=path)``, complete or not; it is only read.
    **options
        For :class:`~gradsift.Oracle`, for instance ``noise`` or ``max_queries``.

    Raises
    ------
    OracleFailure
        On a query beyond the recorded ones; ``partial`` holds the rows that are not recorded.
    GradsiftError
        On a query that differs from the recorded one.

    Examples
    --------
    >>> with Oracle(lambda X: X.sum(axis=1), 2, journal="campaign.db") as oracle:
    ...     oracle([[1.0, 2.0], [3.0, 4.0]])
    array([3., 7.])
    >>> offline = from_journal("campaign.db")
    >>> offline([[1.0, 2.0]])
    array([3.])
    >>> offline.n_queries, offline.n_replayed
    (0, 1)
    """
    journal = Journal(path)
    journal.open_to_read()
    n_recorded = journal.n_recorded

    def not_recorded(rows: Floats) -> Floats:
        raise OracleFailure(
            f"The journal {journal.path} holds {n_recorded} answers and {len(rows)} more were asked for, which are not "
            "recorded: go on with the live oracle, Oracle(function, ..., journal=path).",
            rows,
        )

    options["recheck"] = 0  # there is nobody to ask
    return Oracle(not_recorded, int(journal.header()["n_features"]), journal=journal, **options)
