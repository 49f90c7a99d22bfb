"""Running a few lines of R on a table: what the peers from R need."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np

_BEGIN = r"""
given <- commandArgs(TRUE); folder <- given[1]; k <- as.integer(given[2]); set.seed(as.integer(given[3]))
X <- as.matrix(read.csv(file.path(folder, "X.csv"), header = FALSE))
y <- scan(file.path(folder, "y.csv"), quiet = TRUE)
colnames(X) <- paste0("x", seq_len(ncol(X)))
"""
_END = r"""
writeLines(format(as.vector(t(units)), digits = 17))
"""


def units_from_r(script: str, X: np.ndarray, y: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Run `script`, which sees X, y and k and leaves a matrix `units` of k rows; return it."""
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(Path(folder) / "X.csv", X, delimiter=",")
        np.savetxt(Path(folder) / "y.csv", y)
        command = ["Rscript", "-e", _BEGIN + script + _END, folder, str(k), str(rng.integers(2**31))]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return np.array(done.stdout.split(), dtype=np.float64).reshape(k, X.shape[1])
