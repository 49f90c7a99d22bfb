"""
Open a ReLU network
===================

A ReLU network is linear in cells, and its gradient jumps where a path crosses the hyperplane of a unit. gradsift walks
such a path far out and reads the jumps. What the activation is, it is not told.
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
    hidden_layer_sizes=(10,), activation="relu", alpha=0.1, max_iter=3000, random_state=0
).fit(X, y)

# %%
# Open
# ----
# The first queries tell that the function grows differently to opposite sides, the next ones that its kinks are sharp.

oracle = gs.oracle.from_sklearn(network)
found = gs.recover(oracle, random_state=0)
print(found.verdict)
print(
    f"{found.model.activation}, {found.n_units} units, linear term: {found.model.has_linear_term}"
)

# %%
# Compare
# -------
# ReLU has no scale: only the product of a unit's weight and slope, its direction and the distance of its hyperplane can
# be known. The found units have slope one.

true = network.coefs_[0].T
match = gs.match_units(found.model.units, true)
print(f"largest error of a direction: {match.max_error:.1e}")
print(
    f"largest difference of predictions: {np.abs(found.model.predict(X) - network.predict(X)).max():.1e}"
)

# %%
# A walk through the cells
# ------------------------
# Along a line the function is straight between kinks; the dots are the kinks of the found units.

way = np.random.default_rng(1).standard_normal(X.shape[1])
t = np.linspace(-6, 6, 400)
kinks = -found.model.offsets / (found.model.units @ way)
kinks = kinks[np.abs(kinks) < 6]
plt.plot(t, network.predict(t[:, None] * way), label="network")
plt.plot(kinks, found.model.predict(kinks[:, None] * way), "o", label="kinks of the found units")
plt.xlabel("place along a line")
plt.legend()
plt.show()
