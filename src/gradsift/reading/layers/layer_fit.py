"""All layers at once: Gauss-Newton on every answer, each weighed by its own rounding error; units too many leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...activations import Activation
from ...arguments import Floats
from ...fit.design import independent_rows
from ...fit.gauss_newton import Problem, descend
from ...fit.jacobian import Layers, LayerValues, layer_values, stack_jacobian, to_vector, with_vector
from ...fit.last_digits import fit_to_rounding, solve
from ...network import Network
from ..ledger import EPS
from ..odd_form import Link
from .settings import POLICY

_AT_REST = 0.96  # output of a unit that has only tails


@dataclass(frozen=True)
class LayerFit:
    """A network fitted to all answers.

    Attributes
    ----------
    layers : Layers
    chi, worst : float
        Root mean square and largest of the residuals over their rounding errors.
    inverse : (p, p) array
        Inverse of the triangular factor of the weighted Jacobian, columns scaled: covariance = inverse @ inverse.T.
    errors : (p,) array
        Standard errors of the parameters; infinite where the answers do not determine one.
    resting : (k,) array
        Of each unit of the last hidden layer that is at rest at all answers, its sign there; else 0. Their parameters
        are taken to be known to their own size beforehand: else none could be told where these are not determined.
    """

    layers: Layers
    chi: float
    worst: float
    inverse: Floats
    errors: Floats
    resting: Floats

    @property
    def relative_errors(self) -> list[Floats]:
        """Standard errors of each row of each layer over the row's length, layer by layer."""
        found, at = [], 0
        for weights, offsets in self.layers:
            k, n = weights.shape
            W = self.errors[at : at + k * n].reshape(k, n)
            b = self.errors[at + k * n : at + k * (n + 1)]
            at += k * (n + 1)
            size = np.sqrt((weights**2).sum(axis=1) + offsets**2)
            with np.errstate(invalid="ignore"):
                found.append(np.sqrt((W**2).sum(axis=1) + b**2) / size)
        return found

    def open_units(self, bound: float) -> list[int]:
        """Return the units of the last hidden layer that are at rest, and whose parameters are not known within a
        relative error of `bound`: the answers show little more than one combination of them."""
        weights = np.abs(self.layers[-1][0][0])
        own = self.errors[-len(weights) - 1 : -1] / (weights + 1e-300)
        open_ = np.maximum(self.relative_errors[-2], own) > bound
        return [int(unit) for unit in np.flatnonzero((self.resting != 0) & open_)]

    def errors_beside(self, aside: list[int]) -> list[Floats]:
        """Return `relative_errors`, but for these units of the last hidden layer, whose errors are given as 0: what
        they add to the output counts as a part of its constant."""
        found, weights, constant = self.relative_errors, self.layers[-1][0][0], float(self.layers[-1][1][0])
        if not aside or not np.isfinite(self.inverse).all():
            return found
        found[-2][aside] = 0.0
        of_weights = self.inverse[-len(weights) - 1 : -1]
        # What they add, sign(b) v, joins the constant: the error of c + sum sign(b) v is the sum of rows of the root.
        together = self.inverse[-1] + self.resting[aside] @ of_weights[aside]
        kept = np.delete(np.arange(len(weights)), aside)
        size = np.sqrt((weights[kept] ** 2).sum() + (constant + self.resting[aside] @ weights[aside]) ** 2)
        found[-1] = np.array([np.sqrt((of_weights[kept] ** 2).sum() + (together**2).sum()) / size])
        return found


