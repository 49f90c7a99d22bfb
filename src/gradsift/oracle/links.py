"""Undoing the output link of a classifier: from probabilities back to sums of hidden units."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checking import Floats
from ..errors import OracleFailure

__all__ = ["log_odds"]


def log_odds(probabilities: Any, rows: Floats) -> Floats:
    """Return the logits behind (n,), (n, 2) or (n, m) probabilities, relative to the first class.

    One column is the probability of the second of two classes, and gives (n,) values; so do two columns. m > 2
    columns give (n, m - 1): ``log p_j - log p_0``, which a softmax layer makes of its m inputs.

    Notes
    -----
    Far out a probability is rounded to 0 or 1 and the logit is lost: beyond about 36 in float64 and 16 in float32
    altogether, and each unit before that costs 0.4 digits. That is an :class:`OracleFailure` with the input.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim == 2 and p.shape[1] == 1:
        p = p[:, 0]
    if p.ndim == 1:
        p = np.stack([1 - p, p], axis=1)
    certain = ((p <= 0) | (p >= 1)).any(axis=1)
    if certain.any():
        i = int(np.argmax(certain))
        raise OracleFailure(
            f"The classifier's probability is exactly 0 or 1 for {int(certain.sum())} of {len(p)} inputs (first "
            "in .partial), where its logit is lost: stay closer with bounds=, or take the model before its link.",
            rows[i],
        )
    logits = np.log(p[:, 1:]) - np.log(p[:, :1])
    return np.asarray(logits[:, 0] if logits.shape[1] == 1 else logits)
