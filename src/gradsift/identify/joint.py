"""All replies at once: Gauss-Newton on every equation, weighted by the oracle's own rounding.

Each unit has a *core*: three rows in its plane and its d - 2 probes, on which no other unit moves. For given weights
and intercept the core alone determines the unit, and inverting it costs O(d). All other rows are few; they enter by
the Woodbury formula, so that a network of k units in dimension d is solved in O(k d m) flops for m such rows,
where a dense factorisation would take O(k^3 d^3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lstsq, solve_triangular

from ..checking import Floats
from .ledger import EPS, Ledger
from .net import Net, Probe

__all__ = ["Errors", "Fit", "Linearised", "fit_jointly", "probe_residuals"]

_MOST_ITERATIONS = 8


@dataclass(frozen=True)
class Fit:
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
    iterations : int
    """

    net: Net
    chi: float
    row_chi: Floats
    probe_chi: Floats
    iterations: int


@dataclass(frozen=True)
class Errors:
    """What rounding of the answers does to the parameters: root mean squares over draws, except the last two.

    Attributes
    ----------
    unit, slope, offset, weight : (k,) arrays
    intercept : float
    direction, relative : (k,) arrays
        Largest over the draws: relative error of a, and of all of a unit's parameters.
    """

    unit: Floats
    slope: Floats
    offset: Floats
    weight: Floats
    intercept: float
    direction: Floats
    relative: Floats


def fit_jointly(net: Net, ledger: Ledger) -> Fit:
    """Iterate Gauss-Newton from a good start until the residuals stop falling."""
    best = _measure(net, ledger, 0)
    for iteration in range(1, _MOST_ITERATIONS + 1):
        system = Linearised(best.net, ledger)
        moved = system.step(best.net)
        if moved is None:
            break
        trial = _measure(moved, ledger, iteration)
        if not trial.chi < best.chi:
            break
        done = trial.chi > 0.5 * best.chi
        best = trial
        if done or best.chi < 1e-2:
            break
    return best


def _measure(net: Net, ledger: Ledger, iteration: int) -> Fit:
    rows = np.abs(ledger.y - net.predict(ledger.X)) / net.noise(ledger.X, ledger.largest)
    probes = np.zeros(net.k)
    for number in range(net.k):
        probe: Probe | None = net.probes[number]
        while probe is not None:
            core = _probe_rows(net, number, probe, ledger.largest)
            probes[number] = max(probes[number], np.abs(core.residuals * core.weights).max(initial=0.0))
            probe = probe.earlier
    chi = max(float(rows.max(initial=0.0)), float(probes.max(initial=0.0)))
    return Fit(net, chi if np.isfinite(chi) else np.inf, rows, probes, iteration)


def probe_residuals(net: Net, number: int, largest: float) -> Floats:
    """Return the residuals at one unit's latest probe."""
    return _probe_rows(net, number, net.probes[number], largest).residuals


@dataclass(frozen=True)
class _ProbeRows:
    """The linearised probes of one unit."""

    residuals: Floats  # (d - 2,)
    weights: Floats  # 1 / standard size
    values: Floats  # (d - 2, k): g of every unit's argument
    slopes: Floats  # (d - 2,): u g' of the own unit


def _probe_rows(net: Net, number: int, probe: Probe, largest: float) -> _ProbeRows:
    link = net.link
    at_base = net.a @ probe.base + net.b  # (k,)
    reach = 0.0 if not len(probe.lengths) else float(np.abs(probe.lengths).max())
    still = np.abs(at_base) > link.flat + reach * np.linalg.norm(net.a, axis=1)
    still[number] = False
    moving = np.flatnonzero(~still)
    local = probe.frame.coordinates(net.a[moving])[:, 2:]  # (moving, d - 2)
    arguments = at_base[moving] + probe.lengths[:, None] * local.T  # (d - 2, moving)
    values = np.broadcast_to(np.sign(at_base), (len(probe.lengths), net.k)).copy()
    values[:, moving] = link.odd.value(arguments)
    active = link.odd.derivative(arguments) * net.u[moving]
    norms = np.linalg.norm(net.a[moving], axis=1)
    radius = np.hypot(np.linalg.norm(probe.base), probe.lengths)
    terms = 2 * radius[:, None] * norms + np.abs(net.b[moving])
    noise = EPS * (4 * largest + (np.abs(active) * terms).sum(axis=1))
    own = int(np.flatnonzero(moving == number)[0])
    return _ProbeRows(probe.answers - values @ net.u - net.c, 1 / noise, values, active[:, own])


