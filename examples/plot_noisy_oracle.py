"""
A noisy oracle
==============

Answers come with noise of standard deviation 0.1. Queries are spent in two ways: on a table of random inputs that is
fitted by likelihood, and on the paper's gradient estimates.
"""

# %%
# The oracle
# ----------

import matplotlib.pyplot as plt
import numpy as np

import gradsift as gs

truth = gs.simulate.random_combination(n_features=8, n_units=3, slope=3.0, min_singular_value=0.6, rng=5)
noise = np.random.default_rng(1)
oracle = gs.Oracle(lambda X: truth.predict(X) + 0.1 * noise.standard_normal(len(X)), 8, noise=0.1)

# %%
# Fit random inputs
# -----------------
# Standard errors come with the fit; the error of the directions falls like one over the square root of the queries.

budgets = (500, 2_000, 8_000, 32_000)
errors, claimed = [], []
for n in budgets:
    rows = np.random.default_rng(n).standard_normal((n, 8))
    found = gs.recover((rows, oracle(rows)), 3, random_state=0)
    errors.append(gs.match_units(found.model.units, truth.units).max_error)
    claimed.append(float(found.standard_errors["units"].max()))
    print(f"{n:6d} queries: largest error {errors[-1]:.4f}, claimed {claimed[-1]:.4f}, certified {found.certified}")

# %%
# The paper's estimates
# ---------------------
# Gradients by averaging (x - point) times the answer, here with orthogonal directions: simple and robust, at a price.

how = {"n_points": 600, "n_queries_per_point": 1000, "min_norm": 0.15, "design": "orthogonal"}
literal = gs.recover(oracle, 3, method="paper", random_state=0, **how)
print(literal.verdict)
by_paper = gs.match_units(literal.model.units, truth.units).max_error
print(f"{literal.n_queries} queries: largest error {by_paper:.3f}")

ax = gs.plots.error_against_rows(budgets, errors)
ax.plot(budgets, claimed, "s--", color=gs.plots.PALETTE[1], label="claimed standard error")
ax.plot(literal.n_queries, by_paper, "D", color=gs.plots.PALETTE[3], label="the paper's method")
ax.set(xlabel="queries", ylabel="largest direction error")
ax.legend(frameon=False)
plt.show()
