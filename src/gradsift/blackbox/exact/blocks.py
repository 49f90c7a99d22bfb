"""The linearised equations of all replies, solved unit by unit.

Each unit has a *core*: three rows in its plane and its d - 2 probes, on which no other unit moves. For given weights
and intercept the core alone determines the unit, and inverting it costs O(d). All other rows are few; they enter by
the Woodbury formula, so that a network of k units in dimension d is solved in O(k d m) flops for m such rows,
where a dense factorisation would take O(k^3 d^3).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lstsq, solve_triangular

from ...checking import Floats
from ..asking import Ledger
from .accuracy import Changes, Errors, noise_level, summarise
from .net import Net, Probe
from .probe_rows import probe_rows

__all__ = ["BlockSystem"]


class _Core:
    """One unit's core rows, and how to divide by them.

    Around the probe's base the unknowns are the unit's frame coordinates and its argument at the base.
    """

    def __init__(self, net: Net, number: int, probe: Probe, row_slopes: Floats, ledger: Ledger) -> None:
        self.probe = probe
        self.frame = self.probe.frame
        self.across = probe_rows(net, number, self.probe, ledger)
        rows = self.probe.rows
        flat = (ledger.X[rows] - self.probe.base) @ self.frame.plane.T
        full = np.concatenate([flat, np.ones((len(rows), 1))], axis=1) * row_slopes[:, None]
        triples = np.array(list(combinations(range(len(rows)), 3)))
        scaled = full / np.abs(full).max(axis=0)
        best = triples[int(np.argmax(np.abs(np.linalg.det(scaled[triples]))))]  # the most informative three rows
        self.chosen, self.in_plane = rows[best], full[best]  # (3,), and (3, 3) weighted
        self.weights = self.across.slopes * self.across.weights  # (d - 2,)

    def local(self, rows: Floats) -> Floats:
        """Return rows of X as equations in the core's unknowns: two in the plane, argument at the base, the others."""
        coordinates = self.frame.coordinates(rows - self.probe.base)
        return np.concatenate([coordinates[:, :2], np.ones((len(rows), 1)), coordinates[:, 2:]], axis=1)

    def divide(self, right: Floats) -> Floats:
        """Return the change of (a, b) that gives these weighted changes of the core rows, (d + 1, n) -> (d + 1, n)."""
        plane = np.linalg.solve(self.in_plane, right[:3])
        across = (right[3:] / self.weights[:, None] - plane[2]) / self.probe.lengths[:, None]
        a = self.frame.from_coordinates(np.concatenate([plane[:2], across]).T).T
        return np.concatenate([a, plane[2:] - self.probe.base @ a])

    def divide_left(self, rows: Floats) -> Floats:
        """Return equations (n, d + 1), as given by `local`, times the inverse of the core."""
        across = rows[:, 3:] / (self.weights * self.probe.lengths)
        plane = rows[:, :3].copy()
        plane[:, 2] -= across @ self.weights
        return np.concatenate([np.linalg.solve(self.in_plane.T, plane.T).T, across], axis=1)


class BlockSystem:
    """The weighted, linearised equations of all replies around a network.

    Stored rows split into core rows and `extra` ones; the unknowns of unit l are eliminated by its core, so that every
    unit must have a probe.
    """

    def __init__(self, net: Net, ledger: Ledger) -> None:
        self.net, self.largest = net, ledger.largest
        X, link = ledger.X, net.link
        arguments = net.arguments(X)
        self.noise = net.noise(X, ledger) * ledger.doubts
        # No Jacobian of the layer is formed here: its blocks by unit are divided by their cores as they come.
        values = link.odd.value(arguments)
        slopes = link.odd.derivative(arguments) * net.u / self.noise[:, None]  # (m, k)
        self.residuals = (ledger.y - net.predict(X)) / self.noise
        globals_ = net.shared_inputs(X, values) / self.noise[:, None]  # (m, k + 1), or d more
        self.cores = [
            _Core(net, number, probe, slopes[probe.rows, number], ledger)
            for number, probe in enumerate(net.probes)
            if probe is not None
        ]
        taken = np.zeros(len(X), dtype=bool)
        for core in self.cores:
            taken[core.chosen] = True
        self.extra = np.flatnonzero(~taken)
        self.X, self.slopes, self.globals = X, slopes, globals_
        self._eliminate()

    def _coupling(self, number: int) -> tuple[NDArray[np.intp], Floats]:
        """Return the extra rows on which unit `number` moves, and those rows divided by its core."""
        core = self.cores[number]
        strength = self.slopes[self.extra, number]
        rows = np.flatnonzero(strength != 0)
        return rows, core.divide_left(core.local(self.X[self.extra[rows]]) * strength[rows, None])

    def _core_globals(self, number: int) -> Floats:
        core = self.cores[number]
        across = core.across
        points = core.probe.base[None] if self.net.linear is None else core.probe.points()
        probes = self.net.shared_inputs(points, across.values) * across.weights[:, None]
        return np.concatenate([self.globals[core.chosen], probes])  # (d + 1, k + 1), or d more columns

    def _eliminate(self) -> None:
        m = len(self.extra)
        spread = np.eye(m)
        design = self.globals[self.extra].copy()
        for number in range(self.net.k):
            rows, coupling = self._coupling(number)
            spread[np.ix_(rows, rows)] += coupling @ coupling.T
            design[rows] -= coupling @ self._core_globals(number)
        # Rows that are a million times more precise than the cores foretell would drown the unit matrix in rounding.
        spread[np.diag_indices(m)] *= 1 + 1e-12
        self.factor = cho_factor(spread, lower=True)
        self.design = design  # (m, k + 1)
        white = solve_triangular(self.factor[0], design, lower=True)
        self.scale = np.linalg.norm(white, axis=0)
        self.q, self.r = np.linalg.qr(white / self.scale)

    def solve(self, extra: Floats, cores: list[Floats]) -> Changes:
        """Least squares for several right-hand sides.

        Parameters
        ----------
        extra : (m, n) array
            Weighted residuals of the extra rows.
        cores : list of (d + 1, n) arrays
            Weighted residuals of each unit's core rows.
        """
        left = extra.copy()
        for number, core in enumerate(cores):
            rows, coupling = self._coupling(number)
            left[rows] -= coupling @ core
        white = solve_triangular(self.factor[0], left, lower=True)
        shared = lstsq(self.r, self.q.T @ white)[0] / self.scale[:, None]
        dual = cho_solve(self.factor, left - self.design @ shared)
        own = []
        for number, core in enumerate(cores):
            rows, coupling = self._coupling(number)
            right = core - self._core_globals(number) @ shared + coupling.T @ dual[rows]
            own.append(self.cores[number].divide(right))
        return Changes(own, shared)

    def newton_change(self) -> Changes:
        """Return the Gauss-Newton change of the parameters."""
        cores = [
            np.concatenate([self.residuals[c.chosen], c.across.residuals * c.across.weights])[:, None]
            for c in self.cores
        ]
        return self.solve(self.residuals[self.extra][:, None], cores)

    def errors(self, rng: np.random.Generator, n_draws: int = 6) -> Errors:
        """Push draws of noise through the equations."""
        cores = [rng.standard_normal((3 + len(c.weights), n_draws)) for c in self.cores]
        changes = self.solve(rng.standard_normal((len(self.extra), n_draws)), cores)
        return summarise(self.net, changes, noise_level(self.residuals, self.noise, self.largest, self.net.k))
