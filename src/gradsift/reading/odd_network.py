"""The network found so far, in odd form, and as a plane shows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import Floats
from ..fit import Layout
from ..model import SigmoidCombination
from .device_arrays import IN_MEMORY, Array, Arrays
from .ledger import Ledger
from .odd_form import Link
from .plane_frame import PlaneFrame, circle_points

GRID = float(np.sqrt(1 / 12))  # standard deviation of rounding over its step


@dataclass(frozen=True)
class Probe:
    """The replies from which one unit was read: all other units stand still at these points.

    The probe points are ``base + lengths[j] * frame.across(j)``; they are regenerated, not stored.

    Attributes
    ----------
    frame : PlaneFrame
    base : (d,) array
        A point on (or close to) the unit's hyperplane.
    lengths, answers : (d - 2,) arrays
    rows : (n,) int array
        Numbers of stored rows in the plane through the base, at least three, that settle the unit's part in that plane
        and its offset.
    earlier : Probe, optional
        One from further out that this one replaced.
    """

    frame: PlaneFrame
    base: Floats
    lengths: Floats
    answers: Floats
    rows: NDArray[np.intp]
    earlier: Probe | None = None

    def points(self, part: slice = slice(None), xp: Arrays = IN_MEMORY) -> Array:
        """Return the probe points among these arrays, shape (n, d)."""
        numbers = xp.put(np.arange(len(self.lengths))[part])
        return self.frame.beside(xp).step_from(
            xp.put(self.base[None]), 0 * numbers, numbers, xp.put(self.lengths[part]), xp
        )


@dataclass(frozen=True)
class Net:
    """``c + <linear, x> + sum_l u_l g(a_l x + b_l)`` with odd g.

    Attributes
    ----------
    a, b, u : (k, d), (k,), (k,) arrays
    c : float
    probes : tuple of Probe
        One for each unit; None for units that were not read one by one.
    linear : (d,) array or None
        None: there is no linear term.
    """

    link: Link
    a: Floats
    b: Floats
    u: Floats
    c: float
    probes: tuple[Probe | None, ...]
    linear: Floats | None = None

    @property
    def k(self) -> int:
        """Number of units."""
        return len(self.u)

    @property
    def n_unknowns(self) -> int:
        """Number of parameters."""
        return self.layout.size

    @property
    def layout(self) -> Layout:
        """Where the parameters sit in a flat vector."""
        k, d = self.a.shape
        return Layout(k, d, linear=self.linear is not None)

    def arguments(self, X: Floats) -> Floats:
        """Return the (n, k) arguments at the rows of X."""
        return np.asarray(X @ self.a.T + self.b)

    def predict(self, X: Floats) -> Floats:
        """Return the values at the rows of X."""
        values = self.link.odd.value(self.arguments(X)) @ self.u + self.c
        return np.asarray(values if self.linear is None else values + X @ self.linear)

    def noise(self, X: Floats, ledger: Ledger) -> Floats:
        """Return the standard size of rounding in the oracle's answers at the rows of X, shape (n,).

        The output is rounded a few times, and each argument by its own size and that of its terms.
        """
        terms = self.argument_sizes(X, 2.0, ledger.away)
        rounded = 4 * ledger.sizes(np.linalg.norm(X, axis=1)) + terms
        return np.asarray(ledger.eps * rounded + GRID * ledger.step + ledger.own(self.predict(X)))

    def sensitivity(self, X: Floats) -> Floats:
        """Return how much the values at the rows of X change if every parameter changes by its own size, shape (n,)."""
        growth = 0.0 if self.linear is None else np.linalg.norm(self.linear) * np.linalg.norm(X, axis=1)
        return np.asarray(abs(self.c) + np.abs(self.u).sum() + growth + self.argument_sizes(X))

    def argument_sizes(self, X: Floats, share: float = 1.0, away: float = 0.0) -> Floats:
        """Return how much the values at the rows of X change if the terms of all arguments change by their size, (n,).

        Of ``<a, x>`` that is a share of the largest size it can have, with x measured from a point this far `away`.
        """
        # A change dz of an argument changes the value by u g'(z) dz, and |<a, x>| is at most |a| |x|.
        active = np.abs(self.u) * self.link.odd.derivative(self.arguments(X))  # (n, k)
        reach = share * (np.linalg.norm(X, axis=1) + away)
        terms = reach[:, None] * np.linalg.norm(self.a, axis=1) + np.abs(self.b)
        return np.asarray((active * terms).sum(axis=1))

    def with_units(self, other: Net) -> Net:
        """Return both networks' units over this one's constant and linear term."""
        return replace(
            self,
            a=np.concatenate([self.a, other.a]),
            b=np.concatenate([self.b, other.b]),
            u=np.concatenate([self.u, other.u]),
            probes=self.probes + other.probes,
        )

    def only(self, keep: NDArray[np.bool_]) -> Net:
        """Return the network with the units selected by a mask."""
        numbers = np.arange(self.k)[keep]
        probes = tuple(self.probes[i] for i in numbers)
        return replace(self, a=self.a[numbers], b=self.b[numbers], u=self.u[numbers], probes=probes)

    def all_probes(self) -> list[Probe]:
        """Return the latest and the earlier probes of all units."""
        found = []
        for latest in self.probes:
            while latest is not None:
                found.append(latest)
                latest = latest.earlier
        return found

    def to_model(self) -> SigmoidCombination:
        """Return the canonical public model."""
        return self.link.to_model(self.a, self.b, self.u, self.c, 0.0 if self.linear is None else self.linear)


def empty_net(link: Link, n_features: int, c: float, linear: Floats | None = None) -> Net:
    """Return a constant, with a linear term if there is one."""
    return Net(link, np.empty((0, n_features)), np.empty(0), np.empty(0), c, (), linear)


class ProjectedNet(NamedTuple):
    """Known units on a plane: (k, 2) parts of the units in it, and (2,) of the linear term or None."""

    known: Net
    units: Floats
    linear: Floats | None

    def arguments(self, radius: float | Floats, angles: Floats) -> Floats:
        """Return the (n, k) arguments at polar coordinates; O(n k) instead of O(n k d)."""
        return np.asarray(circle_points(radius, angles) @ self.units.T + self.known.b)

    def predict(self, radius: float | Floats, angles: Floats, arguments: Floats | None = None) -> Floats:
        """Return the values at polar coordinates, (n,), from the arguments there if these are at hand."""
        known, z = self.known, self.arguments(radius, angles) if arguments is None else arguments
        values = known.link.odd.value(z) @ known.u + known.c
        return np.asarray(values if self.linear is None else values + circle_points(radius, angles) @ self.linear)


def projected_on(frame: PlaneFrame, known: Net) -> ProjectedNet:
    """Return known units on the plane of a frame; O(k d)."""
    return ProjectedNet(known, known.a @ frame.plane.T, None if known.linear is None else frame.plane @ known.linear)
