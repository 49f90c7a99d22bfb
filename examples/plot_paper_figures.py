"""
The paper's figures, with measured captions
===========================================

The paper shows one execution of its algorithm and one field of estimated gradients. Here both are redrawn, beside a
setting in which the algorithm works, and every caption states what was measured.
"""

# %%
# The gradient field
# ------------------

import textwrap

import matplotlib.pyplot as plt

from gradsift import figures

drawn = figures.vector_field(seed=1)
print("\n".join(textwrap.wrap(drawn.caption, 88)))
plt.show()

# %%
# The execution, in the paper's own setting
# -----------------------------------------
# The longest gradients are those where several units are active at once, and each rests on a handful of samples.

drawn = figures.execution_literal(seed=1)
print("\n".join(textwrap.wrap(drawn.caption, 88)))
plt.show()

# %%
# The execution where it works
# ----------------------------
# A value oracle, points much further out, a threshold instead of a quota.

drawn = figures.execution_working(seed=1)
print("\n".join(textwrap.wrap(drawn.caption, 88)))
plt.show()