def roundings(passed: LayerValues, layers: Layers, eps: float = EPS) -> Floats:
    """Return the size of the rounding error of each answer: of the sum, and of every argument on the way, (n,).

    What units at rest add counts as a part of the constant: of their weights the answers say little, and larger ones
    would excuse larger misses.
    """
    v, c, resting = layers[-1][0][0], float(layers[-1][1][0]), _at_rest(passed)
    # Each sum is rounded by eps times its largest term, each argument by eps times |inputs| |weights|, which reaches
    # the output by the slope of its unit.
    terms = abs(c + float(resting @ v)) + float(np.abs(v[resting == 0]).sum())
    total = np.full(len(passed.values), 2 * terms)
    for inputs, slopes, (weights, offsets) in zip(passed.inputs, passed.slopes, layers):
        sizes = np.linalg.norm(inputs, axis=1)[:, None] * np.linalg.norm(weights, axis=1) + np.abs(offsets) + 3
        total = total + (np.abs(slopes) * sizes).sum(axis=1)
    return np.asarray(eps * total)


def fit_layers(layers: Layers, X: Floats, y: Floats, g: Activation, eps: float = EPS) -> LayerFit:
    """Fit all parameters to all answers from a start that is nearly right; O(n p^2) flops a step."""
    fit = fit_to_rounding(
        _problem(layers, X, y, g, eps),
        to_vector(layers),
        lambda theta, step: _moved(with_vector(layers, theta), step, X, g),
    )
    found = with_vector(layers, fit.theta)
    passed = layer_values(found, X, g)
    root, resting = fit.root, _at_rest(passed)
    if resting.any():
        # Errors in the coordinates in which a unit at rest shows: J s = (J T) (T^-1 s), with its size as a prior.
        turned, sizes = _turned(found, resting), _sizes_known(found, resting)
        J = stack_jacobian(passed) / roundings(passed, found, eps)[:, None] @ turned
        root = turned @ solve(np.concatenate([J, np.diag(sizes)[sizes > 0]]), np.zeros(len(J) + (sizes > 0).sum())).root
    chi = float(np.sqrt(np.mean(fit.residuals**2)))
    return LayerFit(found, chi, float(np.abs(fit.residuals).max()), root, np.sqrt((root**2).sum(axis=1)), resting)


def _problem(layers: Layers, X: Floats, y: Floats, g: Activation, eps: float) -> Problem:
    """Return the misses of the answers over their rounding errors, as layers of this shape see them."""

    def problem(theta: Floats) -> tuple[Floats, Callable[[], Floats]]:
        here = with_vector(layers, theta)
        passed = layer_values(here, X, g)
        weights = 1 / roundings(passed, here, eps)
        return (passed.values - y) * weights, lambda: stack_jacobian(passed) * weights[:, None]

    return problem


def _at_rest(passed: LayerValues) -> Floats:
    """Return for every unit of the last hidden layer the sign that it has at all rows, far from zero; else 0, (k,)."""
    active = passed.inputs[-1]
    signs = np.sign(active[0])
    return np.asarray(np.where((active * signs > _AT_REST).all(axis=0), signs, 0.0))


def _moved(layers: Layers, step: Floats, X: Floats, g: Activation) -> Floats:
    """Return the parameters after a step, bent where a unit is at rest, so that it changes what shows of such a unit as
    far as it would change in the tangent: the output that it adds, and the logarithm of its tail v exp(-2 |b|)."""
    resting = _at_rest(layer_values(layers, X, g))
    moved = with_vector(layers, to_vector(layers) + step)
    if not resting.any():
        return to_vector(moved)
    change = with_vector(layers, step)
    v, more = layers[-1][0][0], np.where(resting != 0, change[-1][0][0], 0.0)
    # In the tangent log |v| changes by dv / v, and |b| makes up for what v exp(-2 |b|) must not change.
    rate = np.divide(more, v, out=np.zeros_like(v), where=v != 0)
    grown = np.clip(rate, -1, 1)  # of log |v|
    lost = more - v * np.expm1(grown)
    W, b = moved[-2]
    V, c = moved[-1]
    return to_vector([*moved[:-2], (W, b + 0.5 * resting * (grown - rate)), (V - lost, c + resting @ lost)])


