"""Several outputs over the same hidden units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lstsq

from ..activations import get_activation
from ..checking import Floats, finite_matrix, matching_rows
from ..model import SigmoidCombination
from ..network import Network

__all__ = ["OutputLayer", "solve_last_layer", "solve_outputs"]


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
    """

    weights: Floats
    intercepts: Floats
    linear: Floats
    misfits: Floats


def solve_outputs(model: SigmoidCombination, X: ArrayLike, Y: ArrayLike) -> OutputLayer:
    """Find every output's weights, given the units recovered from one projection of the outputs.

    Parameters
    ----------
    model : SigmoidCombination
        Recovered from ``Y @ direction`` for one random direction.
    X, Y : (n, d) and (n, m) arrays
        Stored queries and answers, at least k + 1 of them.

    Notes
    -----
    Linear least squares on the activations; O(n k (d + k + m)) flops. With a linear term answers far out are large and
    rounded accordingly, so that rows count by the inverse of their size.
    """
    rows = finite_matrix("X", X, model.n_features)
    answers = finite_matrix("Y", Y)
    matching_rows(rows, answers)
    k, d = model.units.shape
    needed = k + d if model.has_linear_term else k
    if len(rows) <= needed:
        raise ValueError(f"X must have more than {needed} rows to settle {k} units, got {len(rows)}.")
    values = get_activation(model.activation).value(model.arguments(rows))
    design = np.concatenate([values, np.ones((len(rows), 1))], axis=1)
    if not model.has_linear_term:
        found = lstsq(design, answers)[0]
        misfits = np.abs(design @ found - answers).max(axis=0)
        return OutputLayer(found[:-1], found[-1], np.zeros((d, answers.shape[1])), misfits)
    sizes = np.abs(answers).max(axis=1)
    weights = 1 / np.maximum(sizes, np.median(sizes))[:, None]
    design = np.concatenate([design, rows], axis=1) * weights
    scale = np.linalg.norm(design, axis=0)
    found = lstsq(design / scale, answers * weights)[0] / scale[:, None]
    misfits = np.abs((design @ found) / weights - answers).max(axis=0)
    return OutputLayer(found[:k], found[k], found[k + 1 :], misfits)


def solve_last_layer(network: Network, X: ArrayLike, Y: ArrayLike) -> tuple[Network, float]:
    """Find every output's weights over the last hidden layer of a deep network, recovered from one projection of them.

    Returns
    -------
    network : Network
        With one output per column of Y, in canonical form.
    misfit : float
        Largest residual over the largest answer of its output.
    """
    rows = finite_matrix("X", X, network.n_features)
    answers = finite_matrix("Y", Y)
    matching_rows(rows, answers)
    last = get_activation(network.activation).value(network.arguments(rows)[-1])
    design = np.concatenate([last, np.ones((len(rows), 1))], axis=1)
    found = lstsq(design, answers)[0]
    sizes = np.maximum(np.abs(answers).max(axis=0), np.finfo(np.float64).tiny)
    misfit = float((np.abs(design @ found - answers).max(axis=0) / sizes).max())
    layers = [*network.layers[:-1], (np.ascontiguousarray(found[:-1].T), found[-1])]
    return Network(layers, network.activation).canonical(), misfit
