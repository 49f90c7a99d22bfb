"""Answers that are words or truth values: a number stands for each class, and a table keeps its name."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import Floats
from .retry import read_answers

_WORDS = 2.0**48  # numbers from here on stand for words; all of them are exact


class LabelNames:
    """Reads replies, and remembers by which number it has called each class.

    The number of a word is a hash of it, so that a journal, which keeps numbers, means the same in the next run.

    Parameters
    ----------
    known : sequence, optional
        Names of the classes 0, 1, ..., where whoever answers says so.
    """

    def __init__(self, known: Sequence[Any] | None = None) -> None:
        self.names: dict[float, Any] = {} if known is None else dict(enumerate(map(_plain, known)))

    def without_name(self, values: Floats) -> NDArray[np.bool_]:
        """Say which numbers, (n,), stand for words that nobody has said in this run."""
        return np.array([value >= _WORDS and value not in self.names for value in values.tolist()], dtype=np.bool_)

    def has_names(self, values: Floats) -> bool:
        """Say whether numbers stand for words, truth values or classes that were named beforehand."""
        return bool(self.names) or bool((values >= _WORDS).all())

    def read(self, reply: Any, n_rows: int) -> Floats:
        """Return the reply to `n_rows` rows as an (n_rows, m) matrix, as :func:`read_answers` does for numbers."""
        try:
            return read_answers(self._with_names(reply), n_rows)
        except TypeError:
            words = _text_labels(reply, n_rows)
            if words is None:
                raise
        self.names.update({_number(word): word for word in words if word is not None})
        return np.array([np.nan if word is None else _number(word) for word in words])[:, None]

    def _with_names(self, reply: Any) -> Any:
        if getattr(getattr(reply, "dtype", None), "kind", "") == "b" and not self.names:
            self.names.update({0.0: False, 1.0: True})
        return reply

    def names_of(self, values: Floats) -> NDArray[Any]:
        """Return the names of the classes with these numbers; a number without a name stays one."""
        return np.array([self.names.get(value, _plain(value)) for value in np.asarray(values).tolist()])


def _plain(value: Any) -> Any:
    """Return a class as Python has it, so that a file can keep it; whole numbers without a fraction."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _number(word: str) -> float:
    return _WORDS + float(int.from_bytes(hashlib.blake2b(word.encode(), digest_size=6).digest(), "big"))


def _text_labels(reply: Any, n_rows: int) -> list[str | None] | None:
    """Return a reply as so many words, None for those that are missing; None where it is anything else."""
    try:
        entries = np.asarray(reply, dtype=object).reshape(-1).tolist()
    except ValueError:
        return None
    if len(entries) != n_rows or not all(entry is None or isinstance(entry, (str, bytes)) for entry in entries):
        return None
    if all(entry is None for entry in entries):
        return None
    return [entry.decode("utf-8", "replace") if isinstance(entry, bytes) else entry for entry in entries]
