"""Benchmarks: run those in folders from the repository's root, as ``python -m benchmarks.boxes.black_box_exact``."""
