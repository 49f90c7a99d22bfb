"""How constraints and priors enter a Gauss-Newton step: local coordinates, weak priors, ridges."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arguments import Floats
from ..likelihood import Noise
from .family import Family
from .parameters import Layout, Parameters


class Coordinates:
    """Coordinates about a point of a family.

    Parameters
    ----------
    family : Family
    metric : (d, d) array, optional
        The slope of unit a is ``sqrt(a' metric a)``; identity by default. Needed when the fit runs in whitened
        coordinates but slopes are meant in the coordinates of the user.
    """

    def __init__(self, family: Family, metric: Floats | None = None) -> None:
        self.family, self.metric = family, metric

    @property
    def constrained(self) -> bool:
        return self.family.slopes != "each" or self.family.simplex

    def slopes(self, A: Floats) -> Floats:
        """Return the slopes (k,) of the rows of A."""
        return np.asarray(np.sqrt(np.einsum("kd,kd->k", A, self._times_metric(A))))

    def nearest(self, theta: Parameters) -> Parameters:
        """Return the nearest sensible member of the family: slopes equalised, weights on the simplex."""
        A, u, b = theta.A, theta.u, theta.b
        if self.family.simplex:
            sign = np.where(u < 0, -1.0, 1.0)
            # u f(a x + b) = -u f(-a x - b) for odd f: a negative weight becomes a turned unit.
            u, A, b = np.abs(u) / max(np.abs(u).sum(), 1e-300), A * sign[:, None], b * sign
        if self.family.slopes != "each":
            lengths = np.maximum(self.slopes(A), 1e-300)
            common = self.family.slopes
            # The geometric mean is the common slope that moves the logarithms least.
            wanted = float(np.exp(np.log(lengths).mean())) if common == "common" else float(common)
            A = A * (wanted / lengths)[:, None]
        return Parameters(
            A, u, b if self.family.offsets else np.zeros_like(b), theta.c if self.family.intercept else 0.0
        )

    def tangent(self, theta: Parameters) -> Floats:
        """Return G (size, q): the change of the flat parameters per local coordinate."""
        k, d = theta.A.shape
        size = self.family.size(k, d)
        if not self.constrained:
            return np.eye(size)
        columns = [self._unit_columns(theta, size), self._weight_columns(theta, size)]
        rest = np.eye(size)[:, self.family.layout(k, d).weights.stop :]
        return np.hstack([*columns, rest])

    def moved(self, theta: Parameters, step: Floats) -> Parameters:
        """Move by flat step ``G @ local`` and return onto the constraint."""
        k, d = theta.A.shape
        moved = self.family.unpack(self.family.pack(theta) + step, k, d)
        if self.family.simplex:
            # Multiplicative steps u exp(du / u) stay on the simplex's inside and agree with u + du to first order.
            change = step[self.family.layout(k, d).weights] / np.maximum(theta.u, 1e-12)
            u = theta.u * np.exp(np.clip(change, -3.0, 3.0))  # stays positive; equal to first order
            moved = moved._replace(u=u / u.sum())
        return moved if self.family.slopes == "each" else self.nearest(moved)

    def _times_metric(self, A: Floats) -> Floats:
        return A if self.metric is None else np.asarray(A @ self.metric)

    def _unit_columns(self, theta: Parameters, size: int) -> Floats:
        k, d = theta.A.shape
        layout = self.family.layout(k, d)
        if self.family.slopes == "each":
            return np.eye(size)[:, layout.units]
        # With |a|_M fixed, da must satisfy a' M da = 0: d - 1 free directions a unit, orthogonal to M a.
        normals = self._times_metric(theta.A)
        G = np.zeros((size, k * (d - 1)))
        for unit in range(k):
            frame = np.linalg.qr(normals[unit][:, None], mode="complete")[0][:, 1:]  # (d, d - 1)
            G[layout.a(unit), unit * (d - 1) : (unit + 1) * (d - 1)] = frame
        if self.family.slopes != "common":
            return G
        longer = np.zeros((size, 1))
        longer[layout.units, 0] = theta.A.ravel() / max(float(np.linalg.norm(theta.A)), 1e-300)
        return np.hstack([G, longer])

    def _weight_columns(self, theta: Parameters, size: int) -> Floats:
        k = len(theta.u)
        weights = self.family.layout(*theta.A.shape).weights
        if not self.family.simplex:
            return np.eye(size)[:, weights]
        # On the simplex: relative changes u * eta with mean zero under u keep the sum.
        G = np.zeros((size, max(k - 1, 0)))
        if k > 1:
            # diag(u) - u u' is the derivative of the softmax; its range, of rank k - 1, is the tangent of the simplex.
            spread = np.diag(theta.u) - np.outer(theta.u, theta.u)
            G[weights] = np.linalg.svd(spread)[0][:, : k - 1]
        return G


_LEAST = 1e-30  # square of a slope, or of the noise of a fit that is exact: nothing

_WIDE = 1 / 64  # one over the variance of entries and offsets, which have standard deviations of 8


@dataclass(frozen=True)
class Prior:
    """Independent Gaussians, in the coordinates of the fit; each number is one over a variance, and zero says nothing.

    Attributes
    ----------
    arguments : float or (d,) array
        Of the entries of A, one for all columns or one for each.
    offsets, weights : float
    slopes : float
        Of a unit's log-slope about the typical one.
    typical : float, optional
        The slope that they vary about; by default the geometric mean of all.
    drag : float
        Times d - 1, what an e-fold of a slope costs. Directions are fitted to the noise, too, which makes the most
        likely slopes too steep; integrated over all directions the likelihood has a factor ``|I|^(-1/2)``, and the
        information I of d - 1 coordinates of a direction grows with the slope.
    products : float or (d,) array
        Of the entries of A times the weights, what a unit adds to the slopes of the function where it is steepest. In
        the limit of flat units and large weights, a straight line, it is the ridge of linear regression.
    least_variance : float
        Added to the variance of noise that is estimated: without it, what passes through all rows beats every prior.
        By default only a floor for exact fits, below which there is nothing left to gain.

    Notes
    -----
    The defaults are for rows and target of unit scale: standard deviations of 8, 8, 3 and, for log-slopes, 1/2.
    """

    arguments: float | Floats = _WIDE
    offsets: float = _WIDE
    weights: float = 1 / 9
    slopes: float = 4.0
    typical: float | None = None
    drag: float = 0.0
    products: float | Floats = 0.0
    least_variance: float = _LEAST  # of a target of unit scale

    def within(self, family: Family) -> Prior:
        """Return what is left of it in a family: weights on the simplex and common slopes need no prior, and where
        weights are chances a product says less than the slope does."""
        weights = 0.0 if family.simplex else self.weights
        slopes = self.slopes if family.slopes == "each" else 0.0
        if not family.simplex:
            return replace(self, weights=weights, slopes=slopes)
        return replace(self, weights=weights, slopes=slopes, arguments=self.arguments + self.products, products=0.0)

    def loss(self, theta: Parameters) -> float:
        """Return minus the log-density, up to a constant."""
        surplus = self._log_slopes(theta.A)
        squares = float((self.arguments * theta.A**2).sum()) + self.offsets * float(theta.b @ theta.b)
        squares += self.weights * float(theta.u @ theta.u) + self.slopes * float(surplus @ surplus)
        squares += float((self.products * (theta.A * theta.u[:, None]) ** 2).sum())
        return 0.5 * squares + float(self.drag * (theta.A.shape[1] - 1) * surplus.sum())

    def gradient(self, theta: Parameters) -> Parameters:
        """Return the gradient of :meth:`loss`, parameter by parameter."""
        pull = self.slopes * self._log_slopes(theta.A) + self.drag * (theta.A.shape[1] - 1)
        A = self.arguments * theta.A + theta.A * (pull / _squares(theta.A))[:, None]
        A = A + self.products * theta.A * theta.u[:, None] ** 2
        u = theta.u * (self.weights + (self.products * theta.A**2).sum(axis=1))
        linear = None if theta.linear is None else np.zeros_like(theta.linear)
        return Parameters(A, u, self.offsets * theta.b, 0.0, linear)

    def precision(self, theta: Parameters) -> Parameters:
        """Return the curvature of all but the part for slopes, which is diagonal."""
        A, u, b, _, linear = theta
        nothing = None if linear is None else np.zeros_like(linear)
        return Parameters(
            np.broadcast_to(self.arguments, A.shape),
            np.full_like(u, self.weights),
            np.full_like(b, self.offsets),
            0.0,
            nothing,
        )

    def along(self, A: Floats) -> Floats:
        """Return the curvature of the part for slopes along each unit, (k,); never negative, as the true one may be."""
        return np.asarray(self.slopes / _squares(A))

    def curvature(self, theta: Parameters, layout: Layout) -> Floats:
        """Return a positive semidefinite stand-in for the Hessian, (size, size)."""
        # Gauss-Newton of the log-slope prior: along a only, since log|a| changes as a' da / |a|^2.
        H = np.diag(layout.pack(self.precision(theta)))
        for unit, (a, along) in enumerate(zip(theta.A, self.along(theta.A))):
            block = layout.a(unit)
            H[block, block] += along * np.outer(a, a) / max(float(a @ a), _LEAST)
        return H if np.ndim(self.products) == 0 and self.products == 0 else H + self._product_curvature(theta, layout)

    def _product_curvature(self, theta: Parameters, layout: Layout) -> Floats:
        """Return the Gauss-Newton matrix of the part for products: each is linear in both of its factors."""
        H = np.zeros((layout.size, layout.size))
        precision = np.broadcast_to(self.products, theta.A.shape[1])
        for unit, (a, u) in enumerate(zip(theta.A, theta.u)):
            block, weight = layout.a(unit), layout.weights.start + unit
            # p (u a_j)^2 / 2 is linear in u and in a_j: its Gauss-Newton matrix has the blocks u^2 P, u P a and a' P a.
            H[block, block] = u**2 * np.diag(precision)
            H[block, weight] = H[weight, block] = u * precision * a
            H[weight, weight] = float(a @ (precision * a))
        return H

    def _log_slopes(self, A: Floats) -> Floats:
        """(k,) log-slopes over what is expected of them."""
        logs = 0.5 * np.log(_squares(A))
        return np.asarray(logs - (logs.mean() if self.typical is None else np.log(self.typical)))


NO_PRIOR = Prior(0.0, 0.0, 0.0, 0.0)
_SLOPES_ONLY = Prior(0.0, 0.0, 0.0, slopes=1.0)  # guess
# The drag is 1/2 where arguments spread widely and 1 where all are on the slope; levers are in between. Guesses.
_FOR_LABELS = Prior(0.0, 0.0, 0.0, slopes=4.0, drag=0.6)


def slope_prior(noise: Noise) -> Prior:
    """Return what is believed about the slopes of units behind a black box's answers."""
    if noise.typical_slope is None:
        return _SLOPES_ONLY
    return replace(_FOR_LABELS, typical=noise.typical_slope)


def _squares(A: Floats) -> Floats:
    return np.asarray(np.maximum((A * A).sum(axis=1), _LEAST))
