"""R's `ppr`: projection pursuit regression, Friedman's own program; k ridge functions of free shape."""

from __future__ import annotations

from benchmarks.peers.methods import Peer
from benchmarks.peers.methods._r import units_from_r

_SCRIPT = r"""
units <- t(stats::ppr(X, y, nterms = k, max.terms = k + 3, optlevel = 3)$alpha)
"""


def r_ppr(X, y, k, rng):
    """Return unit rows (k, d)."""
    return units_from_r(_SCRIPT, X, y, k, rng)


PEER = Peer("R, ppr", r_ppr, needs=("R stats",))
