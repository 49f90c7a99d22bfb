"""Tuned numbers that several files share, one for each meaning; what one method alone needs is in its own settings.

Beside each stands the row of ``benchmarks/sensitivity_rows.py`` on which it was looked at.
"""

from __future__ import annotations

TRIES = 4  # of what may fail by bad luck, and rounds of what gets better by being repeated; "kinks, noise"
FACTOR = 8.0  # from one size to the next, where the right one is searched: radii, distances; "relu"
SHARE = 0.7  # of a margin or a limit that may be used up, the rest being for what is not known of it; "relu"
PRIOR = 10.0  # how many times worse than thought the start of a fit may be; "kinks, rounded"
NATS = 0.02  # that a step must promise where fits are only compared: the one that is kept goes on; "few rows"
MOST_STEPS = 40  # of a fit from a start that is nearly right; a few suffice; "kinks, rounded"
LEAST_GAIN = 1e-3  # of a sum of squares or a variance, below which one step or answer more is not worth its cost
SCATTER = 20  # answers beyond those that are needed, which tell how much all of them scatter; "kinks, noise"
ROUNDINGS = 64.0  # of an answer, up to which two that should be equal may differ: sums of many terms; "relu"
