"""The paper's method with a value oracle, literally, at its defaults."""

from __future__ import annotations

import warnings

import gradsift as gs
from gradsift.errors import UncertifiedWarning
from rivals import Peer


def paper_oracle(ask, d, k, rng):
    """Return unit rows (k, d)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)
        return gs.recover(gs.Oracle(ask, d), k, method="paper", random_state=rng).model.units


PEER = Peer("paper, value oracle", paper_oracle, takes="box")
