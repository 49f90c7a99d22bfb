"""What a black box is asked for unless somebody says otherwise, in the library and on the command line."""

from __future__ import annotations

METHODS = ("auto", "paper")  # the first is the default
ANY_ACTIVATION = "auto"  # all that answers can tell apart; None means the same
ANY_DEPTH = "auto"
N_VERIFY = 30
