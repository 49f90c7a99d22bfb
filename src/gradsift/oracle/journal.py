"""Answers on disk as they come, so that a killed campaign goes on; does the same model still answer?"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import sqlite3
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import Floats
from ..errors import GradsiftError

# Read at run time: importing the package root would look, to the layer contract, like importing all of it.
_OUR_VERSION = str(sys.modules[__name__.partition(".")[0]].__version__)

_FORMAT, _FORMAT_WITHOUT_SEALS = "gradsift.journal 2", "gradsift.journal 1"
_HEADER = "CREATE TABLE header (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
_ANSWERS = (
    "CREATE TABLE answers (position INTEGER PRIMARY KEY, row BLOB NOT NULL, answer BLOB NOT NULL, seal BLOB NOT NULL)"
)
_ANSWERS_WITHOUT_SEALS = _ANSWERS.replace(", seal BLOB NOT NULL", "")
_FIELDS = ("format", "n_features", "model", "plan", "version", "seed")
_MOST_FEATURES = 10**9
_SOURCE = ", source "


class KnownAnswers(NamedTuple):
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
    24 + 8 m bytes per row beside sqlite's own; the rows themselves are not stored. A journal of an earlier version is
    sealed, as it is, when it is first opened for writing.
    """

    def __init__(self, path: str | os.PathLike[str], plan: str = "") -> None:
        self.path, self.plan = Path(path), plan
        self._connection: sqlite3.Connection | None = None
        self._sealed = True

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
        with self._told(), self._open_file(os.fspath(self.path)) as connection:
            connection.execute("PRAGMA synchronous=NORMAL")
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(_HEADER)
                connection.execute(_ANSWERS)
                fields = {**ours, "version": _OUR_VERSION, "seed": str(secrets.randbits(62))}
                connection.executemany("INSERT INTO header VALUES (?, ?)", fields.items())
        self._check_tables()
        if not self._sealed:
            self._add_marks()
        self._check_header(ours)

    def _check_header(self, ours: dict[str, str]) -> None:
        theirs = self.header()
        for name in ("n_features", "model", "plan"):
            if name == "model":
                same = not (theirs[name] and ours[name]) or _same_model(theirs[name], ours[name])
            else:
                same = theirs[name] == ours[name]
            if not same:
                self.close()
                raise GradsiftError(
                    f"{self.path} was recorded with {name} {theirs[name]!r} and this run has {ours[name]!r}: "
                    f"{_cause(theirs[name], ours[name])}; use another journal."
                )

    def _check_tables(self) -> None:
        """Refuse a database that is not a journal, down to its tables: triggers and views could do anything."""
        with self._told():
            found = {str(sql) for (sql,) in self._open.execute("SELECT sql FROM sqlite_master")}
        self._sealed = found == {_HEADER, _ANSWERS}
        if not self._sealed and found != {_HEADER, _ANSWERS_WITHOUT_SEALS}:
            self.close()
            raise GradsiftError(f"{self.path} cannot be used as a journal: its tables are not those of one.")
        self.header()

    def _add_marks(self) -> None:
        """Bring a journal of the first format up to date, all or nothing."""
        with self._told(), self._open as connection:
            connection.create_function("seal", 3, answer_mark, deterministic=True)
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ALTER TABLE answers RENAME TO unsealed")
            connection.execute(_ANSWERS)
            connection.execute(
                "INSERT INTO answers SELECT position, row, answer, seal(position, row, answer) FROM unsealed"
            )
            connection.execute("DROP TABLE unsealed")
            connection.execute("UPDATE header SET value = ? WHERE name = 'format'", (_FORMAT,))
        self._sealed = True

    def open_to_read(self) -> None:
        """Open a finished or unfinished journal without ever writing to it."""
        if not self.path.is_file():
            raise FileNotFoundError(f"There is no journal {self.path}.")
        # Without a log beside it the file is complete, and then it can be read from a read-only directory too.
        complete = not self.path.with_name(self.path.name + "-wal").exists()
        with self._told():
            self._open_file(f"{self.path.resolve().as_uri()}?mode=ro{'&immutable=1' if complete else ''}", uri=True)
        self._check_tables()

    @property
    def is_open(self) -> bool:
        """Whether the file is open."""
        return self._connection is not None

    def close(self) -> None:
        """Close the file; the journal can be opened again."""
        if self._connection is not None:
            self._closer()
            self._connection = None

    def _open_file(self, address: str, *, uri: bool = False) -> sqlite3.Connection:
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
        if fields.get("format") not in (_FORMAT, _FORMAT_WITHOUT_SEALS):
            raise GradsiftError(f"{self.path} is not a journal this gradsift ({_OUR_VERSION}) can read.")
        missing = [name for name in _FIELDS if not isinstance(fields.get(name), str)]
        for name, most in (("n_features", _MOST_FEATURES), ("seed", 2**62)):
            text = str(fields.get(name))
            if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= most):
                missing.append(name)
        if missing:
            raise GradsiftError(f"{self.path} is damaged: its header has no readable {missing[0]!r}.")
        return fields

    @property
    def n_recorded(self) -> int:
        """Number of answers in the file."""
        with self._told():
            return int(self._open.execute("SELECT count(*) FROM answers").fetchone()[0])

    def known_answers(self, start: int, rows: Floats) -> KnownAnswers:
        """Return the recorded answers to queries ``start, start + 1, ...`` of the campaign.

        Raises
        ------
        GradsiftError
            If a recorded query was about another row than now, or if its answer is damaged.
        """
        with self._told():
            found: list[Any] = self._open.execute(
                f"SELECT position - ?, row, answer, {'seal' if self._sealed else 'NULL'} FROM answers "
                "WHERE position >= ? AND position < ? ORDER BY position",
                (start, start, start + len(rows)),
            ).fetchall()
        known = np.zeros(len(rows), dtype=np.bool_)
        length = len(found[0][2]) if found and isinstance(found[0][2], bytes) else 0
        for i, recorded, answer, sealed in found:
            self._check_answer(start + i, recorded, answer, sealed, length)
            if recorded != row_mark(rows[i]):
                self._refuse(start + i)
            known[i] = True
        return KnownAnswers(known, np.array([np.frombuffer(answer) for _, _, answer, _ in found]))

    def _check_answer(self, position: int, row: Any, answer: Any, sealed: Any, length: int) -> None:
        """Refuse an answer that is not the one that was written."""
        whole = isinstance(row, bytes) and isinstance(answer, bytes) and len(answer) == length and len(answer) % 8 == 0
        whole = whole and bool(answer) and bool(np.isfinite(np.frombuffer(answer)).all())
        if not whole or (self._sealed and sealed != answer_mark(position, row, answer)):
            raise GradsiftError(
                f"{self.path} is damaged: the answer to query {position + 1} is not the one that was recorded (its "
                "checksum differs); go back to a copy of the file, or begin with a new journal."
            )

    def _refuse(self, position: int) -> None:
        version = self.header()["version"]
        other = "" if version == _OUR_VERSION else f" (recorded by gradsift {version}, this is {_OUR_VERSION})"
        raise GradsiftError(
            f"Query {position + 1} differs from the one recorded in {self.path}{other}: the journal belongs to another "
            "campaign (another seed, setting, version or machine); go back to that one or use another journal."
        )

    # Writing

    def write(self, positions: NDArray[np.intp], rows: Floats, answers: Floats) -> None:
        """Record (n, m) answers to the queries at `positions` (n,) of the campaign, all or none."""
        lines = []
        for position, x, y in zip(positions.tolist(), rows, answers):
            row, answer = row_mark(x), y.tobytes()
            lines.append((position, row, answer, answer_mark(position, row, answer)))
        try:
            with self._told(), self._open as transaction:
                transaction.executemany("INSERT INTO answers VALUES (?, ?, ?, ?)", lines)
        except GradsiftError as problem:
            if isinstance(problem.__cause__, sqlite3.IntegrityError):
                raise GradsiftError(
                    f"Another run has written to {self.path} since this one began; "
                    "one journal serves one run at a time."
                ) from None
            raise


