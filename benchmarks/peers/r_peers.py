"""What R offers for the same tables: nnet, projection pursuit (ppr), mixtures of logistic regressions (flexmix)."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

SECONDS = 300  # for one fold

# Tuned like the rest: three inner folds; flexmix takes its number of components by BIC, as its authors do.
SCRIPT = r"""
arguments <- commandArgs(TRUE)
method <- arguments[1]; folder <- arguments[2]; set.seed(as.integer(arguments[3]))
read <- function(name) as.matrix(read.csv(file.path(folder, name), header = FALSE))
X <- read("X.csv"); y <- as.vector(read("y.csv")); fresh <- read("fresh.csv")
labels <- arguments[4] == "labels"
colnames(X) <- colnames(fresh) <- paste0("x", seq_len(ncol(X)))
fold <- sample(rep_len(1:3, length(y)))
loss <- function(y, p) {
  if (!labels) return(mean((y - p)^2))
  p <- pmin(pmax(p, 1e-15), 1 - 1e-15); -mean(y * log(p) + (1 - y) * log(1 - p))
}
tuned <- function(grid, fit) {
  errors <- sapply(grid, function(v) mean(sapply(1:3, function(f)
    loss(y[fold == f], fit(X[fold != f, , drop = FALSE], y[fold != f], X[fold == f, , drop = FALSE], v)))))
  fit(X, y, fresh, grid[which.min(errors)])
}
net <- function(X, y, fresh, decay) {
  m <- nnet::nnet(X, y, size = 10, decay = decay, linout = !labels, entropy = labels, maxit = 500, MaxNWts = 1e5,
                  trace = FALSE)
  as.vector(predict(m, fresh))
}
pursuit <- function(X, y, fresh, terms)
  as.vector(predict(ppr(X, y, nterms = terms, max.terms = terms + 2), fresh))
mixture <- function() {
  suppressMessages(library(flexmix))
  held <- data.frame(X, yes = y, no = 1 - y)
  m <- getModel(stepFlexmix(cbind(yes, no) ~ ., data = held, k = 1:3, nrep = 3, model = FLXMRglm(family = "binomial"),
                            verbose = FALSE), "BIC")
  parts <- predict(m, newdata = data.frame(fresh, yes = 0, no = 1))
  as.vector(do.call(cbind, parts) %*% prior(m))
}
found <- switch(method, nnet = tuned(10^(-3:1), net), ppr = tuned(1:5, pursuit), flexmix = mixture())
writeLines(format(c(sum(proc.time()[1:2]), found), digits = 17))
"""


class Found(NamedTuple):
    """Predictions for the fresh rows, and CPU seconds."""

    predictions: np.ndarray
    cpu: float


def names(classes: bool) -> tuple[str, ...]:
    """Return the methods for a table, none where R is not there."""
    if shutil.which("Rscript") is None:
        return ()
    return ("nnet", "flexmix") if classes else ("nnet", "ppr")


def fit_and_predict(method: str, X: np.ndarray, y: np.ndarray, fresh: np.ndarray, classes: bool, seed: int) -> Found:
    """Fit in R and predict fresh rows; RuntimeError where R fails or takes too long."""
    with tempfile.TemporaryDirectory() as folder:
        for name, values in (("X", X), ("y", y), ("fresh", fresh)):
            np.savetxt(Path(folder) / f"{name}.csv", values, delimiter=",")
        command = ["Rscript", "-e", SCRIPT, method, folder, str(seed), "labels" if classes else "values"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failure:
            raise RuntimeError(f"{method} in R failed: {getattr(failure, 'stderr', None) or failure}") from failure
    numbers = np.array(done.stdout.split(), dtype=np.float64)
    return Found(numbers[1:], float(numbers[0]))
