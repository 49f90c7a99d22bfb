"""Expand-and-Cluster (Martinelli, Simsek, Gerstner and Brea 2024): students with too many units agree on some of them.

Units of several such students are put together; those that most students have form tight clusters, the others scatter.
The centres of the tight clusters start a student of the right size, which is polished. The number of units is given
here, as to the other peers.
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from gradsift.geometry import normalize_rows
from rivals import Peer
from rivals._students import begin, learn, polish, unpack


def expand_and_cluster(ask, d, k, rng, per_unknown=3, students=6, factor=2, scale=2.0, cut=0.1, iterations=2000):
    """Return unit rows (k, d)."""
    wide = factor * k
    n = per_unknown * (k * (d + 2) + 1)
    X = rng.standard_normal((n, d))
    y = ask(X)
    units, owner, size = [], [], []
    for i in range(students):
        p, _ = learn(begin(d, wide, scale, rng), X, y, wide, iterations)
        W, b, u, _ = unpack(p, d, wide)
        rows = np.column_stack((W, b))
        units.append(rows * np.sign(u)[:, None])  # tanh is odd: all weights positive
        owner += [i] * wide
        size += list(np.abs(u) * np.linalg.norm(rows, axis=1))
    rows, owner, size = np.vstack(units), np.array(owner), np.array(size)
    label = fcluster(linkage(normalize_rows(rows), "average"), cut, "distance")
    # Clusters by how many students have them, then by the size of their units.
    found = sorted(set(label), key=lambda c: (-len(set(owner[label == c])), -size[label == c].mean()))[:k]
    centres = np.array([np.average(rows[label == c], axis=0, weights=size[label == c]) for c in found])
    missing = k - len(centres)
    if missing:
        centres = np.vstack((centres, rng.standard_normal((missing, d + 1))))
    design = np.column_stack((np.tanh(X @ centres[:, :d].T + centres[:, d]), np.ones(n)))
    weights = np.linalg.lstsq(design, y, rcond=None)[0]
    p, _ = polish(np.concatenate((centres[:, :d].ravel(), centres[:, d], weights)), X, y, k)
    return unpack(p, d, k)[0]


TRIES = tuple({"per_unknown": n, "factor": f, "cut": c} for n in (2, 3, 5) for f in (2, 3) for c in (0.1, 0.3))
PEER = Peer("Expand-and-Cluster", expand_and_cluster, takes="box", tries=TRIES)
