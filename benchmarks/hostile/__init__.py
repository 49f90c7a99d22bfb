"""Boxes and files made to mislead or to break."""