def row_mark(row: Floats) -> bytes:
    """Return 16 bytes that stand for the exact bits of a row."""
    return hashlib.blake2b(row.tobytes(), digest_size=16).digest()


def answer_mark(position: int, row: bytes, answer: bytes) -> bytes:
    """Return 8 bytes that stand for what was recorded: another bit anywhere gives others."""
    return hashlib.blake2b(b"%d " % position + row + answer, digest_size=8).digest()


def _same_model(theirs: str, ours: str) -> bool:
    """Compare names; a name of an earlier version came without the digest of its source."""
    return theirs == ours or (_SOURCE not in theirs and theirs == ours.partition(_SOURCE)[0])


def _cause(theirs: str, ours: str) -> str:
    name = ours.partition(_SOURCE)[0]
    if _SOURCE in theirs and name == theirs.partition(_SOURCE)[0]:
        return "its source has changed since, and recorded answers of another function would pass for this one's"
    return "it belongs to another campaign"


def with_source(name: str, content: bytes) -> str:
    """Return the name of a model that is a program, with a digest of its source."""
    return f"{name}{_SOURCE}{hashlib.blake2b(content, digest_size=16).hexdigest()}"


Ask = Callable[[Floats], Floats]

_SAME = 1e-6  # relative difference that batches, threads and devices may make in single precision (guess)
_NOISE = 30.0  # standard deviations of an answer; beyond, it is no noise (guess)
_COPIES = 4  # further copies of a row, asked together and one by one, before it is the reason of a refusal


