"""What a box applies at its end and must be undone, and what that leaves of the precision of its answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..arguments import Floats
from ..errors import OracleFailure


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
    # A softmax tells only differences of its inputs: all are taken against the first class.
    logits = np.log(p[:, 1:]) - np.log(p[:, :1])
    return np.asarray(logits[:, 0] if logits.shape[1] == 1 else logits)


_ADDS_UP = 1e-3  # probabilities that were rounded add up to one this closely


class OutputLink(NamedTuple):
    """How outputs (n, m) are made of the sums before them.

    Attributes
    ----------
    name : str
    undo : callable
        Outputs -> the sums, (n, m).
    stretch : callable
        Outputs and the size of their errors, both (n, m) -> the size of the errors of the sums.
    inside : (float, float)
        Outputs lie strictly between these; at the ends the sums are lost.
    redo : callable or None
        A sum -> its output, where one does not depend on the others.
    """

    name: str
    undo: Callable[[Floats], Floats]
    stretch: Callable[[Floats, Floats], Floats]
    inside: tuple[float, float]
    redo: Callable[[Floats], Floats] | None = None

    def sums(self, outputs: Floats, rows: Floats) -> Floats:
        """Return the sums behind the outputs (n, m) at some rows.

        Raises
        ------
        OracleFailure
            Some output is at an end of the range, with the input.
        """
        low, high = self.inside
        lost = ~self.holds(outputs)
        if lost.any():
            i = int(np.argmax(lost))
            raise OracleFailure(
                f"The oracle's outputs must lie strictly between {low:g} and {high:g} to undo link='{self.name}', got "
                f"{np.array2string(outputs[i], precision=6, threshold=6)} for one of {int(lost.sum())} inputs "
                "(first in .partial): stay closer with bounds=, or take the model before its link.",
                rows[i],
            )
        return self.undo(outputs)

    def holds(self, outputs: Floats) -> NDArray[np.bool_]:
        """Say which rows of outputs (n, m) lie inside the range, so that their sums are not lost; (n,)."""
        low, high = self.inside
        return np.asarray(((outputs > low) & (outputs < high)).all(axis=1))

    def errors(self, outputs: Floats, sizes: Floats) -> Floats:
        """Return the errors of the sums if those of the outputs have these sizes, both (n, m)."""
        return self.stretch(outputs, np.broadcast_to(sizes, outputs.shape))


def _is_share(p: Floats) -> bool:
    return bool((np.abs(p.sum(axis=1) - 1) < _ADDS_UP).all())


def _log_odds(p: Floats) -> Floats:
    # log p - log(1 - p), by log1p: for small p the difference 1 - p would round the second term away.
    return np.asarray(np.log(p) - np.log1p(-p))


def _of_log_odds(p: Floats, sizes: Floats) -> Floats:
    # d log(p / (1 - p)) / dp = 1 / (p (1 - p)): errors grow without limit towards both ends.
    return np.asarray(sizes / (p * (1 - p)))


def _centered(z: Floats) -> Floats:
    """Return the logits that add up to zero: a softmax tells only their differences."""
    return np.asarray(z - z.mean(axis=1, keepdims=True))


def _with_mean(sizes: Floats) -> Floats:
    return np.asarray(sizes + sizes.mean(axis=1, keepdims=True))


_LOG_ODDS = OutputLink("logistic", _log_odds, _of_log_odds, (0.0, 1.0), expit)
LINKS = {
    "logistic": _LOG_ODDS,
    "logit": _LOG_ODDS,
    "softmax": OutputLink(  # a probability that rounds to one is known well enough, one that rounds to zero is lost
        "softmax", lambda p: _centered(np.log(p)), lambda p, s: _with_mean(s / p), (0.0, float(np.nextafter(1.0, 2.0)))
    ),
    "log_softmax": OutputLink("log_softmax", _centered, lambda y, s: _with_mean(s), (-np.inf, np.inf)),
    "tanh": OutputLink("tanh", np.arctanh, lambda y, s: s / (1 - y * y), (-1.0, 1.0), np.tanh),
}


def read_link(link: str | None) -> OutputLink | None:
    """Return the link of this name; None for None."""
    if link is None:
        return None
    if link not in LINKS:
        raise ValueError(f"link must be None or one of {', '.join(LINKS)}, got {link!r}.")
    return LINKS[link]


def likely_link(outputs: Floats, far: Floats | None = None) -> str:
    """Say which link some outputs (n, m) look like, and the option that undoes it; "" where they look like none.

    Outputs of inputs `far` out, if there are any, must stay in the range, too, or at its ends.
    """
    if not np.ptp(outputs, axis=0).any():  # a constant looks like nothing
        return ""
    several = outputs.shape[1] > 1
    far = outputs if far is None else far
    if ((outputs > 0) & (outputs < 1)).all() and ((far >= 0) & (far <= 1)).all():
        if several and _is_share(outputs):
            return "outputs are in (0, 1) and add up to one: give link='softmax'"
        return "outputs are in (0, 1): give link='logistic' if they are probabilities"
    if several and (outputs < 0).all() and (far <= 0).all() and _is_share(np.exp(outputs)):
        return "outputs are logarithms of probabilities that add up to one: give link='log_softmax'"
    return ""
