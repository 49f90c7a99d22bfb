"""
Inputs that must stay in a box
==============================

Some boxes accept only values between -1 and 1. Far queries, on which the exact method lives, are then impossible; the
oracle refuses them before anything is asked.
"""

# %%
# The box
# -------

import matplotlib.pyplot as plt
import numpy as np

import gradsift as gs

truth = gs.simulate.random_combination(n_features=4, n_units=3, slope=3.0, min_singular_value=0.5, rng=11)
oracle = gs.Oracle(truth.predict, 4, bounds=(-1.0, 1.0))
try:
    oracle(np.full((1, 4), 3.0))
except ValueError as refusal:
    print(refusal)

# %%
# Sample inside, fit by likelihood
# --------------------------------
# Answers are exact, so the residuals say how good the fit is: a wrong number of units leaves a visible rest.

rows = np.random.default_rng(2).uniform(-1, 1, (3000, 4))
answers = oracle(rows)
rests = {}
for k in (1, 2, 3):
    found = gs.recover((rows, answers), k, random_state=0)
    rests[k] = float(np.sqrt(np.mean((answers - found.model.predict(rows)) ** 2)))
    print(f"{k} units: root mean square residual {rests[k]:.1e}")
match = gs.match_units(found.model.units, truth.units)
print(f"largest direction error with 3 units {match.max_error:.1e}, {oracle.n_queries} queries")

# %%
# Inside the box the units overlap everywhere: arguments rarely leave the bend of the sigmoids.

_, axes = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
axes[0].bar(list(rests), list(rests.values()), color=gs.plots.PALETTE[0])
axes[0].set(yscale="log", xlabel="units fitted", ylabel="root mean square residual", xticks=[1, 2, 3])
axes[1].hist(truth.arguments(rows), bins=40, histtype="step", label=["unit 1", "unit 2", "unit 3"])
axes[1].set(xlabel="argument of the sigmoid inside the box", ylabel="inputs")
axes[1].legend(frameon=False)
plt.show()
