"""The paper's method with a value oracle, literally, at its defaults."""

from __future__ import annotations

import warnings

import gradsift as gs
from benchmarks.peers.methods import SIGMOIDS, Peer
from gradsift.errors import UncertifiedWarning


def paper_oracle(ask, box, rng):
    """Return unit rows (k, d)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)
        oracle = gs.Oracle(ask, box.d)
        return gs.recover(oracle, box.k, method="paper", activation=box.activation, random_state=rng).model.units


PEER = Peer(
    "paper, value oracle", paper_oracle, takes="box",
    opens=lambda box: box.activation in SIGMOIDS and len(box.widths) == 1,
)  # fmt: skip
