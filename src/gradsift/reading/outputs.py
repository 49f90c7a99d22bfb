"""Several outputs over the same hidden units, each with its own weights and its own rounding."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lstsq

from ..activations import get_activation
from ..arguments import Floats, finite_matrix, same_rows
from ..model import SigmoidCombination
from ..network import Network
from ..oracle import Oracle
from .precision import Precision

_TERMS = 3.0  # size of the terms of an output over its median; guess


class OutputLayer(NamedTuple):
    """Weights and intercepts of all outputs over a model's units.

    Attributes
    ----------
    weights : (k, m) array
    intercepts : (m,) array
    linear : (d, m) array
        Zero for a model without a linear term.
    misfits : (m,) array
        Largest absolute residual of each output.
    chi : (m,) array
        Largest residual of each output over its standard size; nan where no sizes were given.
    """

    weights: Floats
    intercepts: Floats
    linear: Floats
    misfits: Floats
    chi: Floats

    def models(self, model: SigmoidCombination) -> tuple[SigmoidCombination, ...]:
        """Return one model for each output, over the units of the given one."""
        return tuple(
            SigmoidCombination(model.units, w, model.slopes, model.offsets, c, model.activation, g)
            for w, c, g in zip(self.weights.T, self.intercepts, self.linear.T)
        )


def output_errors(oracle: Oracle, roundings: tuple[Precision, ...]) -> Floats:
    """Return the size of rounding in each answer that an oracle has given, (n, m), with its link undone.

    An output is a sum of terms that are as large as typical outputs, whatever its own size.
    """
    outputs, sums = (a.Y.reshape(len(a.Y), -1) for a in (oracle.recorded_inside(), oracle.answers()))
    sizes = np.maximum(np.abs(sums), _TERMS * np.median(np.abs(sums), axis=0))
    inside = np.stack([r.errors(column) for r, column in zip(roundings, sizes.T)], axis=1)
    if oracle.link is None:
        return inside
    errors = np.stack([r.errors(column) for r, column in zip(roundings, outputs.T)], axis=1)
    return np.asarray(oracle.link.errors(outputs, errors) + 2 * inside.max(axis=1, keepdims=True))


def solve_outputs(
    model: SigmoidCombination, X: ArrayLike, Y: ArrayLike, errors: Floats | None = None, bounds: Floats | float = 0.0
) -> OutputLayer:
    """Find every output's weights, given the units recovered from one projection of the outputs.

    Parameters
    ----------
    model : SigmoidCombination
        Recovered from ``Y @ direction`` for one random direction.
    X, Y : (n, d) and (n, m) arrays
        Stored queries and answers, at least k + 1 of them.
    errors : (n, m) array, optional
        Sizes of the answers' rounding errors.
    bounds : (k,) array
        Relative errors of the units' arguments: error bounds, and rounding inside the box.

    Notes
    -----
    Linear least squares on the activations; O(n k (d + k + m)) flops. Rows count by what rounding and the units' error
    bounds leave of them; without sizes of errors, and beside a linear term, by the inverse of their size.
    """
    rows = finite_matrix("X", X, model.n_features)
    answers = finite_matrix("Y", Y)
    same_rows(rows, answers)
    k, d = model.units.shape
    needed = k + d if model.has_linear_term else k
    if len(rows) <= needed:
        raise ValueError(f"X must have more than {needed} rows to settle {k} units, got {len(rows)}.")
    activation, z = get_activation(model.activation), model.arguments(rows)
    design = np.concatenate([activation.value(z), np.ones((len(rows), 1))], axis=1)
    sizes = np.abs(answers).max(axis=1)
    weights = np.ones(len(rows))
    if model.has_linear_term:
        weights = 1 / np.maximum(sizes, np.median(sizes))
        design = np.concatenate([design, rows], axis=1)
    found = _least_squares(design, answers, weights)
    noise = None
    if errors is not None:
        terms = np.linalg.norm(rows, axis=1)[:, None] * np.abs(model.slopes) + np.abs(model.offsets)
        loose = activation.derivative(z) * terms * bounds
        noise = errors + loose @ np.abs(found[:k])
        found = _least_squares(design, answers, 1 / (noise / np.median(noise, axis=0)).max(axis=1))
    residuals = np.abs(design @ found - answers)
    chi = np.full(answers.shape[1], np.nan) if noise is None else (residuals / noise).max(axis=0)
    linear = found[k + 1 :] if model.has_linear_term else np.zeros((d, answers.shape[1]))
    return OutputLayer(found[:k], found[k], linear, residuals.max(axis=0), chi)


def _least_squares(design: Floats, answers: Floats, weights: Floats) -> Floats:
    """Return the coefficients (p, m) for rows with these weights (n,)."""
    weighted = design * weights[:, None]
    scale = np.linalg.norm(weighted, axis=0)

    def solved(right: Floats) -> Floats:
        return np.asarray(lstsq(weighted / scale, right * weights[:, None])[0] / scale[:, None])

    # A solver leaves some ten roundings, as much as an answer may miss: its residuals are solved for once more.
    found = solved(answers)
    return found + solved(answers - design @ found)


def solve_output_layer(network: Network, X: ArrayLike, Y: ArrayLike) -> tuple[Network, Floats]:
    """Find every output's weights over the last hidden layer of a deep network, recovered from one projection of them.

    Returns
    -------
    network : Network
        With one output per column of Y, in canonical form.
    misfits : (m,) array
        Largest residual of each output over the size of all terms of its row, or of a typical row.
    """
    rows = finite_matrix("X", X, network.n_features)
    answers = finite_matrix("Y", Y)
    same_rows(rows, answers)
    last = get_activation(network.activation).value(network.arguments(rows)[-1])
    design = np.concatenate([last, np.ones((len(rows), 1))], axis=1)
    sizes = np.abs(answers).max(axis=1)
    # Rounding grows with the terms of a sum: far out that of units that grow would drown the answers near the origin.
    terms = network.sensitivity(rows)
    typical = np.median(terms)
    found = _least_squares(design, answers, typical / np.maximum(terms, np.finfo(np.float64).eps * typical))
    layers = [*network.layers[:-1], (np.ascontiguousarray(found[:-1].T), found[-1])]
    complete = Network(layers, network.activation).canonical()
    # Each term is rounded, those inside the units as well.
    terms = np.maximum(complete.sensitivity(rows), np.median(sizes))
    return complete, np.asarray((np.abs(design @ found - answers) / terms[:, None]).max(axis=0))
