"""EM (Dempster, Laird and Rubin) for a mixture of logistic classifiers and for a mixture of linear regressions."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.methods import Peer


def mixture_of_classifiers(X, y, k, rng, starts=3, iterations=200):
    """Return unit rows (k, d) of the best of `starts` runs on labels -1, 1; one Newton step per M-step."""
    best, best_likelihood = None, -np.inf
    for _ in range(starts):
        A, share = rng.standard_normal((k, X.shape[1])), np.full(k, 1 / k)
        likelihood = -np.inf
        for _ in range(iterations):
            chance = 1 / (1 + np.exp(-2 * y[:, None] * (X @ A.T)))  # (n, k): P(y | x, classifier)
            joint = share * chance
            total = joint.sum(axis=1)
            before, likelihood = likelihood, float(np.log(total).sum())
            if likelihood - before < 1e-3:
                break
            weight = joint / total[:, None]  # E-step
            share = weight.mean(axis=0)
            for j in range(k):  # M-step: weighted logistic regression, one Newton step
                p = chance[:, j]
                gradient = (2 * weight[:, j] * (1 - p) * y) @ X
                curvature = (X * (4 * weight[:, j] * p * (1 - p))[:, None]).T @ X
                A[j] += np.linalg.solve(curvature + 1e-6 * len(y) * np.eye(X.shape[1]), gradient)
        if likelihood > best_likelihood:
            best, best_likelihood = A.copy(), likelihood
    return best / np.linalg.norm(best, axis=1, keepdims=True)


def mixture_of_regressions(X, y, k, rng, start=None, noise=0.1, iterations=300):
    """Return coefficients (k, d) and shares (k,) of y = <beta_h, x> + noise; `noise` is the variance."""
    B = rng.standard_normal((k, X.shape[1])) if start is None else start.copy()
    share = np.full(k, 1 / k)
    for _ in range(iterations):
        residual = y[:, None] - X @ B.T  # (n, k)
        logs = np.log(share) - residual**2 / (2 * noise)
        weight = np.exp(logs - logs.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        share = np.maximum(weight.mean(axis=0), 1e-6)
        before = B.copy()
        for j in range(k):
            weighted = X * weight[:, [j]]
            B[j] = np.linalg.solve(weighted.T @ X + 1e-8 * len(y) * np.eye(X.shape[1]), weighted.T @ y)
        if np.abs(B - before).max() < 1e-6:
            break
    return B, share


PEER = Peer("EM, mixture of classifiers", mixture_of_classifiers, answers=("labels",))
