"""SIR of statsmodels (sliced inverse regression): the span of the units, not the units."""

from __future__ import annotations

from benchmarks.peers.methods import Peer


def sliced_means(X, y, k, rng):
    """Return rows (k, d) that span the subspace."""
    from statsmodels.regression.dimred import SlicedInverseReg

    return SlicedInverseReg(y, X).fit().params[:, :k].T


PEER = Peer("SIR, sliced inverse regression", sliced_means, returns="span", needs=("statsmodels",))
