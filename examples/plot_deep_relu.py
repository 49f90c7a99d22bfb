"""
Open a ReLU network of two hidden layers
========================================

The function is straight between the kinks of its units. Those of the first layer lie on hyperplanes; those of the
second on surfaces that bend wherever a unit of the first layer switches. Both are read from exact answers alone.
"""

# %%
# Train
# -----

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch

import gradsift as gs

torch.manual_seed(0)
rng = np.random.default_rng(0)
X = torch.tensor(rng.standard_normal((600, 10)))
y = torch.sin(2 * X[:, :1]) + X[:, 1:2] * X[:, 2:3]
network = torch.nn.Sequential(
    torch.nn.Linear(10, 8),
    torch.nn.ReLU(),
    torch.nn.Linear(8, 6),
    torch.nn.ReLU(),
    torch.nn.Linear(6, 1),
).double()
optimizer = torch.optim.Adam(network.parameters(), 1e-2)
for _ in range(300):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(network(X), y).backward()
    optimizer.step()

# %%
# Open
# ----
# Neither depth nor widths are given. The certificate says what it cannot exclude: units that are active at fewer inputs
# than it has looked at.

oracle = gs.oracle.from_torch(network)
found = gs.recover(oracle, random_state=0)
print(found.verdict)
n_unknowns = sum(p.numel() for p in network.parameters())
print(f"{found.n_queries} queries, {found.n_queries / n_unknowns:.1f} for each unknown")

# %%
# Compare
# -------
# Units come in another order, and each row has length one: a positive factor moves between a unit and the layer above.

fresh = rng.standard_normal((2000, 10))
answers = oracle(fresh)
off = np.abs(found.network.predict(fresh) - answers)
print(f"largest difference of the function: {off.max():.1e}")
true = network[0].weight.detach().numpy()
cosines = found.network.layers[0].weights @ (true / np.linalg.norm(true, axis=1, keepdims=True)).T

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8))
image = axes[0].imshow(cosines, cmap="RdBu", vmin=-1, vmax=1)
axes[0].set(title="first layer: cosines", xlabel="true unit", ylabel="found unit")
fig.colorbar(image, ax=axes[0])
axes[1].plot(answers, found.network.predict(fresh), ".", markersize=3)
axes[1].set(title=f"agreement within {off.max():.0e}", xlabel="box", ylabel="found network")
fig.tight_layout()
plt.show()

# %%
# Export
# ------

module = found.network.to_torch()
print(module)
with tempfile.TemporaryDirectory() as folder:
    found.network.save(Path(folder) / "network.json")
    print(gs.Network.load(Path(folder) / "network.json"))
