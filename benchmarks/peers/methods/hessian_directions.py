"""pHd of statsmodels (principal Hessian directions): the span of the units, not the units."""

from __future__ import annotations

from benchmarks.peers.methods import Peer


def hessian_directions(X, y, k, rng):
    """Return rows (k, d) that span the subspace."""
    from statsmodels.regression.dimred import PHD

    return PHD(y, X).fit().params[:, :k].T


PEER = Peer("pHd, principal Hessian directions", hessian_directions, returns="span", needs=("statsmodels",))
