"""Networks that somebody trained and released, read from the packages of a registry and opened as black boxes."""
