"""
Fit a table that does not fit in memory
=======================================

Algorithms read rows only through mergeable summaries, block by block, so a Parquet file is as good as an array.
"""

# %%
# A large table on disk
# ---------------------
# Half a million rows of ten columns, written in pieces.

import tempfile
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import pyarrow as pa
import pyarrow.parquet as pq

import gradsift as gs

truth = gs.simulate.random_combination(10, 3, slope=3.0, min_singular_value=0.7, rng=4)
path = Path(tempfile.mkdtemp()) / "rows.parquet"
names = [f"x{j}" for j in range(10)]
schema = pa.schema([(name, pa.float64()) for name in [*names, "y"]])
with pq.ParquetWriter(path, schema) as writer:
    for piece in range(10):
        X, y = truth.sample(50_000, noise=0.3, rng=piece)
        writer.write_table(pa.table([*X.T, y], schema=schema))
print(f"{path.stat().st_size / 2**20:.0f} MiB on disk")

# %%
# Fit it
# ------

rows = gs.sources.parquet(path, target="y")
tracemalloc.start()
found = gs.recover(rows, 3, random_state=0)
peak = tracemalloc.get_traced_memory()[1] / 2**20
tracemalloc.stop()
print(found.verdict)
error = gs.match_units(found.model.units, truth.units).max_error
print(f"peak of Python's own memory {peak:.0f} MiB")
print(f"{found.diagnostics['n_passes']:.0f} passes over the rows")
print(f"largest direction error {error:.5f}, claimed {found.standard_errors['units'].max():.5f}")

# %%
# Standard errors come from the same passes.

gs.plots.unit_errors(found.model, found.standard_errors)
plt.show()
