"""
Extract a scikit-learn MLP through its predictions
==================================================

A network trained on real data (diabetes, bundled with scikit-learn) is recovered from ``.predict`` alone, and its
hidden units are laid beside those found.
"""

# %%
# Train
# -----

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

import gradsift as gs

X, y = load_diabetes(return_X_y=True)
X, y = StandardScaler().fit_transform(X), (y - y.mean()) / y.std()
network = MLPRegressor(
    hidden_layer_sizes=(6,), activation="tanh", alpha=0.1, max_iter=3000, random_state=0
).fit(X, y)

# %%
# Ask
# ---
# The oracle counts queries and could keep a journal; here it just calls ``network.predict``.

oracle = gs.oracle.from_sklearn(network)
found = gs.recover(oracle, random_state=0)
print(found.verdict)

# %%
# Compare
# -------
# The columns of ``coefs_[0]`` are slope times unit. Directions are matched up to order and sign.

hidden = network.coefs_[0].T
match = gs.match_units(found.model.units, hidden)
print(f"{found.n_units} units, {found.n_queries} queries, {found.model.n_parameters} unknowns")
print("direction errors:", np.array2string(match.errors, precision=1))
gap = np.abs(found.model.predict(X) - network.predict(X)).max()
print(f"largest difference of the predictions on the 442 patients: {gap:.1e}")

_, ax = plt.subplots(figsize=(5.2, 4.2), layout="constrained")
weights = found.model.units * found.model.slopes[:, None]
signed = match.signs[:, None] * weights[match.order]
ax.plot(hidden.ravel(), signed.ravel(), "o", markersize=4)
ax.axline((0, 0), slope=1, color="0.6", linewidth=0.8)
ax.set(xlabel="weight inside the MLP", ylabel="weight recovered from its answers", aspect="equal")
plt.show()
assert found.certified
