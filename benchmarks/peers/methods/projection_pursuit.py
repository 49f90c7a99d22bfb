"""Projection pursuit regression of the package `projection-pursuit`: k ridge functions of free shape."""

from __future__ import annotations

from benchmarks.peers.methods import Peer


def projection_pursuit(X, y, k, rng):
    """Return unit rows (k, d): the directions of the ridge functions."""
    from skpp import ProjectionPursuitRegressor

    fit = ProjectionPursuitRegressor(r=k, degree=5, random_state=int(rng.integers(2**31))).fit(X, y)
    return fit._alpha_.T


PEER = Peer("projection pursuit", projection_pursuit, needs=("skpp", "matplotlib"))
