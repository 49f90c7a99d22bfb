"""What rounding of the answers does to the parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from ...arguments import Floats
from ...certificate import BOUND
from ..far_field.odd_network import GRID, Net
from ..ledger import EPS, Ledger


@dataclass(frozen=True)
class Changes:
    """Changes of all parameters for n right-hand sides.

    Attributes
    ----------
    own : (k, d + 1, n) array
        Of each unit's (a, b).
    shared : (k + 1, n) or (k + 1 + d, n) array
        Of the weights, the intercept and, where there is one, the linear term.
    """

    own: Floats
    shared: Floats


@dataclass(frozen=True)
class Errors:
    """Sizes of the parameters' errors: root mean squares over draws of noise, and bounds.

    Attributes
    ----------
    unit, slope, offset, weight : (k,) arrays
    intercept : float
    direction, relative : (k,) arrays
        Error bounds, relative: of a, and the largest of all of a unit's parameters.
    linear : (d,) array
        Of the linear term; empty without one.
    """

    unit: Floats
    slope: Floats
    offset: Floats
    weight: Floats
    intercept: float
    direction: Floats
    relative: Floats
    linear: Floats


def noise_level(residuals: Floats, noise: Floats, ledger: Ledger, n_units: int) -> float:
    """Return the root mean square of the residuals that show rounding of arguments; a third if there are few.

    The standard sizes are cautious: sums of products round to a fraction of their bound.

    Parameters
    ----------
    residuals, noise : (m,) arrays
        Of the stored rows: over their standard size, and that size.
    """
    shows = (noise > 8 * ledger.eps * ledger.largest) | (ledger.resolution > EPS)
    freedom = int(shows.sum()) - 3 * n_units
    if freedom < 10:
        return 1 / 3
    return max(1 / 30, float(np.sqrt((residuals[shows] ** 2).sum() / freedom)))


def shown_rounding(net: Net, ledger: Ledger) -> Floats:
    """Return the size of each stored answer's rounding error as the residuals show it, (m,).

    What is rounded is the answer itself, sums as large as the largest, or arguments: their shares are least squares of
    the squared residuals.
    """
    X, y = ledger.X, ledger.y
    fixed = np.broadcast_to(GRID * ledger.step + ledger.own(net.predict(X)), y.shape)
    parts = np.stack([np.abs(y), np.full(len(y), ledger.largest), net.rounded_terms(X), fixed], axis=1)
    parts[:, :3] *= ledger.eps
    squares, wanted = parts**2, (y - net.predict(X)) ** 2
    shown = squares.sum(axis=1)
    for _ in range(3):  # weights follow the sizes
        shares = nnls(squares / shown[:, None], wanted / shown)[0]
        shown = np.maximum(squares @ shares, 1e-6 * squares.sum(axis=1))
    return np.asarray(np.sqrt(shown))


def summarise(net: Net, changes: Changes, level: float) -> Errors:
    """Turn the changes under draws of standard noise, times a noise level, into errors."""
    weight, intercept, linear = np.split(level * changes.shared, [net.k, net.k + 1])
    lengths = np.linalg.norm(net.a, axis=1)[:, None]
    slopes, offset = changes.own[:, :-1], level * changes.own[:, -1]
    along = level * np.einsum("kd,kdn->kn", net.a, slopes) / lengths
    whole = level * np.sqrt(np.einsum("kdn,kdn->kn", slopes, slopes)) / lengths
    across = np.sqrt(np.maximum(whole**2 - (along / lengths) ** 2, 0))
    direction, offset, weight = _rms(whole), _rms(offset), _rms(weight)
    relative = np.max([direction, offset / (1 + np.abs(net.b)), weight / np.abs(net.u)], axis=0)
    return Errors(
        _rms(across), _rms(along), offset, weight, float(_rms(intercept[0])),
        BOUND * direction, BOUND * relative, _rms(linear),
    )  # fmt: skip


def _rms(draws: Floats) -> Floats:
    """Root mean square over the last axis."""
    return np.asarray(np.sqrt(np.mean(draws**2, axis=-1)))
