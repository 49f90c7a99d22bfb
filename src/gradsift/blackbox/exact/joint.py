"""All replies at once: Gauss-Newton on every equation, weighted by the oracle's own rounding."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...checking import Floats
from ..asking import Ledger
from .accuracy import Errors
from .blocks import BlockSystem
from .dense import DenseSystem
from .exact_policy import JOINT
from .net import Net
from .probe_rows import probe_rows

__all__ = ["Solution", "parameter_errors", "solve_jointly"]


@dataclass(frozen=True)
class Solution:
    """The network that fits all replies best.

    Attributes
    ----------
    net : Net
    chi : float
        Largest residual over its standard size, over all replies.
    row_chi : (m,) array
        The same for each stored row.
    probe_chi : (k,) array
        Largest over each unit's probes.
    """

    net: Net
    chi: float
    row_chi: Floats
    probe_chi: Floats


def solve_jointly(net: Net, ledger: Ledger) -> Solution:
    """Iterate Gauss-Newton from a good start until the residuals stop falling."""
    best = _measure(net, ledger)
    for _ in range(JOINT.most_iterations):
        try:
            change = _system(best.net, ledger).newton_change()
        except np.linalg.LinAlgError:  # replies that cannot tell two units apart
            break
        own = np.array([part[:, 0] for part in change.own])  # (k, d + 1)
        if not (np.isfinite(own).all() and np.isfinite(change.shared).all()):
            break
        old = best.net
        moved = replace(
            old,
            a=old.a + own[:, :-1],
            b=old.b + own[:, -1],
            u=old.u + change.shared[: old.k, 0],
            c=old.c + float(change.shared[old.k, 0]),
            linear=None if old.linear is None else old.linear + change.shared[old.k + 1 :, 0],
        )
        trial = _measure(moved, ledger)
        if not trial.chi < best.chi:
            break
        settled = trial.chi > 0.5 * best.chi
        best = trial
        if settled:
            break
    return best


def parameter_errors(net: Net, ledger: Ledger, rng: np.random.Generator) -> Errors:
    """Return what rounding of the answers does to the parameters; infinite where replies leave them open."""
    try:
        return _system(net, ledger).errors(rng)
    except np.linalg.LinAlgError:
        unknown = np.full(net.k, np.inf)
        return Errors(unknown, unknown, unknown, unknown, np.inf, unknown, unknown, np.full(net.a.shape[1], np.inf))


def _system(net: Net, ledger: Ledger) -> BlockSystem | DenseSystem:
    if net.n_unknowns <= JOINT.dense or None in net.probes:
        return DenseSystem(net, ledger)
    return BlockSystem(net, ledger)


def _measure(net: Net, ledger: Ledger) -> Solution:
    """Compare a network with all replies."""
    rows = np.abs(ledger.y - net.predict(ledger.X)) / net.noise(ledger.X, ledger)
    probes = np.zeros(net.k)
    for number, probe in enumerate(net.probes):
        while probe is not None:
            found = probe_rows(net, number, probe, ledger)
            probes[number] = max(probes[number], np.abs(found.residuals * found.weights).max(initial=0.0))
            probe = probe.earlier
    chi = max(float(rows.max(initial=0.0)), float(probes.max(initial=0.0)))
    return Solution(net, chi if np.isfinite(chi) else np.inf, rows, probes)
