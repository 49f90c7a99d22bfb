"""One file per kind of black box; each imports the package it wraps only when it is used."""
