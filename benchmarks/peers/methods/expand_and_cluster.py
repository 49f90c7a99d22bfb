"""Expand-and-Cluster (Martinelli, Simsek, Gerstner and Brea 2024): students with too many units agree on some of them.

Units of several such students are put together; those that most students have form tight clusters, the others scatter.
The centres of the tight clusters start a student of the right size, which is polished. The number of units is given
here, as to the other peers. One hidden layer.
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from benchmarks.peers.methods import SIGMOIDS, Peer
from benchmarks.peers.methods._students import begin, first_layer, learn, polish, unpack
from gradsift.activations import get_activation
from gradsift.geometry import normalize_rows


def expand_and_cluster(ask, box, rng, per_unknown=3, students=6, factor=2, scale=2.0, cut=0.1, iterations=1000):
    """Return unit rows (k, d)."""
    wide = box._replace(widths=(factor * box.k,))
    X = rng.standard_normal((per_unknown * box.unknowns, box.d))
    y = ask(X)
    units, owner, size = [], [], []
    for i in range(students):
        p, _ = learn(begin(wide, scale, rng), X, y, wide, iterations)
        (W, b), (u, _) = unpack(p, wide)
        rows, u = np.column_stack((W, b)), u[0]
        # A sigmoid is odd but for a constant: all weights positive. One that grows keeps its side.
        units.append(rows * np.sign(u)[:, None] if box.activation in SIGMOIDS else rows)
        owner += [i] * wide.k
        size += list(np.abs(u) * np.linalg.norm(rows, axis=1))
    rows, owner, size = np.vstack(units), np.array(owner), np.array(size)
    label = fcluster(linkage(normalize_rows(rows), "average"), cut, "distance")
    # Clusters by how many students have them, then by the size of their units.
    found = sorted(set(label), key=lambda c: (-len(set(owner[label == c])), -size[label == c].mean()))[: box.k]
    centres = np.array([np.average(rows[label == c], axis=0, weights=size[label == c]) for c in found])
    missing = box.k - len(centres)
    if missing:
        centres = np.vstack((centres, rng.standard_normal((missing, box.d + 1))))
    W, b = centres[:, : box.d], centres[:, box.d]
    active = get_activation(box.activation).value(X @ W.T + b)
    weights = np.linalg.lstsq(np.column_stack((active, np.ones(len(X)))), y, rcond=None)[0]
    p, _ = polish(np.concatenate((W.ravel(), b, weights)), X, y, box)
    return first_layer(p, box)


TRIES = tuple({"per_unknown": n, "factor": f, "cut": c} for n in (3, 8, 20) for f in (2, 4) for c in (0.1, 0.3))
PEER = Peer("Expand-and-Cluster", expand_and_cluster, takes="box", tries=TRIES, opens=lambda box: len(box.widths) == 1)
