"""
Open a classifier that only decides
===================================

``predict`` says nothing but the class: one answer is one bit. The boundary between the classes is all that shows, and
it is enough: gradsift finds the hidden units from where the decision changes, up to one positive factor.
"""

# %%
# Train
# -----

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

import gradsift as gs

data = load_breast_cancer()
X, y = StandardScaler().fit_transform(data.data), np.asarray(data.target_names)[data.target]
network = MLPClassifier(
    (5,), activation="relu", solver="lbfgs", alpha=1.0, max_iter=2000, random_state=0
).fit(X, y)

# %%
# Open
# ----
# The box answers with words, and never with a number.

oracle = gs.oracle.from_sklearn(network, output="predict")
print(gs.forecast(30, 5, answers="decisions"))
found = gs.recover(oracle, random_state=0)
print(found.verdict)
print(f"{found.n_queries} queries, {found.n_queries / (5 * 31 + 30):.0f} for each unknown")

# %%
# Compare
# -------
# Outputs are known up to one positive factor: the last layer has length one. Decisions are the same.

match = gs.match_units(found.network.layers[0].weights, network.coefs_[0].T)
print(f"largest error of a direction: {match.max_error:.1e}")
print(f"decided alike: {found.network.agreement(oracle, X):.4f} of the table")

# %%
# The boundary and its bends
# --------------------------
# In a plane the boundary is straight between the hyperplanes of units (thin lines), and bends where it crosses one.

(W, b), _ = found.network.layers
start = X[y == "benign"].mean(axis=0)
across = X[y == "malignant"].mean(axis=0) - start
rng = np.random.default_rng(4)
plane = np.linalg.qr(np.stack([across, rng.standard_normal(30)]).T)[0].T * 4
s, t = np.meshgrid(np.linspace(-3, 3, 300), np.linspace(-3, 3, 300))
grid = start + 0.5 * across + s.reshape(-1, 1) * plane[0] + t.reshape(-1, 1) * plane[1]
classes = (network.predict(grid) == "benign").reshape(s.shape)
fig, axes = plt.subplots(figsize=(5.4, 5))
axes.contourf(s, t, classes, levels=[-0.5, 0.5, 1.5], colors=["#f3d9c9", "#cfe0ee"])
axes.contour(s, t, found.network.predict(grid).reshape(s.shape), levels=[0.0], colors="black")
for unit, offset in zip(W, b):
    axes.contour(
        s, t, (grid @ unit + offset).reshape(s.shape), levels=[0.0], colors="gray", linewidths=0.6
    )
axes.set(title="decisions (colours), boundary found (black), units (gray)", xticks=[], yticks=[])
plt.show()
