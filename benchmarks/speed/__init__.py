"""Time and memory, on one core, many, and devices."""
