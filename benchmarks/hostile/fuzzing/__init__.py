"""Campaigns that try to break gradsift: command lines, files, journals, servers, kills; see ``benchmarks/fuzz.py``."""
