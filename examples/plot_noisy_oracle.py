"""
A noisy oracle
==============

Answers come with noise of standard deviation 0.1, which the library finds out by itself. Queries are spent in three
ways: placed by ``recover``, on a table of random inputs, and on the paper's gradient estimates.
"""

# %%
# The oracle
# ----------

import matplotlib.pyplot as plt
import numpy as np

import gradsift as gs

truth = gs.simulate.random_combination(
    n_features=8, n_units=3, slope=3.0, min_singular_value=0.6, rng=5
)
noise = np.random.default_rng(1)


def noisy(X):
    return truth.predict(X) + 0.1 * noise.standard_normal(len(X))


def error(found):
    return gs.match_units(found.model.units, truth.units).max_error


# %%
# Let the library place the queries
# ---------------------------------
# Once directions are roughly known, far queries act as levers: a further digit costs few of them.

placed = []
for accuracy in (0.1, 0.01, 0.001):
    found = gs.recover(gs.Oracle(noisy, 8), accuracy=accuracy, random_state=0)
    placed.append((found.n_queries, error(found)))
    print(f"asked for {accuracy}, {found.n_queries} queries: error {error(found):.5f}")
    print(found.verdict)

# %%
# Fit random inputs
# -----------------
# The error of the directions falls like one over the square root of the queries.

budgets = (500, 2_000, 8_000, 32_000)
errors = []
for n in budgets:
    rows = np.random.default_rng(n).standard_normal((n, 8))
    errors.append(error(gs.recover((rows, noisy(rows)), 3, random_state=0)))

# %%
# The paper's estimates
# ---------------------
# Gradients by averaging (x - point) times the answer, here with orthogonal directions: simple and robust, at a price.

how = {
    "n_points": 600,
    "n_queries_per_point": 1000,
    "min_norm": 0.15,
    "design": "orthogonal",
}
literal = gs.recover(gs.Oracle(noisy, 8), 3, method="paper", random_state=0, **how)

ax = gs.plots.error_against_rows(budgets, errors)
ax.lines[0].set_label("random inputs")
ax.plot(*zip(*placed), "o-", color=gs.plots.PALETTE[1], label="placed by recover")
ax.plot(literal.n_queries, error(literal), "D", color=gs.plots.PALETTE[3], label="paper")
ax.set(xlabel="queries", ylabel="largest direction error")
ax.legend(frameon=False)
plt.show()