class _Core:
    """One unit's core rows, and how to divide by them.

    Around the probe's base the unknowns are the unit's frame coordinates and its argument at the base.
    """

    def __init__(self, net: Net, number: int, row_slopes: Floats, X: Floats, largest: float) -> None:
        self.probe = net.probes[number]
        self.frame = self.probe.frame
        self.across = _probe_rows(net, number, self.probe, largest)
        rows = self.probe.rows
        flat = (X[rows] - self.probe.base) @ self.frame.plane.T
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


class Linearised:
    """The weighted, linearised equations of all replies around a network.

    Stored rows split into core rows and `extra` ones; the unknowns of unit l are eliminated by its core.
    """

    def __init__(self, net: Net, ledger: Ledger) -> None:
        self.net, self.largest = net, ledger.largest
        X, link = ledger.X, net.link
        arguments = net.arguments(X)
        self.noise = net.noise(X, ledger.largest)
        values = link.odd.value(arguments)
        slopes = link.odd.derivative(arguments) * net.u / self.noise[:, None]  # (m, k)
        self.residuals = (ledger.y - values @ net.u - net.c) / self.noise
        globals_ = np.concatenate([values, np.ones((len(X), 1))], axis=1) / self.noise[:, None]  # (m, k + 1)
        self.cores = [
            _Core(net, number, slopes[probe.rows, number], X, ledger.largest) for number, probe in enumerate(net.probes)
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
        probes = np.concatenate([across.values, np.ones((len(across.residuals), 1))], axis=1) * across.weights[:, None]
        return np.concatenate([self.globals[core.chosen], probes])  # (d + 1, k + 1)

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

    def solve(self, extra: Floats, cores: list[Floats]) -> tuple[Floats, list[Floats]]:
        """Least squares for several right-hand sides.

        Parameters
        ----------
        extra : (m, n) array
            Weighted residuals of the extra rows.
        cores : list of (d + 1, n) arrays
            Weighted residuals of each unit's core rows.

        Returns
        -------
        shared : (k + 1, n) array
            Changes of the weights and of the intercept.
        own : list of (d + 1, n) arrays
            Changes of each unit's (a, b).
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
        return shared, own

    def step(self, net: Net) -> Net | None:
        """Return the network after one Gauss-Newton step, or None where it is not finite."""
        cores = [
            np.concatenate([self.residuals[c.chosen], c.across.residuals * c.across.weights])[:, None]
            for c in self.cores
        ]
        shared, own = self.solve(self.residuals[self.extra][:, None], cores)
        change = np.array([part[:, 0] for part in own]).reshape(net.k, -1)
        if not (np.isfinite(change).all() and np.isfinite(shared).all()):
            return None
        return replace(
            net,
            a=net.a + change[:, :-1],
            b=net.b + change[:, -1],
            u=net.u + shared[:-1, 0],
            c=net.c + float(shared[-1, 0]),
        )

    def errors(self, rng: np.random.Generator, n_draws: int = 6) -> Errors:
        """Push draws of noise through the equations; its size is that of the residuals, with a margin."""
        cores = [rng.standard_normal((3 + len(c.weights), n_draws)) for c in self.cores]
        shared, own = self.solve(rng.standard_normal((len(self.extra), n_draws)), cores)
        size = self._noise_level()
        shared, own = size * shared, [size * part for part in own]
        k, lengths = self.net.k, np.linalg.norm(self.net.a, axis=1)
        along, across, offset, worst = (np.zeros((k, n_draws)) for _ in range(4))
        for number, part in enumerate(own):
            along[number] = self.net.a[number] @ part[:-1] / lengths[number]
            worst[number] = np.linalg.norm(part[:-1], axis=0) / lengths[number]
            across[number] = np.sqrt(np.maximum(worst[number] ** 2 - (along[number] / lengths[number]) ** 2, 0))
            offset[number] = part[-1]
        relative = np.maximum(worst, np.abs(offset) / (1 + np.abs(self.net.b))[:, None])
        relative = np.maximum(relative, np.abs(shared[:-1]) / np.abs(self.net.u)[:, None])
        return Errors(
            _rms(across), _rms(along), _rms(offset), _rms(shared[:-1]), float(_rms(shared[-1])),
            worst.max(axis=1), relative.max(axis=1),
        )  # fmt: skip

    def _noise_level(self) -> float:
        """Return three times the root mean square of the residuals that show rounding of arguments; 1 if there are few.

        The standard sizes are cautious: sums of products round to a fraction of their bound.
        """
        output = 4 * EPS * self.largest
        shows = self.noise > 2 * output
        freedom = int(shows.sum()) - 3 * self.net.k
        if freedom < 10:
            return 1.0
        return max(0.1, 3 * float(np.sqrt((self.residuals[shows] ** 2).sum() / freedom)))


def _rms(draws: Floats) -> Floats:
    """Root mean square over the last axis."""
    return np.asarray(np.sqrt(np.mean(draws**2, axis=-1)))
