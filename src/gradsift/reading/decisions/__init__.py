"""One hidden layer behind a box that only decides."""
