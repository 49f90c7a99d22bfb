"""Weak priors: they keep a fit to few rows from growing a spike unit, a huge slope with a tiny weight. And ridges."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..checking import Floats
from ..likelihood import Noise
from .layout import Family, Layout, Parameters

__all__ = ["NO_PRIOR", "Prior", "slope_prior"]

_LEAST = 1e-30  # square of a slope


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

    arguments: float | Floats = 1 / 64
    offsets: float = 1 / 64
    weights: float = 1 / 9
    slopes: float = 4.0
    typical: float | None = None
    drag: float = 0.0
    products: float | Floats = 0.0
    least_variance: float = 1e-28  # of a target of unit scale

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
        surplus = self._surplus(theta.A)
        squares = float((self.arguments * theta.A**2).sum()) + self.offsets * float(theta.b @ theta.b)
        squares += self.weights * float(theta.u @ theta.u) + self.slopes * float(surplus @ surplus)
        squares += float((self.products * (theta.A * theta.u[:, None]) ** 2).sum())
        return 0.5 * squares + float(self.drag * (theta.A.shape[1] - 1) * surplus.sum())

    def gradient(self, theta: Parameters) -> Parameters:
        """Return the gradient of :meth:`loss`, parameter by parameter."""
        pull = self.slopes * self._surplus(theta.A) + self.drag * (theta.A.shape[1] - 1)
        A = self.arguments * theta.A + theta.A * (pull / _squares(theta.A))[:, None]
        A = A + self.products * theta.A * theta.u[:, None] ** 2
        u = theta.u * (self.weights + (self.products * theta.A**2).sum(axis=1))
        linear = None if theta.linear is None else np.zeros_like(theta.linear)
        return Parameters(A, u, self.offsets * theta.b, 0.0, linear)

    def precisions(self, theta: Parameters) -> Parameters:
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
        H = np.diag(layout.pack(self.precisions(theta)))
        for unit, (a, along) in enumerate(zip(theta.A, self.along(theta.A))):
            block = layout.a(unit)
            H[block, block] += along * np.outer(a, a) / max(float(a @ a), _LEAST)
        return H if np.ndim(self.products) == 0 and self.products == 0 else H + self._of_products(theta, layout)

    def _of_products(self, theta: Parameters, layout: Layout) -> Floats:
        """Return the Gauss-Newton matrix of the part for products: each is linear in both of its factors."""
        H = np.zeros((layout.size, layout.size))
        precision = np.broadcast_to(self.products, theta.A.shape[1])
        for unit, (a, u) in enumerate(zip(theta.A, theta.u)):
            block, weight = layout.a(unit), layout.weights.start + unit
            H[block, block] = u**2 * np.diag(precision)
            H[block, weight] = H[weight, block] = u * precision * a
            H[weight, weight] = float(a @ (precision * a))
        return H

    def _surplus(self, A: Floats) -> Floats:
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
