"""The paper's method from Gaussian rows, literally, at its defaults."""

from __future__ import annotations

import warnings

import gradsift as gs
from benchmarks.peers.methods import Peer
from gradsift.errors import LowSupportWarning, UncertifiedWarning


def paper_gaussian(X, y, k, rng):
    """Return unit rows (k, d)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)
        warnings.simplefilter("ignore", LowSupportWarning)
        return gs.recover((X, y), k, method="paper", access="gaussian", random_state=rng).model.units


PEER = Peer("paper, Gaussian rows", paper_gaussian)
