"""Answers on disk as they come, so that a killed campaign goes on where it stopped.

Query i of a campaign is a pure function of the seed and of earlier answers. So it is enough to keep the answers,
in order, each with a digest of the row it belongs to: a rerun asks the same rows in the same order, gets the
recorded answers back, and a row that differs shows that this is another campaign.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import sqlite3
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..checking import Floats
from ..errors import GradsiftError

__all__ = ["Journal", "Replay"]

# Read at run time: importing the package root would look, to the layer contract, like importing all of it.
_OUR_VERSION = str(sys.modules[__name__.partition(".")[0]].__version__)

_FORMAT = "gradsift.journal 1"
_TABLES = (
    "CREATE TABLE header (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE answers (position INTEGER PRIMARY KEY, row BLOB NOT NULL, answer BLOB NOT NULL)",
)


class Replay(NamedTuple):
    """What a journal knows about a batch: which rows (n,), and their answers (n_known, m)."""

    known: NDArray[np.bool_]
    answers: Floats


class Journal:
    """A file of answers (sqlite, write-ahead log).

    Parameters
    ----------
    path : str or path
        Made by the first run; its directory must exist.
    plan : str
        Anything that tells this campaign from others, for instance the version of the model behind an endpoint.
        A later run with another text is refused.

    Notes
    -----
    Each batch is one transaction: a process killed at any moment loses the batch in flight and nothing else. The log
    is flushed to the disk by the operating system, so a power cut may lose a few batches more, never the file.
    16 + 8 m bytes per row beside sqlite's own; the rows themselves are not stored.
    """

    def __init__(self, path: str | os.PathLike[str], plan: str = "") -> None:
        self.path, self.plan = Path(path), plan
        self._connection: sqlite3.Connection | None = None

    def __repr__(self) -> str:
        return f"Journal({os.fspath(self.path)!r})"

    # Opening

    def open(self, n_features: int, model: str) -> None:
        """Create the file, or check that it belongs to this campaign.

        `model` names what answers; a plain callable has no name that could be trusted, and "" is compared with nothing.
        """
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"The journal {self.path} needs the directory {self.path.parent}, which is missing."
            )
        ours = {"format": _FORMAT, "n_features": str(n_features), "model": model, "plan": self.plan}
        with self._told(), self._connect(os.fspath(self.path)) as connection:
            connection.execute("PRAGMA synchronous=NORMAL")
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("BEGIN IMMEDIATE")
                for table in _TABLES:
                    connection.execute(table)
                fields = {**ours, "version": _OUR_VERSION, "seed": str(secrets.randbits(62))}
                connection.executemany("INSERT INTO header VALUES (?, ?)", fields.items())
        theirs = self.header()
        for name in ("n_features", "model", "plan"):
            unnamed = name == "model" and not (theirs[name] and ours[name])
            if theirs[name] != ours[name] and not unnamed:
                self.close()
                raise GradsiftError(
                    f"{self.path} was recorded with {name} {theirs[name]!r} and this run has {ours[name]!r}: "
                    "it belongs to another campaign; use another journal."
                )

    def open_to_read(self) -> None:
        """Open a finished or unfinished journal without ever writing to it."""
        if not self.path.is_file():
            raise FileNotFoundError(f"There is no journal {self.path}.")
        # Without a log beside it the file is complete, and then it can be read from a read-only directory too.
        complete = not self.path.with_name(self.path.name + "-wal").exists()
        with self._told():
            self._connect(f"{self.path.resolve().as_uri()}?mode=ro{'&immutable=1' if complete else ''}", uri=True)
        self.header()

    @property
    def is_open(self) -> bool:
        """Whether the file is open."""
        return self._connection is not None

    def close(self) -> None:
        """Close the file; the journal can be opened again."""
        if self._connection is not None:
            self._closer()
            self._connection = None

    def _connect(self, address: str, *, uri: bool = False) -> sqlite3.Connection:
        self.close()
        connection = sqlite3.connect(address, uri=uri, check_same_thread=False)  # the oracle's lock guards it
        self._connection, self._closer = connection, weakref.finalize(self, connection.close)
        return connection

    @property
    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise GradsiftError(f"The journal {self.path} is closed; make a new Oracle on it.")
        return self._connection

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Turn sqlite's errors into a sentence that names the file."""
        try:
            yield
        except sqlite3.Error as problem:
            raise GradsiftError(f"{self.path} cannot be used as a journal: {problem}.") from problem

    # Reading

    def header(self) -> dict[str, str]:
        """Return what the file says about its campaign: n_features, model, plan, version, seed."""
        with self._told():
            fields = dict(self._open.execute("SELECT name, value FROM header").fetchall())
        if fields.get("format") != _FORMAT:
            raise GradsiftError(f"{self.path} is not a journal this gradsift ({_OUR_VERSION}) can read.")
        return fields

    @property
    def n_recorded(self) -> int:
        """Number of answers in the file."""
        with self._told():
            return int(self._open.execute("SELECT count(*) FROM answers").fetchone()[0])

    def replay(self, start: int, rows: Floats) -> Replay:
        """Return the recorded answers to queries ``start, start + 1, ...`` of the campaign.

        Raises
        ------
        GradsiftError
            If a recorded query was about another row than now.
        """
        with self._told():
            found: list[Any] = self._open.execute(
                "SELECT position - ?, row, answer FROM answers WHERE position >= ? AND position < ? ORDER BY position",
                (start, start, start + len(rows)),
            ).fetchall()
        known = np.zeros(len(rows), dtype=np.bool_)
        for i, recorded, _ in found:
            if recorded != digest(rows[i]):
                self._refuse(start + i)
            known[i] = True
        return Replay(known, np.array([np.frombuffer(answer) for _, _, answer in found]))

    def _refuse(self, position: int) -> None:
        version = self.header()["version"]
        other = "" if version == _OUR_VERSION else f" (recorded by gradsift {version}, this is {_OUR_VERSION})"
        raise GradsiftError(
            f"Query {position + 1} differs from the one recorded in {self.path}{other}: the journal belongs to another "
            "campaign (another seed, setting, version or machine); go back to that one or use another journal."
        )

    # Writing

    def append(self, positions: NDArray[np.intp], rows: Floats, answers: Floats) -> None:
        """Record (n, m) answers to the queries at `positions` (n,) of the campaign, all or none."""
        lines = [(int(p), digest(x), y.tobytes()) for p, x, y in zip(positions, rows, answers)]
        try:
            with self._told(), self._open as transaction:
                transaction.executemany("INSERT INTO answers VALUES (?, ?, ?)", lines)
        except GradsiftError as problem:
            if isinstance(problem.__cause__, sqlite3.IntegrityError):
                raise GradsiftError(
                    f"Another run has written to {self.path} since this one began; "
                    "one journal serves one run at a time."
                ) from None
            raise


def digest(row: Floats) -> bytes:
    """Return 16 bytes that stand for the exact bits of a row."""
    return hashlib.blake2b(row.tobytes(), digest_size=16).digest()
