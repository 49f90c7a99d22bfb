"""All layers fitted to all answers at once, to the last digit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arguments import Floats
from ...certificate import BOUND
from ...fit.gauss_newton import Problem
from ...fit.jacobian import Layers, to_vector, with_vector
from ...fit.last_digits import fit_to_rounding
from ...tuned import LEAST_GAIN
from ..ledger import EPS


class Deep(NamedTuple):
    """``h_i = relu(W_i h_{i-1} + b_i)``, output ``v h_L + linear h_{L-1} + c``.

    layers : Layers
        The output's row last.
    linear : (m,) array or None
        What units of the last layer that are always active add: a term linear in the features below.
    slope : float
        Of a unit below its kink.
    """

    layers: Layers
    linear: Floats | None = None
    slope: float = 0.0

    @property
    def n_hidden(self) -> int:
        """Number of hidden layers."""
        return len(self.layers) - 1


class Passed(NamedTuple):
    """What happened at n rows on the way through: inputs into each layer, arguments and their derivatives of the
    value, layer by layer; `margin` is the least distance of an argument from zero over its terms, (n,)."""

    inputs: list[Floats]
    values: Floats
    slopes: list[Floats]
    arguments: list[Floats]
    margin: Floats
    rounding: Floats


def pass_through(net: Deep, X: Floats) -> Passed:
    """Return values, derivatives and roundings at the rows of X."""
    inputs, arguments, sizes = [X], [], []
    margin = np.full(len(X), np.inf)
    for W, b in net.layers[:-1]:
        z = inputs[-1] @ W.T + b
        size = np.abs(inputs[-1]) @ np.abs(W).T + np.abs(b)
        margin = np.minimum(margin, (np.abs(z) / (size + 1e-300)).min(axis=1, initial=np.inf))
        arguments.append(z)
        sizes.append(size)
        inputs.append(np.maximum(z, net.slope * z))
    (last,), (constant,) = net.layers[-1]
    values = inputs[-1] @ last + constant
    terms = np.abs(inputs[-1]) @ np.abs(last) + abs(constant)
    back, slopes = np.broadcast_to(last, inputs[-1].shape), []
    below: Floats | float = 0.0
    if net.linear is not None:
        values = values + inputs[-2] @ net.linear
        terms = terms + np.abs(inputs[-2]) @ np.abs(net.linear)
        below = net.linear
    rounding = 2 * terms
    for number in range(net.n_hidden - 1, -1, -1):
        slopes.append(np.asarray(back * np.where(arguments[number] > 0, 1.0, net.slope)))
        # Each argument is rounded by its terms, and reaches the output by the slope of its unit.
        rounding = rounding + (np.abs(slopes[-1]) * sizes[number]).sum(axis=1)
        back = slopes[-1] @ net.layers[number][0] + (below if number == net.n_hidden - 1 else 0.0)
    return Passed(inputs, np.asarray(values), slopes[::-1], arguments, margin, np.asarray(EPS * rounding))


def jacobian_of(net: Deep, passed: Passed, free: NDArray[np.intp]) -> Floats:
    """Return the derivatives by all free parameters, (n, p): by layer W by rows, then b; linear term, slope."""
    n = len(passed.values)
    blocks = []
    for inputs, slopes in zip(passed.inputs, passed.slopes):
        blocks += [(slopes[:, :, None] * inputs[:, None, :]).reshape(n, -1), slopes]
    blocks += [passed.inputs[-1], np.ones((n, 1))]
    if net.linear is not None:
        blocks.append(passed.inputs[-2])
    if net.slope:
        # A leaky unit below its kink is slope * z: its derivative by the slope is z, times what it adds above.
        told = np.zeros(n)
        for slopes, z in zip(passed.slopes, passed.arguments):
            told += (np.where(z < 0, z / net.slope, 0.0) * slopes).sum(axis=1)
        blocks.append(told[:, None])
    return np.concatenate(blocks, axis=1)[:, free]


def vector_of(net: Deep) -> Floats:
    """Return all parameters in one vector."""
    more = [net.linear] if net.linear is not None else []
    return np.concatenate([to_vector(net.layers), *more, [net.slope] if net.slope else []])


def with_parameters(net: Deep, vector: Floats) -> Deep:
    """Return a network of the same shape with these parameters."""
    slope = float(vector[-1]) if net.slope else 0.0
    rest = vector[:-1] if net.slope else vector
    layers = with_vector(net.layers, rest)
    linear = rest[-len(net.linear) :] if net.linear is not None else None
    return Deep(layers, linear, slope)


def free_parameters(net: Deep) -> NDArray[np.intp]:
    """Return the numbers of all parameters but the largest weight of each hidden unit: a unit and its output weights
    have a factor in common."""
    at, fixed = 0, []
    for W, b in net.layers[:-1]:
        fixed += [at + i * W.shape[1] + int(j) for i, j in enumerate(np.abs(W).argmax(axis=1))]
        at += W.size + b.size
    return np.setdiff1d(np.arange(len(vector_of(net))), fixed)


@dataclass(frozen=True)
class DeepFit:
    """A network fitted to answers.

    Attributes
    ----------
    net : Deep
    free : (p,) array
        Numbers of the parameters that were fitted.
    root : (p, p) array
        Of their covariance: ``root @ root.T``.
    chi, worst : float
        Root mean square and largest of the residuals over their roundings.
    n : int
        Answers fitted.
    """

    net: Deep
    free: NDArray[np.intp]
    root: Floats
    chi: float
    worst: float
    n: int

    @property
    def missed(self) -> bool:
        """Whether an answer is off by more than any rounding leaves: a unit is missing or wrong."""
        return LEAST_GAIN * self.worst > 1

    def row_errors(self) -> list[Floats]:
        """Return the standard errors of each row over its length, layer by layer, weights and offset together; that of
        the linear term last."""
        errors = np.zeros(len(vector_of(self.net)))
        errors[self.free] = np.sqrt((self.root**2).sum(axis=1))
        found, at = [], 0
        for W, b in self.net.layers:
            weights = errors[at : at + W.size].reshape(W.shape)
            offsets = errors[at + W.size : at + W.size + b.size]
            at += W.size + b.size
            sizes = np.sqrt((W**2).sum(axis=1) + b**2)
            found.append(np.asarray(np.sqrt((weights**2).sum(axis=1) + offsets**2) / sizes))
        if self.net.linear is not None:
            n = len(self.net.linear)
            found.append(np.array([np.linalg.norm(errors[at : at + n]) / np.linalg.norm(self.net.linear)]))
        return found

    @property
    def bound(self) -> float:
        """Largest relative error bound of a row."""
        return BOUND * max(float(e.max(initial=0.0)) for e in self.row_errors())

    def short_slope(self) -> float:
        """Return the slope below the kinks with few digits, where these are within its error."""
        slope, error = self.net.slope, float(np.linalg.norm(self.root[-1]))
        short = round(slope, 6)
        return short if abs(short - slope) <= BOUND * error else slope

    def errors_at(self, X: Floats) -> Floats:
        """Return the standard errors of the values at rows X, (n,)."""
        if not np.isfinite(self.root).all():
            return np.full(len(X), np.inf)
        J = jacobian_of(self.net, pass_through(self.net, X), self.free)
        return np.asarray(np.linalg.norm(J @ self.root, axis=1))


def fit_deep(net: Deep, X: Floats, y: Floats, spacing: float) -> DeepFit:
    """Fit all parameters to answers that lie on the side of every kink where the network has them; O(n p^2) a step."""
    free, start = free_parameters(net), vector_of(net)
    clear = pass_through(net, X).margin > spacing
    X, y = X[clear], y[clear]

    def problem(theta: Floats) -> tuple[Floats, Callable[[], Floats]]:
        vector = start.copy()
        vector[free] = theta
        here = with_parameters(net, vector)
        passed = pass_through(here, X)
        weights = 1 / (passed.rounding + 1e-300)
        return (passed.values - y) * weights, lambda: jacobian_of(here, passed, free) * weights[:, None]

    solver: Problem = problem
    fit = fit_to_rounding(solver, start[free])
    vector = start.copy()
    vector[free] = fit.theta
    chi = float(np.sqrt(np.mean(fit.residuals**2)))
    return DeepFit(with_parameters(net, vector), free, fit.root, chi, float(np.abs(fit.residuals).max()), len(y))
