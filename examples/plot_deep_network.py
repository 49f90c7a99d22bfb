"""
Open a network with two hidden layers
=====================================

A network with two hidden layers is read through its answers alone: depth, widths and every weight. Real ones, 192
oceanographic networks inside the package ``canyonbpy``, are opened by
``benchmarks/boxes/black_box_deep.py --rows canyon``.
"""

# %%
# A network to be opened
# ----------------------
# Seven inputs and ten units in the first layer: more units than inputs.

import matplotlib.pyplot as plt
import numpy as np

import gradsift as gs

truth = gs.simulate.random_network(
    7, (10, 4), row_norms=[(1.0, 3.0), 1.5], offsets=[1.0, 0.5], rng=4
)

# %%
# Ask
# ---
# Nothing is said about layers. One layer is looked for first; its units are refuted after a few dozen queries, opposite
# points far out do not cancel, and so several layers are read.

found = gs.recover(gs.Oracle(truth.predict, 7), random_state=0)
print(found.verdict)
print(found.summary())

# %%
# Compare
# -------
# Units are matched layer by layer, up to order and sign.

match = gs.match_networks(found.network, truth)
print("largest relative error of a row, by layer:", [f"{e.max():.0e}" for e in match.errors])
print(f"{found.n_queries / truth.n_parameters:.1f} queries per unknown")

_, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for ax, number in zip(axes, (0, 1)):
    mine, theirs = match.aligned.layers[number].weights, truth.layers[number].weights
    ax.plot(theirs.ravel(), mine.ravel(), "o", markersize=4)
    ax.axline((0, 0), slope=1, color="0.6", linewidth=0.8)
    ax.set(
        xlabel="weight inside",
        ylabel="weight found",
        title=f"hidden layer {number + 1}",
        aspect="equal",
    )
plt.show()
assert found.certified
assert np.isfinite(match.max_error)
