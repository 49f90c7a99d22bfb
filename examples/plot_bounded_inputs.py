"""
Inputs that must stay in a box
==============================

Some boxes accept only values between -2 and 2. Far queries, on which the exact method lives, are then impossible: the
units are told apart where they overlap, by a few times as many queries as there are unknowns.
"""

# %%
# The box
# -------

import matplotlib.pyplot as plt
import numpy as np

import gradsift as gs

truth = gs.simulate.random_combination(
    n_features=6, n_units=3, slope=2.0, min_singular_value=0.5, rng=11
)
oracle = gs.Oracle(truth.predict, 6, bounds=(-2.0, 2.0))
try:
    oracle(np.full((1, 6), 3.0))
except ValueError as refusal:
    print(refusal)

# %%
# Recover inside
# --------------

found = gs.recover(oracle, random_state=0)
match = gs.match_units(found.model.units, truth.units)
print(found.verdict)
print(f"largest direction error {match.max_error:.1e}")
print(f"{found.n_queries / truth.n_parameters:.1f} queries per unknown")

# %%
# Inside the box the arguments rarely leave the bend of the sigmoids, so every answer mixes all units.

rows = np.random.default_rng(2).uniform(-2, 2, (3000, 6))
_, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
for i, arguments in enumerate(truth.arguments(rows).T):
    ax.hist(arguments, 40, histtype="step", color=gs.plots.PALETTE[i], label=f"unit {i + 1}")
ax.set(xlabel="argument of the sigmoid inside the box", ylabel="inputs")
ax.legend(frameon=False)
plt.show()
