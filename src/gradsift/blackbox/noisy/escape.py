"""An answer on the wrong side of a unit's plane: the fit cannot see the way there, but inverting the link can."""

from __future__ import annotations

import numpy as np

from ...activations import Activation
from ...checking import Floats
from ...fit import Fitted, fit_jointly, moved_by, reflect
from ...likelihood import Noise
from .tuning import ESCAPE

__all__ = ["mend"]


def mend(fitted: Fitted, X: Floats, y: Floats, noise: Noise, g: Activation) -> Fitted:
    """Return a better fit if the largest residual is one that a turn of some unit's plane would explain.

    Far out in a unit's plane a small turn takes the unit from one plateau to the other, where the answer no longer
    depends on the turn and a descent stays. The turn that the answer asks for is the mean of the posterior given
    that the unit's argument there is the one at which the model answers so. No more than four joint fits.
    """
    for _ in range(0 if noise.labels else ESCAPE.most_tries):
        row = int(np.argmax(np.abs(fitted.residuals)))
        if abs(fitted.residuals[row]) < ESCAPE.impossible * noise.sd:
            break
        step = _turn(fitted, X[row], float(fitted.residuals[row]), g)
        again = fit_jointly(moved_by(fitted.theta, fitted.mirrors, step), X, y, noise, g)
        if again.loss > fitted.loss - ESCAPE.worth:
            break
        fitted = again
    return fitted


def _turn(fitted: Fitted, x: Floats, missing: float, g: Activation) -> Floats:
    """Return the likeliest step, in local coordinates, that adds `missing` to the value at x."""
    theta = fitted.theta
    layout = theta.layout
    z = theta.A @ x + theta.b
    wanted = np.clip(g.value(z) + missing / theta.u, -ESCAPE.slope, ESCAPE.slope)  # (k,)
    gaps = g.invert(wanted) - z
    rows = np.zeros((layout.n_units, len(fitted.information)))
    for unit in range(layout.n_units):
        rows[unit, layout.a(unit)] = reflect(x[None], fitted.mirrors[unit])[0]
        rows[unit, layout.b][unit] = 1.0
    gains = rows @ fitted.covariance  # (k, P)
    doubts = np.maximum(np.einsum("kp,kp->k", gains, rows), 1e-300)
    left = np.abs(missing - theta.u * (wanted - g.value(z))) / abs(missing)
    unit = int(np.argmin(np.abs(gaps) / np.sqrt(doubts) + 100 * left))
    return np.asarray(gains[unit] * gaps[unit] / doubts[unit])
