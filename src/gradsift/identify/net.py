"""The network found so far, in odd form."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..checking import Floats
from ..model import SigmoidCombination
from .frames import Frame
from .ledger import EPS
from .links import Link

__all__ = ["Net", "Probe", "empty_net"]


@dataclass(frozen=True)
class Probe:
    """The replies from which one unit was read: all other units stand still at these points.

    The probe points are ``base + lengths[j] * frame.across(j)``; they are regenerated, not stored.

    Attributes
    ----------
    frame : Frame
    base : (d,) array
        A point on (or close to) the unit's hyperplane.
    lengths, answers : (d - 2,) arrays
    rows : (n,) int array
        Numbers of stored rows in the plane through the base, at least three, that settle the unit's part in that plane
        and its offset.
    earlier : Probe, optional
        One from further out that this one replaced.
    """

    frame: Frame
    base: Floats
    lengths: Floats
    answers: Floats
    rows: NDArray[np.intp]
    earlier: Probe | None = None

    def points(self, part: slice = slice(None)) -> Floats:
        """Return the probe points, shape (n, d)."""
        numbers = np.arange(len(self.lengths))[part]
        steps: Floats = self.lengths[part, None] * self.frame.across(numbers)
        return np.asarray(self.base + steps)


@dataclass(frozen=True)
class Net:
    """``c + sum_l u_l g(a_l x + b_l)`` with odd g.

    Attributes
    ----------
    a, b, u : (k, d), (k,), (k,) arrays
    c : float
    probes : tuple of Probe
        One for each unit; None for units that were not read one by one.
    """

    link: Link
    a: Floats
    b: Floats
    u: Floats
    c: float
    probes: tuple[Probe | None, ...]

    @property
    def k(self) -> int:
        """Number of units."""
        return len(self.u)

    def arguments(self, X: Floats) -> Floats:
        """Return the (n, k) arguments at the rows of X."""
        return np.asarray(X @ self.a.T + self.b)

    def predict(self, X: Floats) -> Floats:
        """Return the values at the rows of X."""
        return np.asarray(self.link.odd.value(self.arguments(X)) @ self.u + self.c)

    def noise(self, X: Floats, largest: float) -> Floats:
        """Return the standard size of rounding in the oracle's answers at the rows of X, shape (n,).

        The output is rounded a few times, and each argument by its own size and that of its terms.
        """
        return EPS * (4 * largest + self._argument_terms(X, 2.0))

    def sensitivity(self, X: Floats) -> Floats:
        """Return how much the values at the rows of X change if every parameter changes by its own size, shape (n,)."""
        return np.asarray(abs(self.c) + np.abs(self.u).sum() + self._argument_terms(X, 1.0))

    def _argument_terms(self, X: Floats, share: float) -> Floats:
        active = np.abs(self.u) * self.link.odd.derivative(self.arguments(X))  # (n, k)
        terms = share * np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(self.a, axis=1) + np.abs(self.b)
        return np.asarray((active * terms).sum(axis=1))

    def with_units(self, other: Net) -> Net:
        """Return both networks' units over this one's constant."""
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
        return self.link.to_model(self.a, self.b, self.u, self.c)


def empty_net(link: Link, n_features: int, c: float) -> Net:
    """Return a constant."""
    return Net(link, np.empty((0, n_features)), np.empty(0), np.empty(0), c, ())
