"""Gradients by central differences at random far points, long ones clustered: the paper's idea without smoothing."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.methods import SIGMOIDS, Peer
from gradsift import DirectionalKMeans
from gradsift.geometry import normalize_rows


def finite_differences(ask, box, rng, points_per_unit=100, reach=80.0, kept=0.03, step=1e-3):
    """Return unit rows (k, d), from 2 d queries at each point."""
    d, k, m = box.d, box.k, points_per_unit * box.k
    points = reach * rng.standard_normal((m, d)) / np.sqrt(d)
    shifts = step * np.eye(d)
    gradients = np.empty((m, d))
    for i in range(d):
        gradients[:, i] = (ask(points + shifts[i]) - ask(points - shifts[i])) / (2 * step)
    norms = np.linalg.norm(gradients, axis=1)
    longest = np.argsort(-norms)[: max(2 * k, round(kept * m))]
    directions = normalize_rows(gradients[longest])
    return DirectionalKMeans(k, random_state=int(rng.integers(2**31))).fit(directions).cluster_centers_


TRIES = tuple({"reach": r, "kept": s} for r in (5.0, 20.0, 80.0) for s in (0.03, 0.1, 0.3))
PEER = Peer(
    "finite differences, clustered", finite_differences, takes="box", tries=TRIES,
    opens=lambda box: box.activation in SIGMOIDS,
)  # fmt: skip
