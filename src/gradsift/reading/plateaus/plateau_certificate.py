"""Whether to vouch for a network found through exact answers, and the points that tell."""

from __future__ import annotations

import numpy as np

from ...arguments import Floats
from ...certificate import BOUND, EXACT, Evidence, ExactLimits, Fresh, Verdict, certify, n_of
from ...geometry import normalize_rows
from ..far_field.odd_network import Net
from ..ledger import Ledger
from .accuracy import Errors
from .joint_fit import Solution
from .settings import FAR_LOOK


def vouch_for(fit: Solution, errors: Errors, ledger: Ledger, fresh: Floats, limits: ExactLimits = EXACT) -> Verdict:
    """Check a fitted network against all replies, fresh ones, and its own conditioning.

    Parameters
    ----------
    fresh : (n,) array
        Residuals at fresh points, taken before these were fitted: over what rounding explains or, with the limits of
        exact answers, over the change that a relative error of one in all parameters would make there.
    """
    net, weights = fit.net, np.abs(fit.net.u)
    met = Fresh(len(fresh), float(np.abs(fresh).max(initial=0.0)), relative=limits is EXACT)
    what, linear = n_of(net.k, "unit"), None
    if net.linear is not None:
        what = f"{what} and a linear term"
        linear = BOUND * float(np.linalg.norm(errors.linear) / np.linalg.norm(net.linear))
    return certify(
        Evidence(
            what, ledger.n_queries, fit.chi, met, float(errors.relative.max(initial=0.0)), linear=linear,
            spare=ledger.n_queries - net.n_unknowns - net.k,
            faintest=float(weights.min() / weights.max()) if net.k else None,
        ),
        limits,
    )  # fmt: skip


def fresh_points(net: Net, n: int, rng: np.random.Generator) -> Floats:
    """Return points near hyperplanes of random units, at growing distances along them; shape (n, d).

    Near the origin all units are active at once, further out the chosen one and those beside it.
    """
    d = net.a.shape[1]
    squares = (net.a**2).sum(axis=1)
    typical = 1 / np.sqrt(np.median(squares))
    points = np.empty((n, d))
    for number in range(n):
        unit = int(rng.integers(net.k))
        a, b = net.a[unit], net.b[unit]
        along = rng.standard_normal(d)
        along -= (along @ a) / squares[unit] * a
        points[number] = (rng.standard_normal() - b) / squares[unit] * a + 8.0**number * typical * along
    return points


def far_points(net: Net, ledger: Ledger, rng: np.random.Generator) -> Floats:
    """Return opposite points at growing distances beyond those of the scan; (n, d), none without a linear term.

    A linear term keeps the scan near the origin, since it drowns the plateaus far out. Units whose hyperplanes lie
    beyond are not scanned for, but crossing one shows as long as its step is above the rounding there.
    """
    d = net.a.shape[1]
    radii = ledger.far * 8.0 ** np.arange(FAR_LOOK.most_radii)
    radii = radii[ledger.rounding(radii) < FAR_LOOK.shows * np.abs(net.u).min(initial=np.inf)]
    if net.linear is None or not len(radii):
        return np.empty((0, d))
    ways = normalize_rows(rng.standard_normal((len(radii), d)))
    return np.concatenate([radii[:, None] * ways, -radii[:, None] * ways])


def smallest_angle(net: Net) -> float:
    """Return the smallest angle between two units, up to sign, in radians; pi/2 for a single unit. O(k^2 d)."""
    if net.k < 2:
        return float(np.pi / 2)
    units = normalize_rows(net.a)
    cosines = np.tril(np.abs(units @ units.T), -1)
    # Cosines cannot tell small angles apart, but they leave few pairs to look at.
    first, second = np.nonzero(cosines >= cosines.max() - 1e-12)
    apart = min(
        min(np.linalg.norm(units[i] - units[j]), np.linalg.norm(units[i] + units[j])) for i, j in zip(first, second)
    )
    return 2 * float(np.arcsin(min(1.0, 0.5 * float(apart))))
