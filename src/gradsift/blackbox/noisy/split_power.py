"""How far apart must two units be for the answers at hand to show them as two? Asks nobody."""

from __future__ import annotations

import numpy as np

from ...activations import Activation
from ...checking import Floats
from ...fit import Fitted, value_jacobian
from ...geometry import normalize_rows
from ...likelihood import Noise
from .tuning import SPLIT_POWER, THINNING

__all__ = ["least_angle_shown"]


def least_angle_shown(fitted: Fitted, X: Floats, noise: Noise, g: Activation, rng: np.random.Generator) -> float:
    """Return the angle, in radians, from which on two units in the place of any one would be worth their price.

    A unit made two at an angle t changes the values by D(t). What the other parameters cannot make up for, the part of
    D beside the Jacobian, raises the deviance by its squared length over the noise; `richer` finds the pair where that
    is more than BIC's price. The largest over all units and some directions across each. O(n P) flops for each of about
    150 k splits of n rows and P unknowns.
    """
    theta = fitted.theta
    weights = np.sqrt(noise.precision(theta.c + g.value(X @ theta.A.T + theta.b) @ theta.u))
    J = value_jacobian(theta, X, g) * weights[:, None]
    basis = np.linalg.qr(J / np.maximum(np.linalg.norm(J, axis=0), 1e-300))[0]  # (n, P)
    price = theta.layout.per_unit * noise.price(len(X)) + THINNING.margin
    needed = (np.sqrt(price) + SPLIT_POWER.surely) ** 2
    angles = np.geomspace(*SPLIT_POWER.angles, SPLIT_POWER.n_angles)
    widest = 0.0
    for a, b, u in zip(theta.A, theta.b, theta.u):
        across = rng.standard_normal((SPLIT_POWER.n_directions, len(a)))
        across = normalize_rows(across - np.outer(across @ a, a) / (a @ a)) * np.linalg.norm(a)
        along, aside = X @ a, X @ across.T  # (n,), (n, directions)
        for e in range(SPLIT_POWER.n_directions):
            first, second = (
                g.value(np.cos(t) * along[:, None] + np.sin(t) * aside[:, e, None] + b)
                for t in (-SPLIT_POWER.share * angles, (1 - SPLIT_POWER.share) * angles)
            )
            change = (1 - SPLIT_POWER.share) * first + SPLIT_POWER.share * second - g.value(along + b)[:, None]
            change *= u * weights[:, None]
            left = change - basis @ (basis.T @ change)
            hidden = np.flatnonzero((left**2).sum(axis=0) <= needed)
            from_there = int(hidden[-1]) + 1 if len(hidden) else 0  # on, all are shown
            widest = max(widest, float(angles[min(from_there, len(angles) - 1)]))
    return widest
