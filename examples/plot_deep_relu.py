"""
Open a ReLU network with two hidden layers
==========================================

A ReLU network is linear in pieces. A kink of the first layer lies on a straight hyperplane, one of the second layer on
a surface that bends wherever it meets the first: that is how the layers are told apart, and how every weight is read.
"""

# %%
# Train a torch network
# ---------------------
# In double precision, on Friedman's function of five inputs and three more that do not matter.

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import make_friedman1

import gradsift as gs

X, y = make_friedman1(500, n_features=8, noise=0.5, random_state=0)
X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
torch.manual_seed(0)
layers = [torch.nn.Linear(n, k) for n, k in ((8, 8), (8, 6), (6, 1))]
relu, flat = torch.nn.ReLU(), torch.nn.Flatten(0)
module = torch.nn.Sequential(layers[0], relu, layers[1], relu, layers[2], flat).double()
steps = torch.optim.Adam(module.parameters(), 1e-2)
for _ in range(300):
    steps.zero_grad()
    torch.nn.functional.mse_loss(module(torch.tensor(X)), torch.tensor(y)).backward()
    steps.step()

# %%
# Open it, and take it along
# --------------------------
# Neither depth nor widths nor the activation are given. What was found is a torch module, an ONNX file or a
# scikit-learn regressor, as you like.

found = gs.recover(gs.oracle.from_torch(module), random_state=0)
print(found.verdict)
print(f"{found.network}, {found.n_queries / found.network.n_parameters:.1f} queries per unknown")
inside, outside = (
    module(torch.tensor(X)).detach().numpy(),
    found.network.to_torch()(torch.tensor(X)),
)
outside = outside.detach().numpy()
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
true = (layers[0].weight.detach().numpy(), layers[0].bias.detach().numpy())
for layer, color, style, width in (
    (found.network.layers[0], "C0", "-", 3.5), (true, "white", ":", 1.5),
):  # fmt: skip
    for w, b in zip(*layer):
        place = first * w[0] + second * w[3] + b
        left.contour(first, second, place, [0], colors=color, linestyles=style, linewidths=width)
left.set(
    xlabel="input 0", ylabel="input 3", title="hyperplanes of the first layer", aspect="equal"
)
right.plot(inside, outside, ".", markersize=4)
right.axline((0, 0), slope=1, color="0.6", linewidth=0.8)
right.set(xlabel="network", ylabel="what was found", title="500 training rows", aspect="equal")
plt.show()
assert found.certified
assert np.abs(outside - inside).max() < 1e-9
