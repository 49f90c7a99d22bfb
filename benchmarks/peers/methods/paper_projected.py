"""The paper's method from projected rows, literally, at its defaults."""

from __future__ import annotations

import warnings

import gradsift as gs
from benchmarks.peers.methods import Peer
from gradsift.errors import LowSupportWarning, UncertifiedWarning


def paper_projected(X, y, k, rng):
    """Return unit rows (k, d)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)
        warnings.simplefilter("ignore", LowSupportWarning)
        return gs.recover((X, y), k, method="paper", access="projected", random_state=rng).model.units


PEER = Peer("paper, projected rows", paper_projected)
