"""
Open a black box
================

A function of five inputs hides four tanh units. Nothing is known but its values, and every value costs a query.
"""

# %%
# The black box
# -------------
# Any callable from an (n, d) array to n numbers will do.

import matplotlib.pyplot as plt
import numpy as np

import gradsift as gs

truth = gs.simulate.random_combination(n_features=5, n_units=4, slope=2.0, offsets=True, rng=3)
oracle = gs.Oracle(truth.predict, n_features=5)

# %%
# Recover it
# ----------
# The number of units is found, too. A result is certified only when every check of the method agrees.

found = gs.recover(oracle, random_state=0)
print(found.summary())
print(f"\n{found.n_queries} queries for {truth.n_parameters} unknowns")
print(f"largest direction error {gs.match_units(found.model.units, truth.units).max_error:.1e}")

# %%
# How it was done
# ---------------
# Far from the origin every unit is saturated except where a circle crosses its hyperplane: the function is flat, with
# one step per unit. Counting steps counts units.

_, axes = plt.subplots(2, 1, figsize=(6.4, 5.6), layout="constrained")
gs.plots.step_scan(found.diagnostics["angles"], found.diagnostics["values"], ax=axes[0])
gs.plots.query_spending(found.diagnostics["spent"], truth.n_parameters, ax=axes[1])
plt.show()

# %%
# The model is a file without pickle, and the report a page that opens offline.

X = np.random.default_rng(1).standard_normal((1000, 5))
print(
    f"largest error on fresh points {np.abs(found.model.predict(X) - truth.predict(X)).max():.1e}"
)
assert found.certified
