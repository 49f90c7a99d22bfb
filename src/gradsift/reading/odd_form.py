"""Activations as black boxes show them: inverted, seen through coarse answers, and turned back into a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..activations import ACTIVATIONS, Activation, OddForm, get_activation
from ..arguments import Floats
from ..fit import Layout
from ..model import SigmoidCombination
from .device_arrays import IN_MEMORY, Array, Arrays
from .ledger import Ledger
from .plane_frame import PlaneFrame, circle_points


@dataclass(frozen=True)
class Link:
    """The odd sigmoid g that units are read with, and its relation to the activation asked for.

    ``f(z) = center + gain g(stretch z)``; those with plateaus have the limits -1 and +1.

    Attributes
    ----------
    activation : Activation
        f itself.
    form : OddForm
    flat : float
        Beyond this argument g equals its limit as far as answers show; inf for algebraic tails.
    usable : float
        Up to this argument the inverse still has a few correct digits.
    eps : float
        Relative rounding of the arguments inside the oracle.
    """

    activation: Activation
    form: OddForm
    flat: float
    usable: float
    eps: float = float(np.finfo(np.float64).eps)

    @property
    def odd(self) -> Activation:
        """g."""
        return self.form.g

    @property
    def gain(self) -> float:
        """Weight of g over that of f."""
        return self.form.gain

    @property
    def stretch(self) -> float:
        """Argument of g over that of f."""
        return self.form.stretch

    def with_precision(self, step: float, eps: float) -> Link:
        """Return the same sigmoid seen through answers with the given step, as a share of the typical answer."""
        flat, usable = self.odd.invert(1 - np.array([0.25, 10.0]) * step)
        return replace(self, flat=float(flat), usable=float(usable), eps=eps)

    def invert(self, ratios: Floats) -> Floats:
        """Return z with g(z) = ratio; ratios at or beyond the limits give an infinite z."""
        inside = np.clip(ratios, -1.0, 1.0)
        with np.errstate(divide="ignore"):
            return self.odd.invert(inside)

    def to_model(self, a: Floats, b: Floats, u: Floats, c: float, linear: ArrayLike = 0.0) -> SigmoidCombination:
        """Return ``c + <linear, x> + sum u g(a x + b)`` as a canonical model of the activation asked for."""
        weights = u / self.gain
        intercept = c - self.form.center * float(weights.sum())
        slopes = np.linalg.norm(a, axis=1) / self.stretch
        units = a / np.linalg.norm(a, axis=1, keepdims=True)
        model = SigmoidCombination(units, weights, slopes, b / self.stretch, intercept, self.activation, linear)
        return model.canonical()


def link_of(activation: str | Activation) -> Link:
    """Return the link of an activation, or say why a black box of such units cannot be read this way."""
    f = get_activation(activation)
    form = f.odd_form
    if form is None:
        raise ValueError(
            f"Units inside a black box must be sigmoids that are odd about their centre, and {f.name} is not: fit "
            "samples instead."
        )
    return Link(f, form, form.flat, form.usable)


def identity_form(activation: str | Activation) -> Link:
    """Return units read with the activation itself, odd or not: without plateaus, and near the origin only."""
    f = get_activation(activation)
    return Link(f, OddForm(f, 0.0, 1.0, 1.0, np.inf, np.inf), np.inf, np.inf)


def with_plateaus() -> list[Link]:
    """Return one link for each shape that reaches its limits; logistic has the shape of tanh."""
    links = [link_of(f) for f in ACTIVATIONS.values() if f.odd_form is not None]
    return [link for link in links if np.isfinite(link.flat) and link.odd.name == link.activation.name]


def with_tails() -> list[Link]:
    """Return the links of all sigmoids that never reach their limits."""
    return [link_of(f) for f in ACTIVATIONS.values() if f.odd_form is not None and np.isinf(f.odd_form.flat)]


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
