"""Other methods on the same boxes and tables."""
