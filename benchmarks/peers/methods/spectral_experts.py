"""Spectral experts (Chaganty and Liang 2013) for mixtures of linear regressions.

y^p is regressed on the p-fold products of x, p = 1, 2, 3: the coefficients are the moments M_p of the experts, of low
rank (nuclear norm) since products of features may coincide. M_2 whitens M_3, whose robust eigenvectors are the experts.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from benchmarks.peers.methods import Peer
from gradsift.geometry import normalize_rows


def _moment(X, target, order, penalty, iterations=3000):
    """Regress `target` on the products of `order` columns; return the symmetric tensor of smallest nuclear norm."""
    d = X.shape[1]
    places = list(itertools.combinations_with_replacement(range(d), order))
    counts = np.array([math.factorial(order) / math.prod(math.factorial(p.count(i)) for i in set(p)) for p in places])
    root = np.sqrt(counts)  # coordinates in which lengths are Frobenius norms
    design = np.stack([np.prod(X[:, p], axis=1) for p in places], axis=1) * root
    gram, right = design.T @ design / len(X), design.T @ target / len(X)
    spots = [list({*itertools.permutations(p)}) for p in places]
    step = 1 / np.linalg.eigvalsh(gram)[-1]
    flat, before, tensor = np.zeros(len(places)), np.zeros(len(places)), np.zeros((d,) * order)
    for i in range(iterations if order > 1 else 1):  # accelerated proximal gradient
        ahead = flat + (i / (i + 3)) * (flat - before)
        ahead = ahead - step * (gram @ ahead - right) if order > 1 else np.linalg.solve(gram, right)
        for place, value in zip(spots, ahead / root):
            tensor[tuple(zip(*place))] = value
        if order > 1:
            left, sizes, others = np.linalg.svd(tensor.reshape(d, -1), full_matrices=False)
            tensor = (left * np.maximum(sizes - step * penalty, 0) @ others).reshape(tensor.shape)
        before, flat = flat, np.array([tensor[tuple(zip(*place))].mean() for place in spots]) * root
    for place, value in zip(spots, flat / root):
        tensor[tuple(zip(*place))] = value
    return tensor


def spectral_experts(X, y, k, rng, noise=0.1, penalty=1e-4):
    """Return coefficients (k, d) and shares (k,); `noise` is the variance of the noise, taken as known."""
    first = _moment(X, y, 1, penalty)
    second = _moment(X, y**2 - noise, 2, penalty)
    third = _moment(X, y**3 - 3 * noise * (X @ first), 3, penalty)
    values, vectors = np.linalg.eigh(second)
    values, vectors = np.maximum(values[-k:], 0.01 * values[-1]), vectors[:, -k:]
    whiten, colour = vectors / np.sqrt(values), vectors * np.sqrt(values)
    core = np.einsum("abc,ai,bj,cl->ijl", third, whiten, whiten, whiten, optimize=True)
    experts, shares = [], []
    for _ in range(k):  # robust tensor power method with deflation
        value, vector = max((_power(core, rng) for _ in range(30)), key=lambda pair: pair[0])
        core = core - value * np.einsum("i,j,l->ijl", vector, vector, vector)
        value = float(np.clip(value, 1.0, 10.0))  # one over the root of a share between 1% and 100%
        experts.append(value * (colour @ vector))
        shares.append(1 / value**2)
    return np.array(experts), np.array(shares) / np.sum(shares)


def _power(core, rng, iterations=60):
    vector = rng.standard_normal(len(core))
    for _ in range(iterations):
        vector /= np.linalg.norm(vector) + 1e-300
        vector = np.einsum("ijl,j,l->i", core, vector, vector)
    size = float(np.linalg.norm(vector))
    return size, vector / (size + 1e-300)


def _run(X, y, k, rng):
    return normalize_rows(spectral_experts(X, y, k, rng)[0])


PEER = Peer("spectral experts", _run)