def fit_by_descent(layers: Layers, X: Floats, y: Floats, g: Activation, eps: float = EPS) -> Layers:
    """Go down to the answers where Gauss-Newton stopped on the way: a unit at rest nearly everywhere shows one
    combination of its output weight and its offset, and the others only along a bent valley."""
    weights = 1 / roundings(layer_values(layers, X, g), layers, eps)

    def problem(theta: Floats) -> tuple[Floats, Callable[[], Floats]]:
        passed = layer_values(with_vector(layers, theta), X, g)
        return (passed.values - y) * weights, lambda: stack_jacobian(passed) * weights[:, None]

    found = descend(problem, to_vector(layers), POLICY.last_steps, 1.0, POLICY.patience_deep)
    return with_vector(layers, found.parameters)


def with_faint_raised(layers: Layers, X: Floats, y: Floats, g: Activation, factor: float) -> Layers | None:
    """Return the layers with larger output weights of faint units, nearer to rest in the same tails; None if none is.

    A faint unit was fitted to the tail of one at rest, which tells nothing of its weight; one that is too small is a
    local minimum, and one that is too large is not.
    """
    active = layer_values(layers, X, g).inputs[-1]
    *below, (W, b), (V, c) = layers
    faint = np.abs(V[0]) * np.ptp(active, axis=0) < POLICY.faint * y.std()
    if not faint.any():
        return None
    signs = np.where(faint, np.sign(np.median(active, axis=0)), 0.0)
    # v exp(-2 |b|) stays when v grows by a factor and |b| by half its logarithm.
    larger = np.where(faint, factor, 1.0)
    return [*below, (W, b + 0.5 * signs * np.log(larger)), (V * larger, c + (V * (1 - larger)) @ signs)]


def _turned(layers: Layers, resting: Floats) -> Floats:
    """Return the parameters by other ones (p, p): where the output weight v of a unit at rest changes, its offset and
    the constant change so that v exp(-2 |b|) and what it adds to the output stay as they are."""
    v = layers[-1][0][0]
    p, k = sum(W.size + b.size for W, b in layers), len(v)
    # Far out tanh(b) = sign(b) (1 - 2 exp(-2 |b|)): log |v| - 2 |b| and c + sign(b) v are what answers determine.
    # One column moves along both being constant; the others stay.
    found = np.eye(p)
    for unit in np.flatnonzero((resting != 0) & (v != 0)):
        at = p - 1 - k + unit
        found[p - 1, at] = -resting[unit]
        found[p - 1 - 2 * k + unit, at] = 0.5 * resting[unit] / v[unit]
    return found


def _sizes_known(layers: Layers, resting: Floats) -> Floats:
    """Return one over the size of its unit for each parameter of units at rest, else 0, (p,): what is known of them."""
    (W, b), (V, _) = layers[-2:]
    known = np.zeros(sum(W.size + b.size for W, b in layers))
    still = resting != 0
    # What is known of a unit at rest beforehand is its size: a row 1 / size for each of its parameters.
    of_unit = still / (np.sqrt((W**2).sum(axis=1) + b**2) + 1e-300)
    above = V.shape[1] + 1
    known[-above:-1] = still / (np.abs(V[0]) + 1e-300)
    known[-above - len(b) : -above] = of_unit
    known[-above - len(b) - W.size : -above - len(b)] = np.repeat(of_unit, W.shape[1])
    return known


def standard_errors_at(fit: LayerFit, X: Floats, g: Activation) -> Floats:
    """Return the standard errors of the predictions at the rows of X, (n,), from the rounding of the answers."""
    if not np.isfinite(fit.inverse).all():
        return np.full(len(X), np.inf)
    return np.asarray(np.linalg.norm(stack_jacobian(layer_values(fit.layers, X, g)) @ fit.inverse, axis=1))


