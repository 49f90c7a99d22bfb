"""Would units of another sigmoid explain the answers better?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...fit import fit_jointly
from ..links import with_plateaus
from .asker import Asker
from .belief import Belief

__all__ = ["Rival", "best_rival"]


class Rival(NamedTuple):
    """Another activation, and by how many nats it explains the answers better than the one assumed."""

    name: str
    gain: float


def best_rival(belief: Belief, asker: Asker) -> Rival:
    """Fit all rows in use with every other sigmoid that has plateaus; no queries. O(n P^2) flops for P unknowns each.

    Both fits have the same number of unknowns, so that their likelihoods can be compared as they are.
    """
    joint = belief.known
    X, y, noise, own = joint.replies.X, joint.replies.y, joint.noise, asker.g
    start = joint.fitted.theta
    best = Rival("none", -np.inf)
    for link in with_plateaus():
        if link.odd.name == own.name:
            continue
        steeper = float(own.derivative(np.zeros(1))[0] / link.odd.derivative(np.zeros(1))[0])
        other = fit_jointly(start._replace(A=steeper * start.A, b=steeper * start.b), X, y, noise, link.odd)
        here = noise.loss(y - joint.fitted.residuals, y)
        gain = here - noise.loss(y - other.residuals, y)
        if gain > best.gain:
            best = Rival(link.activation.name, float(gain))
    return best
