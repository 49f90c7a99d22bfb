"""Several hidden layers of units with sharp kinks: ReLU and leaky ReLU."""