def most_informative(fit: LayerFit, X: Floats, n: int, g: Activation, eps: float) -> Floats:
    """Return the n rows of X that would tell most about what the answers so far leave open, each beside the others.

    Rows of the weighted Jacobian in units of the parameters' errors, the longest first, less what is along those taken.
    """
    if not np.isfinite(fit.inverse).all() or n >= len(X):
        return X[:n]
    passed = layer_values(fit.layers, X, g)
    rows = (stack_jacobian(passed) / roundings(passed, fit.layers, eps)[:, None]) @ fit.inverse
    return np.asarray(X[independent_rows(rows, n)])


class _Merge(NamedTuple):
    """A unit of a layer is replaced by an affine function of another; `left` is what that leaves of it above."""

    left: float
    layer: int
    unit: int
    other: int
    slope: float
    constant: float


def merge_units(fit: LayerFit, X: Floats, y: Floats, g: Activation, eps: float, limit: float) -> LayerFit | None:
    """Return a network with one unit fewer above the first layer that meets all answers within `limit` roundings, and
    as well as before: a faint unit is not one too many.

    None if there is none among those that change least. At most `POLICY.choices` fits.
    """
    for merger in sorted(_merge_candidates(fit.layers, X, g))[: POLICY.choices]:
        fewer = fit_layers(_merged(fit.layers, merger), X, y, g, eps)
        if fewer.worst < limit and fewer.chi < POLICY.as_well * fit.chi:
            return fewer
    return None


def _merge_candidates(layers: Layers, X: Floats, g: Activation) -> list[_Merge]:
    """Return for each unit above the first layer the other that follows it best."""
    passed, found = layer_values(layers, X, g), []
    for number in range(1, len(layers) - 1):
        active, above = passed.inputs[number + 1], layers[number + 1][0]
        means = active.mean(axis=0)
        products = (active - means).T @ (active - means) / len(active)
        sizes = np.diag(products) + 1e-300
        for unit in range(len(means) if len(means) > 1 else 0):
            # Regression on one other unit explains cov^2 / var of its variance; the best one is taken.
            shares = np.where(np.arange(len(means)) == unit, 0.0, products[unit] ** 2 / sizes)
            other = int(np.argmax(shares))
            slope = float(products[unit, other] / sizes[other]) if other != unit else 0.0
            left = np.sqrt(max(0.0, sizes[unit] - shares[other])) * np.linalg.norm(above[:, unit])
            found.append(_Merge(float(left), number, unit, other, slope, float(means[unit] - slope * means[other])))
    return found


def _merged(layers: Layers, merger: _Merge) -> Layers:
    _, number, unit, other, slope, constant = merger
    (W, b), (V, c) = layers[number], layers[number + 1]
    above = V.copy()
    above[:, other] += slope * V[:, unit]
    kept = np.delete(np.arange(len(b)), unit)
    after = (above[:, kept], c + constant * V[:, unit])
    return [*layers[:number], (W[kept], b[kept]), after, *layers[number + 2 :]]


def canonical(layers: Layers) -> Layers:
    """Return the layers in the order and with the signs of a canonical network, so that errors go with its units."""
    found = list(layers)
    for number in reversed(range(len(layers) - 1)):
        (W, b), (V, c) = found[number], found[number + 1]
        signs = np.where(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])] < 0, -1.0, 1.0)
        order = np.argsort(-np.linalg.norm(V, axis=0), kind="stable")
        found[number] = (signs[order, None] * W[order], signs[order] * b[order])
        found[number + 1] = (V[:, order] * signs[order], c)
    return found


def to_network(layers: Layers, link: Link) -> Network:
    """Return layers over the odd sigmoid as a canonical network of the activation asked for."""
    found = []
    for number, (weights, offsets) in enumerate(layers):
        W, b = weights, offsets
        if number:  # g(z) = (f - center) / gain
            b = b - W.sum(axis=1) * link.form.center / link.gain
            W = W / link.gain
        if number < len(layers) - 1:
            W, b = W / link.stretch, b / link.stretch
        found.append((W, b))
    return Network(found, link.activation).canonical()