@dataclass(frozen=True)
class AskAgain:
    """Which recorded rows to ask again.

    Attributes
    ----------
    n_rows : int
        Rows to ask again in all; 0 for none.
    n_recorded : int
        Answers in the journal when the campaign was taken up.
    """

    n_rows: int
    n_recorded: int

    def compare(
        self, path: object, start: int, rows: Floats, known: NDArray[np.bool_], recorded: Floats, ask: Ask
    ) -> None:
        """Ask some of the rows that are known again, and refuse a journal that another model wrote.

        Parameters
        ----------
        path : path
            Of the journal.
        start : int
            Position of the first row.
        rows, known : (n, d) and (n,) arrays
        recorded : (n_known, m) array
            What the journal holds.
        ask : callable
            From rows to (n, m) fresh answers.

        Notes
        -----
        Each row is asked together with the others and by itself. Answers that differ are noise or rounding, and the
        recorded one may be as far off as thirty times that. Labels and counts are not compared: one says nothing.
        """
        chosen = self._choose(start, known)
        if not chosen.size:
            return
        old = recorded[np.cumsum(known)[chosen] - 1]
        fresh = np.stack([ask(rows[chosen]), np.concatenate([ask(rows[i : i + 1]) for i in chosen])])  # (2, n, m)
        if all((answers == np.round(answers)).all() for answers in (old, fresh)):
            return
        size = np.median(np.abs(fresh), axis=(0, 1))  # (m,)
        spread = np.sqrt(np.mean((fresh[0] - fresh[1]) ** 2, axis=0))  # of noise, times the root of two
        for i in np.flatnonzero(_apart(old, fresh.mean(axis=0), size, spread)):
            row = rows[chosen[i] : chosen[i] + 1]
            more = np.concatenate(
                [fresh[:, i], ask(np.repeat(row, _COPIES, axis=0)), *(ask(row) for _ in range(_COPIES))]
            )
            if _apart(old[i], more.mean(axis=0), size, more.std(axis=0)):
                _refuse(path, start + int(chosen[i]), old[i], more.mean(axis=0))

    def _choose(self, start: int, known: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return which of the known rows to ask again: the first, the last, and more of the early ones between."""
        if not (self.n_rows and self.n_recorded):
            return np.empty(0, dtype=np.intp)
        # Squares put more rows early: another model is told by the first answers, before later ones cost anything.
        share = np.linspace(0, 1, self.n_rows) ** 2 if self.n_rows > 1 else np.ones(1)
        wanted = np.unique((share * (self.n_recorded - 1)).astype(np.intp)) - start
        wanted = wanted[(wanted >= 0) & (wanted < len(known))]
        return np.asarray(wanted[known[wanted]])


def _apart(old: Floats, fresh: Floats, size: Floats, spread: Floats) -> NDArray[np.bool_]:
    """Return for each row whether recorded and fresh answers differ by more than rounding and noise."""
    # Rounding is relative to an answer or to the usual size of its output; noise is what two fresh answers differ by.
    same = np.maximum(_SAME * (np.abs(old) + np.abs(fresh) + size), _NOISE * spread)
    return np.asarray((np.abs(old - fresh) > same).any(axis=-1))


def _refuse(path: object, position: int, old: Floats, fresh: Floats) -> None:
    j = int(np.argmax(np.abs(old - fresh)))
    output = f" in output {j + 1}" if len(old) > 1 else ""
    raise GradsiftError(
        f"{path} records {old[j]:.9g}{output} as the answer to query {position + 1}, and now it is {fresh[j]:.9g}: "
        "another model has written this journal; use another one (recheck=0 believes it)."
    )
