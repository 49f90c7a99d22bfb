"""Reading what a black box returned."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checking import Floats, moderate_columns

__all__ = ["read_reply"]


def read_reply(reply: Any, n_rows: int) -> Floats:
    """Return the reply to `n_rows` rows as an (n_rows, m) matrix, or say in one sentence what is wrong with it.

    None and NaN entries come back as NaN; whether to ask again for them is not decided here.
    """
    try:
        values = np.asarray(reply)
        if values.dtype == object:
            values = values.astype(np.float64)  # None becomes NaN
    except OverflowError:  # whole numbers have no limit in Python and in JSON
        raise ValueError("The oracle must return numbers within double precision, got one beyond 1e308.") from None
    except (TypeError, ValueError, RuntimeError) as problem:  # ragged lists, text among numbers, tensors with gradients
        words = str(problem).partition(":")[0][:200]  # what follows quotes the reply, which may be anything
        raise TypeError(f"The oracle must return real numbers, got {type(reply).__name__} ({words}).") from None
    if values.dtype.kind not in "biuf":
        raise TypeError(f"The oracle must return real numbers, got dtype {values.dtype}.")
    if values.ndim == 0 and n_rows == 1:
        values = values.reshape(1)
    if values.ndim not in (1, 2) or values.shape[0] != n_rows or values.size == 0:
        raise ValueError(
            f"The oracle must return shape ({n_rows},) or ({n_rows}, m) for {n_rows} rows, got shape {values.shape}."
        )
    numbers = np.asarray(values, dtype=np.float64).reshape(n_rows, -1)
    moderate_columns("The oracle's answers", "output", numbers)
    return numbers
