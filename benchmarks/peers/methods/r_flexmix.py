"""R's `flexmix`: a mixture of logistic regressions without constants, by EM; the best of three starts."""

from __future__ import annotations

from benchmarks.peers.methods import Peer
from benchmarks.peers.methods._r import units_from_r

_SCRIPT = r"""
suppressMessages(library(flexmix))
held <- data.frame(X, yes = as.numeric(y > 0), no = as.numeric(y <= 0))
fit <- stepFlexmix(cbind(yes, no) ~ 0 + ., data = held, k = k, nrep = 3, model = FLXMRglm(family = "binomial"),
                   control = list(minprior = 0), verbose = FALSE)
units <- t(parameters(fit))
"""


def r_flexmix(X, y, k, rng):
    """Return unit rows (k, d)."""
    return units_from_r(_SCRIPT, X, y, k, rng)


PEER = Peer("R, flexmix", r_flexmix, answers=("labels",), needs=("R flexmix",))
