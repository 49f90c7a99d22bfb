"""
The paper's figures, with measured captions
===========================================

The paper shows one execution of its algorithm and one field of estimated gradients. Here both are redrawn, beside
settings in which the algorithm works, and every caption states what was measured and what was assumed.
"""

# %%
# The gradient field
# ------------------

import textwrap

import matplotlib.pyplot as plt

from gradsift.paper import figures

drawn = figures.draw_field(seed=1)
print("\n".join(textwrap.wrap(drawn.caption, 88)))
plt.show()

# %%
# The execution, in the paper's own setting
# -----------------------------------------
# The longest gradients are those where several units are active at once, and each rests on a handful of samples.

drawn = figures.draw_as_printed(seed=1)
print("\n".join(textwrap.wrap(drawn.caption, 88)))
plt.show()

# %%
# The same access, where it works
# -------------------------------
# As many rows, points much further out, half of the gradients instead of the fifty longest.

drawn = figures.draw_rows(seed=1)
print("\n".join(textwrap.wrap(drawn.caption, 88)))
plt.show()

# %%
# With a value oracle
# -------------------
# Points can be as far out as one likes, and a threshold takes the place of the quota.

drawn = figures.draw_oracle(seed=1)
print("\n".join(textwrap.wrap(drawn.caption, 88)))
plt.show()
