"""
Plan with the theorems
======================

How many samples do the paper's theorems ask for, and how far is that from what information theory allows?
"""

# %%
# A plan
# ------
# Numbers are carried as logarithms: some have millions of digits.

import matplotlib.pyplot as plt

import gradsift as gs

problem = gs.Problem(d=10, k=2, beta=1.0, kappa=0.9, u0=0.5, M=1.0)
plan = gs.plan(problem, scheme="oracle", delta=0.25, rho=0.5)
print(plan.explain())

# %%
# The price of a slope
# --------------------
# The constants grow with the slope of the sigmoid; the form with exact mean derivatives (ours) is far tighter.

slopes = (0.5, 1.0, 1.5, 2.0, 3.0)
_, ax = plt.subplots(figsize=(6.0, 3.8), layout="constrained")
for place, form in enumerate(("repaired", "exact")):
    totals = []
    for beta in slopes:
        problem = gs.Problem(10, 2, beta, 0.9, 0.5, 1.0)
        made = gs.plan(problem, scheme="oracle", delta=0.25, rho=0.5, form=form)
        totals.append(next(q.log10 for q in made.quantities if q.symbol == "n"))
    ax.plot(slopes, totals, marker="o", color=gs.plots.PALETTE[place], label=form)
    print(form, [f"10^{t:.1f}" for t in totals])
ax.set(xlabel="slope", ylabel="queries promised to suffice (log10)")
ax.legend(frameon=False)
plt.show()
