"""The paper's theorems, its defaults, its rates."""
