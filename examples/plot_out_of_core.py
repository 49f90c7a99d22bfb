"""
Fit a table that does not fit in memory
=======================================

Algorithms read rows only through mergeable summaries, block by block, so a memory map on disk is as good as an array.
"""

# %%
# A large table on disk
# ---------------------
# Half a million rows of ten columns, written in pieces.

import tempfile
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import gradsift as gs

n, d = 500_000, 10
truth = gs.simulate.random_combination(d, 3, slope=3.0, min_singular_value=0.7, rng=4)
folder = Path(tempfile.mkdtemp())
X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float64, (n, d))
y = np.lib.format.open_memmap(folder / "y.npy", "w+", np.float64, (n,))
for start in range(0, n, 50_000):
    block = slice(start, start + 50_000)
    X[block], y[block] = truth.sample(50_000, noise=0.3, rng=start)
X.flush()
print(f"{X.nbytes / 2**20:.0f} MiB on disk")

# %%
# Fit it
# ------

rows = (np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "y.npy", mmap_mode="r"))
tracemalloc.start()
found = gs.recover(rows, 3, random_state=0)
peak = tracemalloc.get_traced_memory()[1] / 2**20
tracemalloc.stop()
print(found.verdict)
error = gs.match_units(found.model.units, truth.units).max_error
print(f"peak memory beside the table {peak:.0f} MiB, {found.diagnostics['n_passes']} passes over the rows")
print(f"largest direction error {error:.5f}, claimed {found.standard_errors['units'].max():.5f}")

# %%
# Standard errors come from the same passes.

gs.plots.unit_errors(found.model, found.standard_errors)
plt.show()
