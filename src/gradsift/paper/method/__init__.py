"""The paper's algorithm, in its own order: gradients, subspace, candidates, clustering, weights."""
