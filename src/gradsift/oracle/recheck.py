"""Asking a few recorded rows again, when a campaign goes on: does the same model still answer?

A journal can be kept from another model only where the model has a name. Many have none, or keep it while they change:
a server, a function that loads its weights from a file. So a few recorded rows are asked again and compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..checking import Floats
from ..errors import GradsiftError

__all__ = ["Recheck"]

Ask = Callable[[Floats], Floats]

_SAME = 1e-6  # relative difference that batches, threads and devices may make in single precision (guess)
_NOISE = 30.0  # standard deviations of an answer; beyond, it is no noise (guess)
_COPIES = 4  # further copies of a row, asked together and one by one, before it is the reason of a refusal


@dataclass(frozen=True)
class Recheck:
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
        chosen = self._among(start, known)
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

    def _among(self, start: int, known: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return which of the known rows to ask again: the first, the last, and more of the early ones between."""
        if not (self.n_rows and self.n_recorded):
            return np.empty(0, dtype=np.intp)
        share = np.linspace(0, 1, self.n_rows) ** 2 if self.n_rows > 1 else np.ones(1)
        wanted = np.unique((share * (self.n_recorded - 1)).astype(np.intp)) - start
        wanted = wanted[(wanted >= 0) & (wanted < len(known))]
        return np.asarray(wanted[known[wanted]])


def _apart(old: Floats, fresh: Floats, size: Floats, spread: Floats) -> NDArray[np.bool_]:
    """Return for each row whether recorded and fresh answers differ by more than rounding and noise."""
    same = np.maximum(_SAME * (np.abs(old) + np.abs(fresh) + size), _NOISE * spread)
    return np.asarray((np.abs(old - fresh) > same).any(axis=-1))


def _refuse(path: object, position: int, old: Floats, fresh: Floats) -> None:
    j = int(np.argmax(np.abs(old - fresh)))
    output = f" in output {j + 1}" if len(old) > 1 else ""
    raise GradsiftError(
        f"{path} records {old[j]:.9g}{output} as the answer to query {position + 1}, and now it is {fresh[j]:.9g}: "
        "another model has written this journal; use another one (recheck=0 believes it)."
    )
