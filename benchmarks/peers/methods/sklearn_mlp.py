"""scikit-learn's MLPRegressor: tanh, L-BFGS, the best of several starts by its own loss; labels count as -1 and 1."""

from __future__ import annotations

import warnings

from benchmarks.peers.methods import Peer


def sklearn_mlp(X, y, k, rng, starts=5):
    """Return unit rows (k, d)."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor

    how = {"hidden_layer_sizes": (k,), "activation": "tanh", "solver": "lbfgs", "alpha": 0.0, "max_iter": 2000}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = [MLPRegressor(**how, random_state=int(rng.integers(2**31))).fit(X, y) for _ in range(starts)]
    return min(fits, key=lambda net: net.loss_).coefs_[0].T


PEER = Peer("scikit-learn's MLP, best of 5", sklearn_mlp)
