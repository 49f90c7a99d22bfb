"""A torch module trained by Adam on the squared error, all rows at once; the best of several starts."""

from __future__ import annotations

from benchmarks.peers.methods import Peer


def torch_adam(X, y, k, rng, starts=3, steps=1500, rate=0.02):
    """Return unit rows (k, d)."""
    import torch

    torch.set_num_threads(1)
    rows, answers = torch.as_tensor(X), torch.as_tensor(y)
    best, least = None, float("inf")
    for _ in range(starts):
        torch.manual_seed(int(rng.integers(2**31)))
        parts = torch.nn.Linear(X.shape[1], k), torch.nn.Tanh(), torch.nn.Linear(k, 1)
        net = torch.nn.Sequential(*parts).double()
        adam = torch.optim.Adam(net.parameters(), lr=rate)
        falling = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
        for _ in range(steps):
            adam.zero_grad()
            loss = ((net(rows)[:, 0] - answers) ** 2).mean()
            loss.backward()
            adam.step()
            falling.step()
        if loss.item() < least:
            best, least = net[0].weight.detach().numpy().copy(), loss.item()
    return best


RATES = tuple({"rate": rate} for rate in (0.005, 0.02, 0.1))
PEER = Peer("torch, Adam, best of 3", torch_adam, needs=("torch",), tries=RATES)
