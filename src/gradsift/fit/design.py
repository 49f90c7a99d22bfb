"""Which of many candidate inputs are worth asking? Greedy by information; pools and criteria differ."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from ..arguments import Floats


class DesignState(NamedTuple):
    """What is known once some candidates are asked.

    root : (P, P) array; ``root @ root.T`` is the covariance of the parameters
    seen : (m, P) array; derivatives of the candidates' answers, in units of their noise, times `root`
    """

    root: Floats
    seen: Floats

    def gains(self, along: Floats) -> Floats:
        """Return by how much each candidate lowers the variance of a combination of parameters, (m,).

        Or of several ones, (q, m). `along` are their rows times `root`, (P,) or (q, P). O(q m P) flops.
        """
        return np.asarray(((self.seen @ along.T) ** 2).T / (1 + (self.seen**2).sum(axis=1)))

    def after(self, candidate: int) -> DesignState:
        """Return the state with the answer of one candidate. O((m + P) P) flops."""
        # Potter's update of the root, not of the covariance: standard errors may shrink by many orders of magnitude.
        heard = self.seen[candidate]
        total = 1 + float(heard @ heard)
        share = heard / (total + np.sqrt(total))
        return DesignState(
            self.root - np.outer(self.root @ heard, share), self.seen - np.outer(self.seen @ heard, share)
        )


def best_rows(rows: Floats, root: Floats, n: int, combinations: Any, sizes: Any) -> NDArray[np.intp]:
    """Return the numbers of n different candidates that lower a sum of variances most, one after the other.

    Parameters
    ----------
    rows : (m, P) array
        Derivatives of the candidates' answers in units of their noise.
    root : (P, P) array
        ``root @ root.T`` is the covariance so far.
    combinations, sizes : (q,) arrays
        Numbers of the parameters that count, and a factor for each.
    """
    state = DesignState(root, rows @ root)
    chosen = np.empty(n, dtype=np.intp)
    for i in range(n):
        drops = state.gains(sizes[:, None] * state.root[combinations]).sum(axis=0)
        drops[chosen[:i]] = -1.0
        chosen[i] = int(np.argmax(drops))
        state = state.after(int(chosen[i]))
    return chosen


def independent_rows(rows: Floats, n: int) -> NDArray[np.intp]:
    """Return the numbers of n rows of (m, P), each the longest beside those before.

    They are what :class:`DesignState` would choose for all parameters at once where answers have no noise.
    """
    # A QR factorisation with column pivoting removes what is along the rows taken already.
    return np.asarray(qr(rows.T, mode="r", pivoting=True, check_finite=False)[1][:n])
