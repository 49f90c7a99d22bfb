"""Why few answers make slopes too steep, to second order, and what remains once that is taken off.

Two things bias a joint fit by a fraction of a standard error, and most of all the slopes, which set the cones. Fitted
values bend (Box 1971): the bias of least squares is ``-C J^T W m / 2`` with J the derivatives of the fitted values, W
the precisions, C the covariance, and m the traces of ``C H_i``, H_i the second derivatives of value i. And points of
leverage stand where the plane of a unit was believed to be, so that the information depends on earlier errors. By the
expansion of Woodroofe (1989) for designs that learn, the bias is the divergence of ``C(theta)``, design included, minus
``C l''' C / 2``; for a design that does not learn this is Box's formula, so that such points add the divergence of C
through their places alone: if a unit moves by ``delta``, its points follow by ``-(x delta) / |a|`` along it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...activations import Activation
from ...arguments import Floats
from ...fit import Fitted, fit_jointly, mirror_rows, moved_by, value_jacobian
from ...likelihood import Noise
from .settings import BIAS


class Replies(NamedTuple):
    """What was fitted: inputs (n, d), answers (n,), and which rows were placed on the plane of a unit, (n,)."""

    X: Floats
    y: Floats
    placed: NDArray[np.bool_]


def without_bias(fitted: Fitted, replies: Replies, noise: Noise, g: Activation) -> Fitted:
    """Return a fit to additive noise with its second-order bias taken off, and the information there.

    Where they stand says on which side of the truth a direction is, so that directions move, too. A correction is
    shortened until no parameter moves by more than 1.5 standard errors. The length of a vector is too long besides, by
    the trace of the covariance across it over twice the length. O(n P^2) flops for P unknowns.
    """
    X, y, placed = replies
    weights = noise.precision(y)
    bias = curvature_bias(fitted, X, weights, g) + design_bias(fitted, X[placed], weights[placed], g)
    # One step against the bias, shortened as a whole where any parameter would move farther than the expansion holds.
    variances = np.maximum(np.diag(fitted.covariance), 1e-300)
    largest = float(np.abs(bias / np.sqrt(variances)).max())
    theta = moved_by(fitted.theta, fitted.mirrors, -min(1.0, BIAS.most / max(largest, 1e-300)) * bias)
    layout = theta.layout
    # E|a + e|^2 = |a|^2 + trace of the covariance: errors across a vector make it too long, to second order.
    across = layout.rows(variances)[:, 1 : layout.n_features].sum(axis=1)
    surplus = across / (2 * (theta.A**2).sum(axis=1))
    shorter = theta._replace(A=theta.A * (1 - np.minimum(surplus, 0.5))[:, None])
    return fit_jointly(shorter, X, y, noise, g, most=0)


def curvature_bias(fitted: Fitted, X: Floats, weights: Floats, g: Activation) -> Floats:
    """Return Box's bias in the local coordinates, (P,), for inputs that do not depend on the answers.

    The second derivatives of one value are zero but for each unit's own (a, b, u).
    """
    theta, C = fitted.theta, fitted.covariance
    layout = theta.layout
    z = X @ theta.A.T + theta.b
    first, second = g.derivative(z), g.second_derivative(z)
    # Tr(C H_i), with H_i the second derivatives of value i. Those in (a, b) are u g'' x x', those in ((a, b), u) are g'
    # x; between units they vanish, so that only the units' own blocks of C are needed.
    traces = np.zeros(len(X))
    for unit in range(layout.n_units):
        x, own = _local(X, fitted, unit), layout.own(unit)
        traces += theta.u[unit] * second[:, unit] * ((x @ C[own, own]) * x).sum(axis=1)
        traces += 2 * first[:, unit] * (x @ C[own, layout.weights][:, unit])
    J = value_jacobian(theta, X, g, fitted.mirrors)
    return np.asarray(-0.5 * C @ (J.T @ (traces * weights)))


def design_bias(fitted: Fitted, X: Floats, weights: Floats, g: Activation) -> Floats:
    """Return the bias in the local coordinates, (P,), from inputs that were placed on the plane of the nearest unit.

    With ``v_i = C J_i w_i`` for row i and precision w_i, and ``q_i`` the derivative of J_i along the unit over |a|,
    it is the sum of ``(C q_i) (x v_i) + v_i (x C q_i)``, products with x being over the unit's own (a, b).
    """
    theta, C = fitted.theta, fitted.covariance
    # Which unit a row was placed for is not stored: it is the one whose hyperplane is next to it.
    nearest = np.argmin(np.abs(X @ theta.A.T + theta.b), axis=1)
    bias = np.zeros(len(C))
    for unit in np.unique(nearest):
        rows, own = nearest == unit, theta.layout.own(int(unit))
        x = _local(X[rows], fitted, unit)
        V = (value_jacobian(theta, X[rows], g, fitted.mirrors) * weights[rows, None]) @ C
        Q = _changes(fitted, X[rows], theta.A[unit] / (theta.A[unit] @ theta.A[unit]), g) @ C
        bias += (x * V[:, own]).sum(axis=1) @ Q + (x * Q[:, own]).sum(axis=1) @ V
    return bias


def _changes(fitted: Fitted, X: Floats, direction: Floats, g: Activation) -> Floats:
    """Return the derivatives of the rows of J, (n, P), as their inputs move in a direction."""
    theta, layout = fitted.theta, fitted.theta.layout
    z, along = X @ theta.A.T + theta.b, theta.A @ direction
    first, second = g.derivative(z), g.second_derivative(z) * along
    Q = np.zeros((len(X), layout.size))
    for unit in range(layout.n_units):
        own = layout.own(unit)
        Q[:, own] = second[:, unit, None] * _local(X, fitted, unit)
        Q[:, layout.a(unit)] += np.outer(first[:, unit], mirror_rows(direction[None], fitted.mirrors[unit]))
        Q[:, own] *= theta.u[unit]
    Q[:, layout.weights] = first * along
    return Q


def _local(X: Floats, fitted: Fitted, unit: int) -> Floats:
    """Return the inputs in a unit's frame, and a one for its offset; (n, d + 1)."""
    return np.concatenate([mirror_rows(X, fitted.mirrors[unit]), np.ones((len(X), 1))], axis=1)
