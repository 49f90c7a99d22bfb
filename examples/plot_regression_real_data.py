"""
Sums of sigmoids as a regression on real data
=============================================

The diabetes data of scikit-learn (442 patients, ten columns), fitted as a sum of tanh units and compared with three
peers on held-out rows; then the units themselves, with standard errors.
"""

# %%
# Compare
# -------

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gradsift as gs

warnings.simplefilter("ignore", gs.errors.UncertifiedWarning)  # the verdict is printed below
data = load_diabetes()
X, y = data.data, (data.target - data.target.mean()) / data.target.std()
models = {
    "tanh units (gradsift)": gs.SigmoidCombinationRegressor(max_units=3, random_state=0),
    "ridge": RidgeCV(np.logspace(-2, 3, 20)),
    "MLP": MLPRegressor(
        hidden_layer_sizes=(16,), alpha=10.0, solver="lbfgs", max_iter=2000, random_state=0
    ),
    "gradient boosting": HistGradientBoostingRegressor(
        max_iter=100, learning_rate=0.05, random_state=0
    ),
}
for label, model in models.items():
    errors = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        fitted = make_pipeline(StandardScaler(), model).fit(X[train], y[train])
        errors.append(np.mean((y[test] - fitted.predict(X[test])) ** 2))
    spread = np.std(errors) / np.sqrt(5)
    print(f"{label:22s} held-out mean squared error {np.mean(errors):.3f} +- {spread:.3f}")

# %%
# The units
# ---------
# The verdict says what may be claimed about them with 442 rows.

found = gs.recover((StandardScaler().fit_transform(X), y), random_state=0, max_units=3)
print(found.verdict)
for unit, weight in zip(found.model.units, found.model.weights):
    order = np.argsort(-np.abs(unit))[:4]
    print(
        f"weight {weight:.2f}: "
        + ", ".join(f"{data.feature_names[j]} {unit[j]:+.2f}" for j in order)
    )

gs.plots.unit_errors(found.model, found.standard_errors)
plt.show()
