"""
How many rows are enough?
=========================

Error of the fitted directions against the number of rows, beside the Cramer-Rao bound, which no unbiased method beats.
"""

# %%
# Fits on growing tables
# ----------------------
# Five independent tables for each size; the truth, the tables and the algorithm draw from separate streams.

import matplotlib.pyplot as plt
import numpy as np

import gradsift as gs
from gradsift.fit.covariance import cramer_rao

truth = gs.simulate.random_combination(
    n_features=6, n_units=2, slope=3.0, min_singular_value=0.8, signed=False, rng=7
)
sizes, repeats = (300, 1_000, 3_000, 10_000), 5
errors = np.empty((len(sizes), repeats))
bound = np.empty(len(sizes))
for i, n in enumerate(sizes):
    for j in range(repeats):
        rows = truth.sample(n, noise=0.3, rng=np.random.default_rng([1, n, j]))
        found = gs.recover(rows, 2, random_state=j)
        off = gs.match_units(found.model.units, truth.units).errors
        errors[i, j] = np.sqrt(np.mean(off**2))
    bound[i] = np.sqrt(np.mean(cramer_rao(truth, rows[0], noise=0.3).angles ** 2))
    error = np.sqrt(np.mean(errors[i] ** 2))
    print(f"{n:6d} rows: error {error:.4f}, Cramer-Rao bound {bound[i]:.4f}")

# %%
# The line and the bound
# ----------------------
# On the bound means that the rows are used up: more accuracy needs more rows, not another method.

gs.plots.error_against_rows(sizes, errors, bound)
plt.show()
