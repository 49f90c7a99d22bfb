"""
Open a ReLU network with two hidden layers
==========================================

A ReLU network is linear in pieces. A kink of the first layer lies on a straight hyperplane, one of the second layer on
a surface that bends wherever it meets the first: that is how the layers are told apart, and how every weight is read.
"""

# %%
# Train
# -----
# A torch network in double precision, on Friedman's function of five inputs and three more that do not matter.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import make_friedman1

import gradsift as gs

X, y = make_friedman1(500, n_features=8, noise=0.5, random_state=0)
X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
torch.manual_seed(0)
module = torch.nn.Sequential(
    torch.nn.Linear(8, 8), torch.nn.ReLU(),
    torch.nn.Linear(8, 6), torch.nn.ReLU(),
    torch.nn.Linear(6, 1), torch.nn.Flatten(0),
).double()  # fmt: skip
rows, target = torch.tensor(X), torch.tensor(y)
steps = torch.optim.Adam(module.parameters(), 1e-2)
for _ in range(300):
    steps.zero_grad()
    torch.nn.functional.mse_loss(module(rows), target).backward()
    steps.step()

# %%
# Open
# ----
# Neither depth nor widths nor the activation are given.

oracle = gs.oracle.from_torch(module)
found = gs.recover(oracle, random_state=0)
print(found.verdict)
print(found.network)
n_parameters = sum(p.numel() for p in module.parameters())
print(f"{found.n_queries} queries, {found.n_queries / n_parameters:.1f} per unknown")

# %%
# Compare
# -------
# Units come in any order, and each may be multiplied by a positive number that its output weights are divided by. So
# rows of the first layer are compared by their directions, offsets included.

weights, offsets = module[0].weight.detach().numpy(), module[0].bias.detach().numpy()
match = gs.match_units(
    np.column_stack(found.network.layers[0]), np.column_stack([weights, offsets])
)
print(f"first layer: largest error of a direction {match.max_error:.0e}")
inside = module(rows).detach().numpy()
outside = found.network.predict(X)
print(f"largest difference of predictions {np.abs(outside - inside).max():.0e}")

# %%
# See
# ---
# A plane through the inputs. Lines are the hyperplanes of the first layer as they were found, white dots on them those
# inside. Each grey is the length of the gradient in a piece; the edges that bend at the lines are the second layer's.

grid = np.linspace(-4, 4, 300)
first, second = np.meshgrid(grid, grid)
plane = np.zeros((first.size, 8))
plane[:, 0], plane[:, 3] = first.ravel(), second.ravel()
slopes = np.gradient(found.network.predict(plane).reshape(first.shape), grid[1] - grid[0])

_, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained")
left.pcolormesh(grid, grid, np.hypot(*slopes), cmap="Greys", rasterized=True)
drawn = (
    (found.network.layers[0], {"colors": "C0", "linewidths": 3.5}),
    ((weights, offsets), {"colors": "white", "linestyles": ":"}),
)
for layer, how in drawn:
    for w, b in zip(*layer):
        left.contour(first, second, first * w[0] + second * w[3] + b, [0], **how)
left.set(
    xlabel="input 0", ylabel="input 3", title="hyperplanes of the first layer", aspect="equal"
)
right.plot(inside, outside, ".", markersize=4)
right.axline((0, 0), slope=1, color="0.6", linewidth=0.8)
right.set(xlabel="network", ylabel="what was found", title="500 training rows", aspect="equal")
plt.show()

# %%
# Take it along
# -------------
# As a torch module, an ONNX file or a scikit-learn regressor.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "found.onnx"
    found.network.to_onnx(path)
    again = gs.oracle.from_onnx(path)(X)
print(f"ONNX file and network differ by {np.abs(again - outside).max():.0e}")
assert found.certified
assert np.abs(outside - inside).max() < 1e-9
