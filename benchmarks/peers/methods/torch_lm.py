"""The package `torch-levenberg-marquardt` on a torch module, all rows at once; the best of several starts."""

from __future__ import annotations

from benchmarks.peers.methods import Peer


def torch_lm(X, y, k, rng, starts=3, steps=60, rate=1.0):
    """Return unit rows (k, d)."""
    import torch
    from torch_levenberg_marquardt.training import LevenbergMarquardtModule

    torch.set_num_threads(1)
    inputs, answers = torch.as_tensor(X), torch.as_tensor(y)[:, None]
    best, least = None, float("inf")
    for _ in range(starts):
        torch.manual_seed(int(rng.integers(2**31)))
        parts = torch.nn.Linear(X.shape[1], k), torch.nn.Tanh(), torch.nn.Linear(k, 1)
        net = torch.nn.Sequential(*parts).double()
        training = LevenbergMarquardtModule(net, learning_rate=rate, solve_method="cholesky")
        for _ in range(steps):
            _, loss, stop, _ = training.training_step(inputs, answers)
            if stop:
                break
        if loss.item() < least:
            best, least = net[0].weight.detach().numpy().copy(), loss.item()
    return best


PEER = Peer(
    "torch-levenberg-marquardt, best of 3", torch_lm, needs=("torch", "torch_levenberg_marquardt"),
    tries=tuple({"rate": rate} for rate in (0.3, 1.0)),
)  # fmt: skip
