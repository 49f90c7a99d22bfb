"""Tables: fits, tests, intervals, certificates."""
