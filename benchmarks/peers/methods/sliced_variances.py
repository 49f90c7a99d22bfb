"""SAVE of statsmodels (sliced average variances): the span of the units, not the units."""

from __future__ import annotations

from benchmarks.peers.methods import Peer


def sliced_variances(X, y, k, rng):
    """Return rows (k, d) that span the subspace."""
    from statsmodels.regression.dimred import SAVE

    return SAVE(y, X).fit().params[:, :k].T


PEER = Peer("SAVE, sliced average variances", sliced_variances, returns="span", needs=("statsmodels",))
