"""
Where the literal algorithm works
=================================

The paper's algorithm has two knobs: how far out the points lie, and which gradients are long enough. Exact gradients
show the bias alone: near the origin two units are active at once, and the longest gradients are those. Gradients
estimated from rows add variance: far out there are no rows. The defaults (stars) aim at the corner between the two.
"""

# %%
# Three dimensions
# ----------------
# ``gradsift paper phases`` draws these with three seeds and up to 100,000 rows; here one seed and up to 20,000 will do.

import matplotlib.pyplot as plt

from gradsift.paper.phases import PhasesGrid, draw_phases, run_phases

grid = PhasesGrid(rows=(1_000, 20_000), n_points=200, n_seeds=1)
three = run_phases(3, grid, seed=1)
draw_phases(three)
plt.show()

# %%
# Ten dimensions
# --------------

ten = run_phases(10, grid, seed=1)
draw_phases(ten)
plt.show()

# %%
# Bias against variance: with the point scale the angle of exact gradients falls, the error of an estimated one grows.

for d, diagram in ((3, three), (10, ten)):
    for i, scale in enumerate(grid.scales):
        bias, error = diagram.exact[i, 4], diagram.error[1, i]
        print(
            f"d = {d:2d}, scale {scale:5.2f}: bias {bias:4.0f} degrees, relative error of a gradient {error:8.2f}"
        )
