"""R's `nnet`: logistic units, a linear output, BFGS; the best of several starts."""

from __future__ import annotations

from benchmarks.peers.methods import Peer
from benchmarks.peers.methods._r import units_from_r

_SCRIPT = r"""
fits <- lapply(1:5, function(i) nnet::nnet(X, y, size = k, linout = TRUE, maxit = 1000, rang = 0.5, trace = FALSE))
best <- fits[[which.min(sapply(fits, function(fit) fit$value))]]
units <- matrix(best$wts[1:(k * (ncol(X) + 1))], nrow = k, byrow = TRUE)[, -1, drop = FALSE]
"""


def r_nnet(X, y, k, rng):
    """Return unit rows (k, d)."""
    return units_from_r(_SCRIPT, X, y, k, rng)


PEER = Peer("R, nnet, best of 5", r_nnet, needs=("R nnet",))
