"""The methods that the paper cites, each in one file: rows and answers in, unit rows (k, d) out."""
