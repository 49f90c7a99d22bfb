"""Recursive feature machines (the package `xrfm`): the span from the average outer product of fitted gradients."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.methods import Peer


def xrfm_span(X, y, k, rng, rows=4000, bandwidth=10.0, iterations=5):
    """Return k rows that span the units' subspace, from a kernel fit to at most `rows` rows, a fifth held out."""
    import torch
    from xrfm import RFM

    torch.set_num_threads(1)
    order = rng.permutation(len(X))[:rows]
    X, y = torch.as_tensor(X[order], dtype=torch.float32), torch.as_tensor(y[order, None], dtype=torch.float32)
    held = len(X) // 5
    model = RFM(kernel="l2", bandwidth=bandwidth, device="cpu", iters=iterations, diag=False, verbose=False)
    model.fit((X[held:], y[held:]), (X[:held], y[:held]), iters=iterations, reg=1e-3, get_agop_best_model=True)
    outer = np.asarray(model.agop_best_model, dtype=np.float64)
    return np.linalg.eigh(outer)[1][:, -k:].T


PEER = Peer(
    "xRFM, gradient outer product", xrfm_span, returns="span", needs=("torch", "xrfm", "tqdm"),
    tries=tuple({"bandwidth": width} for width in (3.0, 10.0, 30.0)),
)  # fmt: skip
